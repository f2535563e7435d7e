#!/bin/sh
# SPDX-License-Identifier: MIT
# check-sql-list.sh [ROOT]: the lists sqlite_SQL, postgres_SQL and common_SQL of
# schema/module.am must name exactly the files of schema/sqlite, schema/postgres
# and schema/common.  Without this check a migration that is not listed would be
# missing silently.  A statement that is the same in both dialects is refused,
# because a later change might reach only one of them.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
listed=$(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' schema/module.am 2>/dev/null |
    sed -n 's/^[a-z]*_SQL *+\{0,1\}=//p' | tr -s ' \t' '\n\n' | grep . |
    sed 's,^%D%/,schema/,' | LC_ALL=C sort)
there=$(find schema -name '*.sql' 2>/dev/null | LC_ALL=C sort)
seen=$(printf '%s' "$there" | grep -c .)
bad=0
for file in $there; do
	printf '%s\n' "$listed" | grep -qxF "$file" || {
		echo "$file: not in schema/module.am"
		bad=$((bad + 1))
	}
done
for file in $listed; do
	[ -f "$file" ] || {
		echo "schema/module.am: $file does not exist"
		bad=$((bad + 1))
	}
done
double=$(printf '%s\n' "$listed" | uniq -d)
[ -z "$double" ] || {
	echo "schema/module.am: listed twice: $double"
	bad=$((bad + 1))
}
# Prints a line for each statement: its name and its text, without comments.
statements() { # statements FILE...
	[ "$#" -gt 0 ] || return 0
	${AWK:-awk} '
	function flush() { if (name != "") print name " " text; name = text = "" }
	FNR == 1 { flush() }
	/^[ \t]*--[ \t]*name:/ {
		flush()
		name = $0
		sub(/^[ \t]*--[ \t]*name:[ \t]*/, "", name)
		sub(/[( \t].*/, "", name)
		next
	}
	/^[ \t]*--[ \t]*writer:/ { text = text " " $0; next }
	/^[ \t]*--/ || /^[ \t]*$/ { next }
	{ gsub(/[ \t]+/, " "); text = text " " $0 }
	END { flush() }' "$@" | LC_ALL=C sort
}
one=$(mktemp) && two=$(mktemp) && all=$(mktemp) || exit 2
trap 'rm -f "$one" "$two" "$all"' EXIT
statements $(printf '%s\n' "$there" | grep '^schema/sqlite/[a-z]') >"$one"
statements $(printf '%s\n' "$there" | grep '^schema/postgres/[a-z]') >"$two"
statements $(printf '%s\n' "$there" | grep '^schema/common/[a-z]') >"$all"
for name in $(for list in "$one" "$two" "$all"; do cut -d' ' -f1 "$list"; done |
    LC_ALL=C sort | uniq -c | awk '$1 == 3 { print $2 }'); do
	echo "$name is in both dialects: nobody uses the one of schema/common"
	bad=$((bad + 1))
done
for name in $(LC_ALL=C comm -12 "$one" "$two" | cut -d' ' -f1); do
	echo "$name is the same in both dialects: it belongs into schema/common"
	bad=$((bad + 1))
done
echo "check-sql-list: $seen files, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
