#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints parts of "How to add something" in CONTRIBUTING.md.
#
#	howto.sh FILE           the titles of the lists
#	howto.sh FILE TITLE     one list; '' is the text before the lists
exec ${AWK:-awk} -v one="${2-}" -v titles="$((1 - ($# > 1)))" '
/^## / { inside = $0 == "## How to add something"; title = ""; next }
!inside { next }
/^### / {
	title = substr($0, 5)
	if (titles)
		print title
	next
}
!titles && title == one { print }
' "$1"
