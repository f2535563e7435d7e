# SPDX-License-Identifier: MIT
# check-words.sh: finds sentences that break a rule of words.

function load(line, at, rest) {
	while ((getline line <exceptions) > 0) {
		if (line == "" || line ~ /^#/)
			continue
		listed[++nlisted] = line
	}
	close(exceptions)
}

# Whether an exception covers ${text} of ${path}.
function excepted(path, rule, text, i, head) {
	head = path ":" rule ":"
	for (i = 1; i <= nlisted; i++)
		if (index(listed[i], head) == 1 &&
		    index(text, substr(listed[i], length(head) + 1)) > 0) {
			used[i] = 1
			return 1
		}
	return 0
}

function report(rule, sentence) {
	sub(/^ +/, "", sentence)
	if (excepted(path, rule, sentence))
		return
	printf "%s:%d: %s: %s\n", path, start, rule, substr(sentence, 1, 120)
	bad++
}

# The sentences of one comment or paragraph.
function look(text, parts, n, i, s, q, padded) {
	gsub(/[ \t]+/, " ", text)
	comments++
	gsub(/[.!?:;] /, "&\n", text)
	n = split(text, parts, "\n")
	for (i = 1; i <= n; i++) {
		s = parts[i]
		padded = " " s " "
		q = s
		sub(/^[ *_("'-]+/, "", q)
		if (q ~ /^(What|Who|Whoever|Whom|Whose) [a-z]/ && s !~ /\? ?$/)
			report("headless", s)
		if (padded ~ /[^a-zA-Z][Ss]o (often|many|long|much)[^a-zA-Z]/ &&
		    padded !~ /[Ss]o (often|many|long|much) (as|that)[^a-z]/)
			report("so", s)
		if (padded ~ /[^a-zA-Z](is|are|was|were) no [a-z]/ &&
		    padded !~ /(is|are|was|were) no longer/ &&
		    padded !~ /[Tt]here (is|are|was|were) no / &&
		    padded !~ /(is|are|was|were) there no /)
			report("is no", s)
		gsub(/\$\{[^}]*\}/, "x", padded)
		gsub(/[Tt]ell (the|an) (operator|recipient)/, "x", padded)
		if (padded ~ /[^a-zA-Z"`$_{]([Tt]ell|[Tt]ells|told)[^a-zA-Z"`_}]/)
			report("tell", s)
		if (padded ~ /[^a-zA-Z"`]([Hh]e|[Hh]im|[Hh]is|[Ss]he|[Hh]er)[^a-zA-Z"`'.@\/]/)
			report("he", s)
	}
}

function flush() {
	if (text != "" && (!in_string || text ~ /[^ ] +[^ ]+ +[^ ]/))
		look(text)
	text = ""
	in_string = 0
}

function add(line) {
	if (text == "") {
		start = FNR
		path = FILENAME
	}
	text = text " " line
}

# The strings of one line of code.  Strings that follow each other without code
# between them are one text.
function strings(line, quote, at, c, rest) {
	rest = line
	sub(/^[ \t]+/, "", rest)
	if (rest !~ /^["'`]/)
		flush()
	if (kind == "c")
		gsub(/'\\?"'/, "x", line)
	while (match(line, marks)) {
		quote = substr(line, RSTART, 1)
		at = RSTART + 1
		while (at <= length(line) && (c = substr(line, at, 1)) != quote)
			at += c == "\\" ? 2 : 1
		add_string(substr(line, RSTART + 1, at - RSTART - 1))
		line = substr(line, at + 1)
	}
	if (line !~ /^[ \t]*[+\\]?[ \t]*$/)
		flush()
}

function add_string(s) {
	gsub(/\\[nt]/, " ", s)
	if (text == "") {
		start = FNR
		path = FILENAME
	}
	text = text s
	in_string = 1
}

# The text of a page in one line: between two tags, or a line without code.
function page_text(line, parts, n, i) {
	gsub(/'[^']*'|"[^"]*"|`[^`]*`/, "", line)
	gsub(/\{[^}]*\}/, "x", line)
	gsub(/=>/, "=", line)
	n = split(line, parts, /[<>]/)
	for (i = 1; i <= n; i++) {
		if (parts[i] ~ /[;={}()]/)
			continue
		flush()
		add(parts[i])
		in_string = 1
	}
	flush()
}

BEGIN { load() }

FNR == 1 {
	flush()
	block = fence = 0
	kind = FILENAME
	if (!sub(/^.*\./, "", kind))
		kind = "sh"
	if (kind == "h")
		kind = "c"
	marks = kind == "c" ? "\"" : "[\"'`]"
	nfiles++
}

/SPDX-License-Identifier/ { next }

# Documents: a paragraph, an item of a list or a row of a table at a time.
kind == "md" {
	if (/^ *```/) {
		fence = !fence
		flush()
		next
	}
	if (fence || /^    / && text == "")
		next
	if (/^ *$/ || /^#/ || /^ *([*-]|[0-9]+\.) / || /^\|/)
		flush()
	if (/^#/ || /^ *$/)
		next
	line = $0
	sub(/^ *([*-]|[0-9]+\.) /, "", line)
	gsub(/`[^`]*`/, "`x`", line)
	if (/^\|/) {
		n = split(line, cells, "|")
		for (c = 1; c <= n; c++) {
			start = FNR
			path = FILENAME
			if (cells[c] !~ /^[ -]*$/)
				look(cells[c])
		}
		next
	}
	add(line)
	next
}

kind == "sql" {
	if (/^[ \t]*--/ && !/^-- (name|columns|row|writer|only):/ && !/^--     /) {
		line = $0
		sub(/^[ \t]*-- ?/, "", line)
		add(line)
	} else {
		flush()
	}
	next
}

kind == "sh" || kind == "awk" {
	if (/^[ \t]*#[^!]/) {
		line = $0
		sub(/^[ \t]*#[ \t]*/, "", line)
		add(line)
	} else {
		flush()
	}
	next
}

# The API contract: each value, with the lines that continue it.
kind == "yaml" {
	if (/^ *(- )?["'A-Za-z0-9_{}\/$.-]+:/) {
		flush()
		line = $0
		sub(/^ *(- )?["'A-Za-z0-9_{}\/$.-]+: *[|>]?-? */, "", line)
		gsub(/`[^`]*`/, "`x`", line)
		add(line)
	} else if (/^ *(- |$)/) {
		flush()
	} else {
		line = $0
		gsub(/`[^`]*`/, "`x`", line)
		add(line)
	}
	next
}

# C, TypeScript and JavaScript.
{
	line = $0
	if (!block) {
		if (match(line, /\/\*/) && line !~ /"[^"]*\/\*[^"]*"/) {
			rest = substr(line, RSTART + 2)
			if (RSTART > 1)
				strings(substr(line, 1, RSTART - 1))
			flush()
			block = 1
			line = rest
		} else if (match(line, /^[ \t]*\/\/ ?/)) {
			if (in_string)
				flush()
			add(substr(line, RLENGTH + 1))
			next
		} else {
			if (!in_string)
				flush()
			strings(line)
			if (kind == "tsx")
				page_text(line)
			next
		}
	}
	end = match(line, /\*\//)
	if (end)
		line = substr(line, 1, RSTART - 1)
	sub(/^[ \t]*\*+ ?/, "", line)
	add(line)
	if (line ~ /^[ \t]*$/)
		flush()
	if (end) {
		flush()
		block = 0
	}
}

END {
	flush()
	for (i = 1; i <= nlisted; i++)
		if (!used[i]) {
			printf "%s: not needed: %s\n", exceptions, listed[i]
			bad++
		}
	if (nlisted * 100 > comments) {
		printf "%s: %d exceptions for %d comments: at most one for each hundred\n", \
		    exceptions, nlisted, comments
		bad++
	}
	printf "check-words: %d files, %d comments, %d exceptions, %d errors\n", \
	    nfiles, comments, nlisted, bad + 0
	exit (bad > 0)
}
