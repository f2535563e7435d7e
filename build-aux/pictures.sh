#!/bin/sh
# SPDX-License-Identifier: MIT
# pictures.sh [ROOT]: prints ROOT/ARCHITECTURE.md with its pictures made anew:
# the modules (build-aux/layers.txt), the threads (build-aux/threads.txt) and
# the states of an outbox row (server/model/outbox.h).
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
states=
if grep -q '^<!-- picture of the states: ' ARCHITECTURE.md; then
	states=$(${AWK:-awk} -f "$aux/states.awk" server/model/outbox.h) || {
		echo "$states" >&2
		exit 1
	}
fi
MODULES=$modules QUEUES=$queues STATES=$states ${AWK:-awk} '
function picture() {
	if (/of the modules/)
		return ENVIRON["MODULES"]
	return ENVIRON[/of the states/ ? "STATES" : "QUEUES"]
}
/^<!-- picture of the [a-z]+: scripts\/pictures -->$/ {
	print
	print "```"
	print picture()
	print "```"
	skip = 1
	next
}
/^<!-- end of the picture -->$/ { skip = 0 }
!skip { print }' ARCHITECTURE.md
