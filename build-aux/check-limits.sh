#!/bin/sh
# SPDX-License-Identifier: MIT
# The size gate: check-limits.sh [ROOT].  A file has at most 700 lines.  A
# function has at most 80 lines, 6 parameters (without results, which are called
# ret..., and err) and 4 levels of nested blocks.  The goals are 400 and 40
# lines: files and functions above them are counted, not refused.  limits.txt
# lists the exceptions.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
files=$(find server client bench tests -path tests/selfcheck -prune -o \
    -path '*/node_modules' -prune -o -name '*.[ch]' -print 2>/dev/null |
    LC_ALL=C sort)
for file in $files; do
	echo "@file $file"
	${AWK:-awk} -f "$aux/strip-c.awk" "$file"
done | ${AWK:-awk} -v list="$aux/limits.txt" '
function refuse(what, name, text) {
	if ((file, name) in excused || (file, "*") in excused)
		return
	printf "%s: %s %s\n", file, what, text
	errors++
}
function end_file() {
	if (file == "")
		return
	if (lines > 700)
		refuse("file", "*", "has " lines " lines (700)")
	else if (lines > 400)
		long_files++
}
# Counts the parameters in the head of a function, without ret..., and err.
function parameters(s, depth, i, c, n, one) {
	sub(/^[^(]*/, "", s)
	depth = 0
	n = 0
	one = ""
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		depth += (c == "(") - (c == ")")
		if (depth == 0 || (c == "," && depth == 1)) {
			n += one !~ /[ *](ret(_[a-z0-9_]*)?|err)(\[.*\])?$/
			one = ""
			if (depth == 0)
				break
		} else
			one = one c
	}
	return n
}
BEGIN {
	while ((getline s < list) > 0)
		if (s !~ /^#/ && split(s, w, " ") > 2)
			excused[w[1], w[2]] = 1
}
/^@file / {
	end_file()
	file = substr($0, 7)
	files++
	lines = 0
	inside = 0
	next
}
{ lines++ }
!inside && /^[a-z_][A-Za-z0-9_]* *\(/ {
	head = ""
	name = $0
	sub(/ *\(.*/, "", name)
	collecting = 1
}
!inside && collecting { head = head " " $0 }
!inside && /^[{]/ && collecting {
	inside = 1
	start = lines
	depth = 0
	deepest = 0
	functions++
	sub(/[{].*/, "", head)
	n = parameters(head)
	if (n > 6)
		refuse(name "()", name, "has " n " parameters (6)")
}
!inside && /;[ \t]*$/ { collecting = 0 }
inside {
	for (i = 1; i <= length($0); i++) {
		c = substr($0, i, 1)
		if (c == "{" && ++depth > deepest)
			deepest = depth
		else if (c == "}")
			depth--
	}
}
inside && /^[}]/ {
	inside = 0
	collecting = 0
	n = lines - start - 1
	if (n > 80)
		refuse(name "()", name, "has " n " lines (80)")
	else if (n > 40)
		long_functions++
	if (deepest - 1 > 4)
		refuse(name "()", name, "nests " deepest - 1 " deep (4)")
}
END {
	end_file()
	printf "check-limits: %d files (%d above 400 lines), %d functions (%d above 40 lines), %d errors\n", \
	    files, long_files, functions, long_functions, errors
	exit !(files > 0 && functions > 0 && errors == 0)
}'
