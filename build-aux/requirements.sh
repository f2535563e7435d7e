#!/bin/sh
# SPDX-License-Identifier: MIT
# requirements.sh [ROOT]: prints docs/requirements.md as it must be, made from
# docs/requirements.txt and the tags in the tests (requirements.awk, which also
# says what it refuses).  tests/selfcheck holds samples and is left out.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
[ -f docs/requirements.txt ] || {
	echo "requirements: no docs/requirements.txt" >&2
	exit 1
}
files=$(find tests \( -path tests/selfcheck -o -name node_modules \) -prune \
    -o -type f \( -name '*.c' -o -name '*.mjs' -o -name '*.sh' \
    -o -path 'tests/stages/*' \) -print 2>/dev/null | LC_ALL=C sort)
# shellcheck disable=SC2086
LC_ALL=C ${AWK:-awk} -f "$aux/requirements.awk" docs/requirements.txt $files
