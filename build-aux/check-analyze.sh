#!/bin/sh
# SPDX-License-Identifier: MIT
# The analysis gate: check-analyze.sh [ROOT].  Runs gcc's -fanalyzer over every
# source of server and client, with one process for each processor.  It finds
# leaks (of mem_alloc(), too), double and missing frees, NULL and stale
# pointers, unchecked memory and open files.  Warnings about correct code are
# listed in ROOT/build-aux/analyze.txt: "FILE FUNCTION WARNING reason".  A row
# without a reason, or without such a warning, fails.
#
# ANALYZE_FILES, if set, names the sources to analyze instead of all; rows
# without a warning are allowed then.  GATE_CPPFLAGS (from make check) has the
# compiler's flags.  ANALYZE_CC names the compiler; only gcc has this analyzer.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
list=build-aux/analyze.txt
some=0
cc=${ANALYZE_CC:-gcc}
command -v "$cc" >/dev/null || {
	echo "check-analyze: $cc is missing"
	exit 2
}
flags=${GATE_CPPFLAGS:--D_GNU_SOURCE}
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
if [ -n "${ANALYZE_FILES+set}" ]; then
	printf '%s\n' $ANALYZE_FILES | grep -E '^(server|client)/.*\.c$' >"$out/files"
	some=1
else
	find server client -name '*.c' 2>/dev/null | LC_ALL=C sort >"$out/files"
fi
seen=$(grep -c . "$out/files")
cat >"$out/one" <<END
at=$out/\$(printf '%s' "\$1" | tr / _)
log=\$at.log
LC_ALL=C $cc -std=c11 $flags -Iserver -Iclient -I. -O0 -Wno-error \\
    -fanalyzer -fdiagnostics-plain-output -c -o "\$at.o" "\$1" >"\$log" 2>&1 ||
    echo "\$1:0: error: does not compile [-Wcompile]" >>"\$log"
END
[ "$seen" -eq 0 ] || xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 \
    sh "$out/one" <"$out/files"
cat "$out"/*.log 2>/dev/null | LC_ALL=C ${AWK:-awk} '
/: In function / { at = $NF; gsub(/[^A-Za-z0-9_.]/, "", at)
    sub(/\..*/, "", at) }
/\[-W(analyzer-[a-z-]*|compile)\]$/ { print at, $0 }' | LC_ALL=C sort -u >"$out/found"
${AWK:-awk} -v list="$list" -v seen="$seen" -v some="$some" '
BEGIN {
	while ((getline s < list) > 0) {
		if (s ~ /^#/ || s ~ /^$/)
			continue
		n = split(s, w, " ")
		if (n < 5) {
			printf "%s: no reason: %s\n", list, s
			errors++
		}
		excused[w[1], w[2], w[3]] = s
	}
}
{
	at = $1
	sub(/^[^ ]* /, "")
	file = $0
	sub(/:.*/, "", file)
	warning = $0
	sub(/^.*\[-W/, "-W", warning)
	sub(/\].*$/, "", warning)
	if ((file, at, warning) in excused) {
		used[file, at, warning] = 1
		suppressed++
		next
	}
	print at "(): " $0
	errors++
}
END {
	for (key in excused)
		if (!some && !(key in used)) {
			printf "%s: not found any more: %s\n", list, excused[key]
			errors++
		}
	printf "check-analyze: %d files, %d suppressed with a reason, %d errors\n", \
	    seen, suppressed, errors
	exit !(seen > 0 && errors == 0)
}' "$out/found"
