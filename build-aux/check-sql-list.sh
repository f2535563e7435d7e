#!/bin/sh
# SPDX-License-Identifier: MIT
# check-sql-list.sh [ROOT]: the lists sqlite_SQL and postgres_SQL of
# schema/module.am name exactly the files of schema/sqlite and
# schema/postgres; a forgotten migration would be silently absent.
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
echo "check-sql-list: $seen files, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
