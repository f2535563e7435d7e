# SPDX-License-Identifier: MIT
# not-yet.awk: reads docs/openapi.yaml and README.md, in this order, and prints
# README.md with the list of the operations that are marked `x-status: later`, a
# line for each tag.  With list=1 it prints "METHOD PATH" of each operation
# instead, and needs no README.md.

function flush() {
	if (later && method != "") {
		n++
		if (list)
			print toupper(method), path
		if (!(tag in lines))
			order[++tags] = tag
		lines[tag] = lines[tag] (lines[tag] == "" ? "" : " · ") summary
	}
	method = summary = tag = ""
	later = 0
}

FNR == 1 { file++ }

file == 1 && /^  \/[^ ]*:$/ {
	flush()
	path = substr($1, 1, length($1) - 1)
	next
}
file == 1 && /^    (get|put|post|patch|delete):$/ {
	flush()
	method = substr($1, 1, length($1) - 1)
	next
}
file == 1 && /^[a-z]/ { flush() }
file == 1 && method != "" && /^      summary: / { summary = substr($0, 16) }
file == 1 && method != "" && /^      tags: \[/ {
	tag = $2
	gsub(/[][,]/, "", tag)
}
file == 1 && method != "" && /^      x-status: later$/ { later = 1 }
file == 1 { next }

/^<!-- not yet: scripts\/not-yet -->$/ {
	print
	printf "%d operations of the contract answer 501 in this version; `/docs` marks them:\n\n", n
	for (i = 1; i <= tags; i++)
		printf "- **%s**: %s\n", order[i], lines[order[i]]
	skip = 1
	next
}
/^<!-- end of the list -->$/ { skip = 0 }
!skip { print }

END {
	flush()
	if (n == 0)
		exit 1
}
