#!/bin/sh
# SPDX-License-Identifier: MIT
# pictures.sh [ROOT]: prints ROOT/ARCHITECTURE.md with the picture of the modules
# as build-aux/layers.txt has it now.
set -eu
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}"
layers=$aux/layers.txt
[ -f layers.txt ] && layers=./layers.txt
picture=$(${AWK:-awk} -f "$aux/modules.awk" "$layers")
PICTURE=$picture ${AWK:-awk} '
/^<!-- picture of the modules: scripts\/pictures -->$/ {
	print
	print "```"
	print ENVIRON["PICTURE"]
	print "```"
	skip = 1
	next
}
/^<!-- end of the picture -->$/ { skip = 0 }
!skip { print }' ARCHITECTURE.md
