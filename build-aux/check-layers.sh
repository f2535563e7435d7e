#!/bin/sh
# SPDX-License-Identifier: MIT
# The layer gate: check-layers.sh [ROOT].  Every #include "m/x.h" below
# ROOT/server and ROOT/client must be an edge of build-aux/layers.txt.  It must
# name its module (no "../", no bare file name), and must not be the
# *_internal.h of another module.  The graph itself must have no cycle, no
# module without files, and no unused edge: it shows the code as it is, not as
# it might become.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
layers=$aux/layers.txt
[ -f layers.txt ] && layers=./layers.txt

find server client -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | ${AWK:-awk} -v layers="$layers" '
function refuse(text) {
	printf "%s:%d: %s\n", file, line, text
	errors++
}

function module_of(path, part) {
	split(path, part, "/")
	if (part[1] == "server" && part[3] != "")
		return part[2]
	if (part[1] == "client" && part[3] != "")
		return "client_" part[2]
	return ""
}

function target_of(name, part) {
	split(name, part, "/")
	if (part[1] ~ /^(lib|term|cli|ops)$/)
		return "client_" part[1]
	return part[1]
}

function check_include(text, angle, name, to) {
	angle = text ~ /^[^"]*</
	name = text
	sub(/^[^"<]*["<]/, "", name)
	sub(/[">].*$/, "", name)
	to = target_of(name)
	if (angle) {
		if (name ~ /\// && to in known)
			refuse("<" name "> is ours: use quotes")
		return
	}
	includes++
	if (name ~ /(^|\/)\.\.?\//)
		refuse("\"" name "\" names no module but a path")
	else if (name !~ /\//)
		refuse("\"" name "\" does not name its module")
	else if (!(to in known))
		refuse("\"" name "\": no module " to " in layers.txt")
	else if (to != from && !((from, to) in edge))
		refuse(from " may not include " to " (\"" name "\")")
	else if (to != from && name ~ /_internal\.h$/)
		refuse("\"" name "\" is for " to " alone")
	used[from, to] = 1
}

BEGIN {
	while ((getline s < layers) > 0) {
		sub(/#.*/, "", s)
		if (s !~ /:/)
			continue
		n = split(s, word, /[: \t]+/)
		known[word[1]] = 1
		for (i = 2; i <= n; i++)
			if (word[i] != "")
				edge[word[1], word[i]] = 1
	}
}

{
	file = $0
	files++
	line = 0
	from = module_of(file)
	if (!(from in known)) {
		refuse("this file is in no module of layers.txt")
		next
	}
	present[from] = 1
	while ((getline s < file) > 0) {
		line++
		if (s ~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
			check_include(s)
	}
	close(file)
}

END {
	close(layers)
	file = layers
	line = 0
	while ((getline s < layers) > 0) {
		line++
		sub(/#.*/, "", s)
		if (s !~ /:/)
			continue
		n = split(s, word, /[: \t]+/)
		from = word[1]
		if (!(from in present) && from != "schema")
			refuse("module " from " has no file")
		for (i = 2; i <= n; i++)
			if (word[i] != "" && !((from, word[i]) in used))
				refuse("nothing in " from " includes " word[i])
	}
	printf "check-layers: %d files, %d includes of ours, %d errors\n", \
	    files, includes, errors
	exit !(files > 0 && errors == 0)
}'
rc=$?

circle=$(sed 's/#.*//' "$layers" | ${AWK:-awk} '/:/ { sub(/:/, ""); print $1, $1
	for (i = 2; i <= NF; i++) print $1, $i }' | tsort 2>&1 >/dev/null)
if [ -n "$circle" ]; then
	printf '%s: a circle:\n%s\n' "$layers" "$circle"
	rc=1
fi

# The pictures in ARCHITECTURE.md must be up to date.
if grep -qs '^<!-- picture of the ' ARCHITECTURE.md; then
	if ! pictures=$(sh "$aux/pictures.sh" . 2>&1); then
		echo "$pictures"
		rc=1
	elif ! printf '%s\n' "$pictures" | cmp -s - ARCHITECTURE.md; then
		echo "ARCHITECTURE.md: a picture is old: run scripts/pictures"
		rc=1
	fi
fi
exit $rc
