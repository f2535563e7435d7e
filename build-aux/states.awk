# SPDX-License-Identifier: MIT
# Makes the picture of the states of an outbox row from server/model/outbox.h:
# each state with what it waits for (from the drawing at the top of that file)
# and the moves out of it (OUTBOX_MOVE_TABLE).  If the data are wrong, prints
# the errors instead, each after "states: ", and fails.
function refuse(text) {
	print "states: " text
	errors++
}

function trim(s) {
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

# Returns the text between the first pair of quotes in ${s}.
function quoted(s) {
	sub(/^[^"]*"/, "", s)
	sub(/".*$/, "", s)
	return s
}

function take_state(s, part) {
	split(s, part, ",")
	id = trim(part[1])
	order[++nstates] = id
	name[id] = quoted(s)
	terminal[id] = s ~ /true/
	if (length(name[id]) > wide)
		wide = length(name[id])
}

function take_move(s, part) {
	split(s, part, ",")
	nmoves++
	from[nmoves] = trim(part[1])
	leads[from[nmoves]] = 1
	to[nmoves] = trim(part[2])
	why[nmoves] = quoted(s)
}

# Reads the rows of a table, whose lines were joined.
function take_table(s, row, n, i) {
	n = split(s, row, /X\(/)
	for (i = 2; i <= n; i++)
		if (table == "STATE")
			take_state(row[i])
		else
			take_move(row[i])
}

/^ \*\t[a-z]+  +[a-z]/ {
	waiting = $2
	waits[waiting] = trim(substr($0, index($0, waiting) + length(waiting)))
	next
}
waiting != "" && /^ \*\t  +[a-z]/ {
	waits[waiting] = waits[waiting] " " trim(substr($0, 3))
	next
}
{
	waiting = ""
}

/^#define OUTBOX_(STATE|MOVE)_TABLE\(/ {
	table = $0 ~ /STATE/ ? "STATE" : "MOVE"
	joined = ""
	next
}
table != "" {
	joined = joined $0
	if ($0 ~ /\\$/) {
		sub(/\\$/, "", joined)
		next
	}
	take_table(joined)
	table = ""
}

END {
	if (nstates == 0 || nmoves == 0)
		refuse("no states, or no moves, were found")
	for (i = 1; i <= nmoves; i++)
		if (!(from[i] in name) || !(to[i] in name))
			refuse("a move " from[i] " -> " to[i] " of an unknown state")
	for (i = 1; i <= nstates; i++)
		if (!terminal[order[i]] && !(name[order[i]] in waits))
			refuse("nothing says what " name[order[i]] " waits for")
	if (errors > 0)
		exit 1
	for (i = 1; i <= nstates; i++) {
		id = order[i]
		if (name[id] in waits)
			text = waits[name[id]]
		else
			text = id in leads ? "has ended, but for:" : "has ended"
		printf "%-" wide "s  %s\n", name[id], text
		for (k = 1; k <= nmoves; k++)
			if (from[k] == id)
				printf "%" wide "s    --> %-" wide "s  %s\n", \
				    "", name[to[k]], why[k]
	}
}
