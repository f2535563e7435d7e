#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate for operations that are not built: check-not-yet.sh [ROOT].  The
# operations that docs/openapi.yaml marks `x-status: later` must be those that
# the server answers with 501, and the list in README.md must be what
# scripts/not-yet makes.  No other text for users and operators may describe
# such an operation as if it worked; not-yet.words has the expressions that find
# this.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
words=$aux/not-yet.words
[ ! -f not-yet.words ] || words=./not-yet.words
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0
[ -f docs/openapi.yaml ] && [ -f README.md ] || {
	echo 'check-not-yet: no docs/openapi.yaml or no README.md'
	exit 1
}

# Both sides have {} for parameters, because their names may differ.
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
# Each of these operations has a row in not-yet.words, and each row has an
# operation.
${AWK:-awk} -v list=1 -f "$aux/not-yet.awk" docs/openapi.yaml |
    LC_ALL=C sort >"$tmp/named"
grep -v '^#' "$words" | ${AWK:-awk} 'NF > 0 { print $1, $2 }' |
    LC_ALL=C sort >"$tmp/worded"
LC_ALL=C comm -3 "$tmp/named" "$tmp/worded" | tr -d '\t' >"$tmp/more"
while read -r route; do
	echo "not-yet.words: $route needs a row while it answers 501, and has none after"
	bad=$((bad + 1))
done <"$tmp/more"

# Comments of sources are left out: they are for programmers, and may mention
# plans.
mkdir "$tmp/texts"
for file in README.md docs/*.md docs/man/*.in contrib/*/* client/program/*.c \
    client/lib/fail.c client/term/*.c server/model/refusal.h \
    server/admin/*.c server/config/config.h web/src/*.ts* web/src/admin/*.ts*; do
	[ -f "$file" ] || continue
	case $file in
	docs/requirements.md) continue ;; # each row says what its test shows
	*.[ch] | *.ts*)
		sed -E 's,^[[:space:]]*(//|/?\*).*,,' "$file" ;;
	*)
		sed '/^<!-- not yet: /,/^<!-- end of the list -->$/s/.*//' "$file" ;;
	esac >"$tmp/texts/$(echo "$file" | tr / ,)"
done
grep -v '^#' "$words" | ${AWK:-awk} 'NF > 2 && $3 != "-" {
	sub(/^[^ ]+ [^ ]+ +/, "")
	print
}' >"$tmp/expressions"
(cd "$tmp/texts" && grep -niE -f ../expressions -- *) | ${AWK:-awk} -F: '{
	file = $1
	gsub(",", "/", file)
	print file substr($0, length($1) + 1, 120)
}' >"$tmp/more"
while read -r line; do
	echo "$line: this is described as if it worked, but answers 501"
	bad=$((bad + 1))
done <"$tmp/more"
texts=$(find "$tmp/texts" -type f | wc -l)
echo "check-not-yet: $seen operations, $texts texts, $bad errors"
[ "$seen" -gt 0 ] && [ "$texts" -gt 0 ] && [ "$bad" -eq 0 ]
