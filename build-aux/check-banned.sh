#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate against banned functions: check-banned.sh [ROOT].  Banned everywhere
# are functions that overrun buffers, are not thread-safe or hide errors.  In
# server and client the allocator is banned, too: only base/mem.c may call it;
# and so are jansson's functions that write a text, whose failures it ignores in
# part (lib/dump.h).
# In server a kind of unit must be defined by UNIT_KIND, which requires its
# locks (engine/writer.h).
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
files=$(find server client bench tests -path tests/selfcheck -prune -o \
    -path '*/node_modules' -prune -o -name '*.[ch]' -print 2>/dev/null |
    LC_ALL=C sort)
seen=0
errors=0
for file in $files; do
	seen=$((seen + 1))
	words='strcpy|strcat|sprintf|vsprintf|strncpy|strncat|strtok|atoi|atol|atoll|atof|strtol|strtoul|scanf|sscanf|fscanf|gets|alloca|system|signal|localtime|gmtime|ctime|asctime|rand|srand|tmpnam|mktemp'
	case $file in
	tests/* | server/base/mem.c) ;;
	*) words="$words|malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|vasprintf|json_dumps|json_dumpb|json_dumpf|json_dumpfd|json_dump_file" ;;
	esac
	${AWK:-awk} -f "$aux/strip-c.awk" "$file" | ${AWK:-awk} -v file="$file" \
	    -v pattern="(^|[^A-Za-z0-9_.>])($words)[ \t]*[(]" '
	$0 ~ pattern {
		match($0, pattern)
		name = substr($0, RSTART, RLENGTH)
		gsub(/[^A-Za-z0-9_]/, "", name)
		printf "%s:%d: %s is banned\n", file, NR, name
		errors++
	}
	file ~ /^server\// && file !~ /engine\/writer\.h$/ &&
	    /struct[ \t]+unit_kind[ \t]+[A-Za-z0-9_]+[ \t]*=/ {
		printf "%s:%d: a kind of unit without UNIT_KIND\n", file, NR
		errors++
	}
	END { exit errors > 0 }' || errors=$((errors + 1))
done
echo "check-banned: $seen files, $errors with errors"
[ "$seen" -gt 0 ] && [ "$errors" -eq 0 ]
