# SPDX-License-Identifier: MIT
# Reads `git log --numstat` and reports commits whose message breaks a rule.
# BODY_LINES: a commit that changes more lines needs a body.  EXCEPTIONS: a file
# with lines `TITLE | reason`; each names a commit that breaks a rule.  PART=1:
# not all commits are read, so an exception may be without its commit.
# Prints one line for each error; ends with 1 if there is one or no commit.

BEGIN {
	verbs = "feed need embed exceed proceed seed shed speed shred bleed " \
	    "bring ring ping string sing spring swing cling focus bypass"
	split(verbs, word, " ")
	for (i in word)
		imperative[word[i]] = 1
	while (EXCEPTIONS != "" && (getline line <EXCEPTIONS) > 0) {
		if (line ~ /^(#|base |$)/)
			continue
		at = index(line, " | ")
		if (at == 0 || at + 3 > length(line))
			report(EXCEPTIONS ": \"" line "\" is without a reason")
		else
			excepted[substr(line, 1, at - 1)] = 1
	}
}

function report(text)
{
	print text
	errors++
}

function mistake(text)
{
	faults = faults == "" ? text : faults "; " text
}

# The first word behind the area ("relay: ") is a verb in the imperative.
function check_title(title,    verb)
{
	if (length(title) > 72)
		mistake("the title has " length(title) " characters, at most 72 are allowed")
	if (title ~ /\.$/)
		mistake("the title ends with a full stop")
	verb = title
	sub(/^[a-z0-9_.\/, -]+: /, "", verb)
	sub(/[^A-Za-z].*/, "", verb)
	verb = tolower(verb)
	if (!(verb in imperative) && verb ~ /(ed|ing|[^s]s)$/)
		mistake("\"" verb "\" is not an imperative")
}

function finish()
{
	if (commit == "")
		return
	seen++
	check_title(title)
	if (glued)
		mistake("a line follows the title without an empty line between")
	if (lines > BODY_LINES && body == 0)
		mistake(lines " changed lines, and no body says why and how it was tested")
	if (title in excepted) {
		if (faults == "")
			report(EXCEPTIONS ": \"" title "\" needs no exception")
		used[title] = 1
	} else if (faults != "")
		report(commit " \"" title "\": " faults)
}

/^commit [0-9a-f]+/ {
	finish()
	commit = $2
	title = faults = ""
	body = lines = glued = apart = 0
	next
}

# git writes the empty lines of a message with or without spaces.
/^ *$/ {
	apart = title != ""
	next
}

/^    / {
	if (title == "")
		title = substr($0, 5)
	else {
		body++
		glued = glued || !apart
	}
	next
}

/^[0-9]+\t[0-9]+\t/ {
	lines += $1 + $2
}

END {
	finish()
	for (title in excepted)
		if (!PART && !(title in used))
			report(EXCEPTIONS ": \"" title "\" is not among the commits")
	print "check-commits: " seen + 0 " commits, " errors + 0 " with errors"
	exit errors > 0 || seen == 0
}
