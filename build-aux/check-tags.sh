#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate for test tags: check-tags.sh [ROOT].  The second line of each
# end-to-end test file has tags.  `store`: the database decides the answers that
# the file tests, so it runs on both databases.  `surface`: everything that it
# tests is the same on every database.  `quick`: it is part of the daily loop.
# `plain`: it needs the release build.
#
# If a part of the API were reached by surface files only, no test would try it
# on PostgreSQL.  Therefore each path of docs/openapi.yaml that a surface file
# names must be named by a store file or by a module that a store file imports.
# Exceptions are paths that are not built yet (x-status: later) and those that
# tests/e2e/surface.txt lists with a reason.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
files=$(find tests/e2e -maxdepth 1 -name '*.test.mjs' 2>/dev/null |
    LC_ALL=C sort)
seen=$(printf '%s' "$files" | grep -c .)
bad=0
store=
surface=
for file in $files; do
	tags=$(sed -n '2s,^// tags: ,,p' "$file")
	case " $tags " in
	*' store surface '* | *' surface store '* | *' store '*' surface '* | \
	    *' surface '*' store '*)
		echo "$file: both store and surface"
		bad=$((bad + 1))
		;;
	*' store '*) store="$store $file" ;;
	*' surface '*) surface="$surface $file" ;;
	*)
		echo "$file:2: no tag store or surface (// tags: store)"
		bad=$((bad + 1))
		;;
	esac
	for tag in $tags; do
		case $tag in
		store | surface | quick | plain) ;;
		*)
			echo "$file:2: unknown tag $tag"
			bad=$((bad + 1))
			;;
		esac
	done
done

# {id} in a path matches any text in a test.
paths=$(${AWK:-awk} '
	/^  \/[^ :]*:/ { path = $1; sub(/:$/, "", path); order[++n] = path }
	/^  [^ ]/ && !/^  \// { path = "" }
	path != "" && /^    (get|put|post|delete|patch):/ { built[path]++ }
	path != "" && /^      x-status: later/ { built[path]-- }
	END { for (i = 1; i <= n; i++) if (built[order[i]] > 0) print order[i] }
	' docs/openapi.yaml 2>/dev/null)
# The modules that store files import.
modules=$(find tests/e2e -maxdepth 2 -name '*.mjs' ! -name '*.test.mjs' \
    ! -path '*/node_modules/*' 2>/dev/null)
for path in $paths; do
	pattern=$(printf '%s' "$path" |
	    sed 's,[.],\\.,g; s,{[^}]*},[^ /?]+,g')"([^/A-Za-z0-9_-]|\$)"
	# shellcheck disable=SC2086
	named=$([ -z "$surface" ] || grep -lE -- "$pattern" $surface | head -n 1)
	[ -n "$named" ] || continue
	# shellcheck disable=SC2086
	grep -qE -- "$pattern" $store /dev/null $modules \
	    2>/dev/null && continue
	grep -qE "^$(printf '%s' "$path" | sed 's,[.{}],\\&,g')	." \
	    tests/e2e/surface.txt 2>/dev/null && continue
	echo "$named: $path is reached by no file with the tag store"
	bad=$((bad + 1))
done
echo "check-tags: $seen files, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
