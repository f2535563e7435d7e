#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate for what is not built: check-not-yet.sh [ROOT].  The operations that
# docs/openapi.yaml marks `x-status: later` are those that the server answers
# with 501, and README.md's list of them is what scripts/not-yet makes now.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0
[ -f docs/openapi.yaml ] && [ -f README.md ] || {
	echo 'check-not-yet: no docs/openapi.yaml or no README.md'
	exit 1
}

# Names of parameters may differ: both sides have {}.
${AWK:-awk} -v list=1 -f "$aux/not-yet.awk" docs/openapi.yaml |
    sed 's/{[^}]*}/{}/g' | LC_ALL=C sort >"$tmp/documented"
find server -name '*.c' -exec sed -nE \
    's/.*[^A-Z_]NOT_IMPLEMENTED(_ADMIN)?\("([A-Z]+)", "([^"]+)"\).*/\2 \3/p' {} + |
    sed 's/{[^}]*}/{}/g' | LC_ALL=C sort >"$tmp/served"
seen=$(wc -l <"$tmp/documented")
LC_ALL=C comm -23 "$tmp/documented" "$tmp/served" >"$tmp/more"
while read -r route; do
	echo "docs/openapi.yaml: $route is marked x-status: later, but the server has no 501 for it"
	bad=$((bad + 1))
done <"$tmp/more"
LC_ALL=C comm -13 "$tmp/documented" "$tmp/served" >"$tmp/more"
while read -r route; do
	echo "docs/openapi.yaml: $route answers 501, and is not marked x-status: later"
	bad=$((bad + 1))
done <"$tmp/more"

sh "$aux/not-yet.sh" . >"$tmp/readme"
grep -q '^<!-- not yet: scripts/not-yet -->$' README.md || {
	echo 'README.md: the list of what is not built is missing'
	bad=$((bad + 1))
}
diff README.md "$tmp/readme" >"$tmp/diff" || {
	head -n 10 "$tmp/diff"
	echo 'README.md: the list of what is not built is not up to date: scripts/not-yet makes it'
	bad=$((bad + 1))
}
echo "check-not-yet: $seen operations, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
