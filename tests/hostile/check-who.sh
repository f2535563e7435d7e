#!/bin/sh
# SPDX-License-Identifier: MIT
# check-who.sh compares who.table with the server: every route and frame of the
# server has a row, and every row is about one of them.  It is part of make
# check and prints TAP.  A table without one row and a table with an extra row
# show that the check can fail.
set -u
source=${TWINBOX_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${TWINBOX_BUILD:-$source/build}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0

"$build/twinboxd" routes >"$tmp/routes" || exit 99

# Prints the differences between ROUTES and TABLE, in both directions.
differences() { # differences ROUTES TABLE
	awk '
	/^#/ || NF == 0 { next }
	FNR == NR { served[$1 " " $2] = 1; next }
	{ rows[$1 " " $2] = 1 }
	END {
		for (one in served)
			if (!(one in rows))
				print one " has no row in who.table"
		for (one in rows)
			if (!(one in served))
				print one " is not served"
	}' "$1" "$2"
}

check() { # check STATUS TEXT
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
	fi
}

echo 1..4
count=$(wc -l <"$tmp/routes")
[ "$count" -gt 60 ]
check $? "who: $count routes and frames"
differences "$tmp/routes" "$source/tests/hostile/who.table" >"$tmp/found"
sed 's/^/# /' "$tmp/found"
[ ! -s "$tmp/found" ]
check $? "who: each has a row, each row has one"
grep -v '^GET  *\/v1\/inbox ' "$source/tests/hostile/who.table" >"$tmp/short"
[ "$(differences "$tmp/routes" "$tmp/short")" = 'GET /v1/inbox has no row in who.table' ]
check $? "who: a row that is missing is seen"
(cat "$source/tests/hostile/who.table" && echo 'WS dance') >"$tmp/long"
[ "$(differences "$tmp/routes" "$tmp/long")" = 'WS dance is not served' ]
check $? "who: a row too many is seen"
