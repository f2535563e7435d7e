#!/bin/sh
# SPDX-License-Identifier: MIT
# The comment gate: check-comments.sh [ROOT].  Each header and source begins
# with the licence line and a comment about the file.  Each function that a
# header exports has a comment above it; one comment may cover a block of
# declarations without an empty line.  Static inline functions need no comment,
# because readers see their code.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
files=$(find server client -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
seen=0
bad=0
functions=0
for file in $files; do
	seen=$((seen + 1))
	found=$(${AWK:-awk} -v file="$file" '
	function refuse(n, text) {
		printf "%s:%d: %s\n", file, n, text
		bad = 1
	}
	# Ends a declaration, or any other text at file scope.
	function finish(name) {
		if (text ~ /\(/ && text !~ /^(typedef|static|#)/ && \
		    text !~ /\{/ && text !~ /=/ && \
		    text !~ /^(struct|union|enum) [a-z0-9_]+ *;/) {
			functions++
			name = text
			sub(/ *\(.*/, "", name)
			sub(/^.*[ *]/, "", name)
			if (!covered)
				refuse(start, "no comment over " name "()")
		}
		text = ""
	}
	NR == 1 && $0 !~ /SPDX-License-Identifier: MIT/ {
		refuse(1, "the first line is not the SPDX line")
	}
	NR == 2 && $0 !~ /^\/\*/ {
		refuse(2, "no comment says what this file owns")
	}
	NR == 2 && /^\/\*/ { in_comment = !/\*\// }
	NR <= 2 || file !~ /\.h$/ { next }
	in_comment {
		if (/\*\//) {
			in_comment = 0
			covered = 1
		}
		next
	}
	in_macro { in_macro = /\\$/; next }
	/^[ \t]*#/ { in_macro = /\\$/; next }
	depth == 0 && text == "" && /^[ \t]*\/\*/ {
		if (!/\*\//)
			in_comment = 1
		else
			covered = 1
		next
	}
	/^[ \t]*$/ {
		if (text == "" && depth == 0)
			covered = 0
		next
	}
	{
		line = $0
		gsub(/\/\*.*\*\//, "", line)
		if (text == "")
			start = NR
		if (depth == 0)
			text = text " " line
		sub(/^ +/, "", text)
		opens = gsub(/\{/, "{", line)
		closes = gsub(/\}/, "}", line)
		depth += opens - closes
		if (depth == 0 && (line ~ /;[ \t]*$/ || closes > 0))
			finish()
	}
	END {
		printf "functions %d\n", functions
		exit bad
	}' "$file") || bad=$((bad + 1))
	printf '%s\n' "$found" | grep -v '^functions '
	functions=$((functions + $(printf '%s\n' "$found" | sed -n 's/^functions //p')))
done
echo "check-comments: $seen files, $functions exported functions, $bad with errors"
[ "$seen" -gt 0 ] && [ "$functions" -gt 0 ] && [ "$bad" -eq 0 ]
