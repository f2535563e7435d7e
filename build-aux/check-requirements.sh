#!/bin/sh
# SPDX-License-Identifier: MIT
# The requirements gate: check-requirements.sh [ROOT].  Every tag of a test
# names a row and belongs to a test, and docs/requirements.md is what
# scripts/requirements makes.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
tmp=$(mktemp) || exit 2
trap 'rm -f "$tmp"' EXIT
{ sh "$aux/requirements.sh" . >"$tmp"; } 2>&1 || exit 1
diff docs/requirements.md "$tmp" >"$tmp.diff" 2>&1 || {
	head -n 10 "$tmp.diff"
	rm -f "$tmp.diff"
	echo "docs/requirements.md is not up to date: scripts/requirements makes it"
	exit 1
}
rm -f "$tmp.diff"
