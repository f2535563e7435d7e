#!/bin/sh
# SPDX-License-Identifier: MIT
# pictures.sh [ROOT]: prints ROOT/ARCHITECTURE.md with the pictures of the modules
# (build-aux/layers.txt) and of the threads (build-aux/threads.txt) as they are
# now.
set -eu
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}"
layers=$aux/layers.txt
[ ! -f layers.txt ] || layers=./layers.txt
threads=$aux/threads.txt
[ ! -f threads.txt ] || threads=./threads.txt
modules=$(${AWK:-awk} -f "$aux/modules.awk" "$layers")
queues=
if grep -q '^<!-- picture of the threads: ' ARCHITECTURE.md; then
	queues=$(${AWK:-awk} -v server=server -f "$aux/threads.awk" \
	    server/base/thr.h "$threads") || {
		echo "$queues" >&2
		exit 1
	}
fi
MODULES=$modules QUEUES=$queues ${AWK:-awk} '
/^<!-- picture of the [a-z]+: scripts\/pictures -->$/ {
	print
	print "```"
	print ENVIRON[/of the modules/ ? "MODULES" : "QUEUES"]
	print "```"
	skip = 1
	next
}
/^<!-- end of the picture -->$/ { skip = 0 }
!skip { print }' ARCHITECTURE.md
