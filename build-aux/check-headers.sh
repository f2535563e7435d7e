#!/bin/sh
# SPDX-License-Identifier: MIT
# The header gate: check-headers.sh [ROOT].  Every header compiles alone, and if
# one file includes it twice.  CC and GATE_CPPFLAGS (from make check) name the
# compiler and its flags.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
flags=${GATE_CPPFLAGS:--D_GNU_SOURCE -Iserver -Iclient -I.}
files=$(find server client bench tests -path tests/selfcheck -prune -o \
    -path '*/node_modules' -prune -o -name '*.h' -print 2>/dev/null |
    LC_ALL=C sort)
seen=0
bad=0
for file in $files; do
	seen=$((seen + 1))
	name=$file
	printf '#include "%s"\n#include "%s"\nextern int one_declaration;\n' \
	    "$name" "$name" |
	    eval "${CC:-cc} -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only $flags -Iserver -Iclient -Itests -I. -x c -" || {
		echo "$file: does not compile alone"
		bad=$((bad + 1))
	}
done
echo "check-headers: $seen files, $bad with errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
