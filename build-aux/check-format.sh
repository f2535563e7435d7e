#!/bin/sh
# SPDX-License-Identifier: MIT
# The layout gate: check-format.sh [ROOT].  clang-format 14 decides, because
# other versions format differently.  CLANG_FORMAT names another binary.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
style=file:$aux/../.clang-format
cd "${1:-$aux/..}" || exit 2
format=${CLANG_FORMAT:-clang-format-14}
command -v "$format" >/dev/null || {
	echo "check-format: $format is missing"
	exit 2
}
files=$(find server client bench tests -path tests/selfcheck -prune -o \
    -path '*/node_modules' -prune -o -name '*.[ch]' -print 2>/dev/null |
    LC_ALL=C sort)
seen=$(printf '%s' "$files" | grep -c .)
# One process checks all files and names those that differ.
differ=$(printf '%s\n' "$files" | grep . |
    xargs -r "$format" --style="$style" --dry-run --Werror 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | LC_ALL=C sort -u)
bad=0
for file in $differ; do
	echo "$file: layout differs (run $format -i $file)"
	"$format" --style="$style" "$file" | diff -u "$file" - | sed -n 3,12p
	bad=$((bad + 1))
done
# Finds comments that had a line of more than 80 columns: the formatter joins
# such a line with the next ones, without the space after the asterisk.
torn=$(printf '%s\n' "$files" | grep . |
    xargs -r grep -nE '^	* [*][A-Za-z(]' /dev/null | cut -d: -f1,2)
for at in $torn; do
	echo "$at: the formatter has torn this comment: write shorter lines"
	bad=$((bad + 1))
done
echo "check-format: $seen files, $bad with errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
