#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh [LIST]: writes the table of server/page/page_internal.h from the
# built page, whose files LIST (page.list of pack.mjs) names; without LIST an
# empty table, for a server without the page.
set -eu
echo '/* Made by make from web/; do not edit. */'
echo '#include "page/page_internal.h"'
n=0
rows=
if [ $# -gt 0 ]; then
	folder=$(dirname "$1")
	while IFS='|' read -r name type encoding etag file; do
		echo "static const unsigned char data_$n[] = {"
		od -An -v -tu1 "$folder/$file" | sed 's/  *\([0-9][0-9]*\)/\1,/g'
		echo '};'
		rows="$rows    {\"$name\", \"$type\", \"$encoding\", \"\\\"$etag\\\"\",
	data_$n, sizeof(data_$n)},
"
		n=$((n + 1))
	done <"$1"
	[ "$n" -gt 0 ] || {
		echo "embed.sh: nothing in $1" >&2
		exit 1
	}
fi
echo 'const struct page_file page_files[] = {'
printf '%s' "$rows"
echo '    {"", "", "", "", (const unsigned char *)"", 0},'
echo '};'
echo "const size_t page_file_count = $n;"
