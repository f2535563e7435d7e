# SPDX-License-Identifier: MIT
# requirements.awk LIST TEST...: reads the rows of docs/requirements.txt, then
# the tests, and prints docs/requirements.md.  Errors go to standard error and
# make the status 1: a row that is given twice, a tag that names no row or
# belongs to no test, no row at all, no tag at all.
#
# A tag is R and digits; a range is R7-R9.  A tag counts in these places.  In
# .mjs files: in the title of it(), test() or describe() (also through a
# constant), in a literal that starts with the tag (tables of cases), and in a
# comment above a test.  In .c files: in a comment above or inside a function
# test_*().  In .sh files and stages: in any line.  A tag in the comment that
# opens a file belongs to the whole file.

function refuse(text) {
	printf "%s:%d: %s\n", at_file, at_line, text | "cat >&2"
	errors++
}

# Returns the number of tags in s.  `rest` becomes s without its tags.  The rows
# that they name are added to `found`, unless mode is "count".
function tags(s, mode, n, from, to, c, i) {
	rest = ""
	n = 0
	gsub(/–/, "-", s)
	while (match(s, /R[0-9]+(-R?[0-9]+)?/)) {
		c = RSTART == 1 ? substr(rest, length(rest)) : substr(s, RSTART - 1, 1)
		to = substr(s, RSTART, RLENGTH)
		rest = rest substr(s, 1, RSTART - 1)
		s = substr(s, RSTART + RLENGTH)
		if (c ~ /[A-Za-z0-9_$]/ || s ~ /^[A-Za-z0-9_]/) {
			rest = rest to
			continue
		}
		n++
		if (mode == "count")
			continue
		from = to
		gsub(/-.*|R/, "", from)
		gsub(/.*-|R/, "", to)
		if (from + 0 > to + 0)
			refuse("R" from "-R" to " is no range")
		for (i = from + 0; i <= to + 0; i++)
			found[++nfound] = i
	}
	rest = rest s
	return n
}

# Assigns the tags in s to the test called title.
function claim(s, title, i) {
	nfound = 0
	tags(s)
	for (i = 1; i <= nfound; i++)
		give(found[i], title)
}
function give(row, title, shown) {
	ntags++
	if (!(("R" row) in name)) {
		refuse("R" row " is no row of the list")
		return
	}
	if (seen[row, file, title]++)
		return
	shown = "[" file "](../" file ")" (title == "" ? "" : ": " title)
	where[row] = where[row] (where[row] == "" ? "" : "<br>") shown
}

# Keeps the tags of a comment until the test below it is found.
function hold(s, i) {
	nfound = 0
	tags(s)
	for (i = 1; i <= nfound; i++) {
		held[++nheld] = found[i]
		held_line = FNR
	}
}
function release(title, i) {
	for (i = 1; i <= nheld; i++)
		give(held[i], title)
	nheld = 0
}

# Escapes s for Markdown.
function plain(s) {
	gsub(/\\/, "&&", s)
	gsub(/\|/, "\\|", s)
	gsub(/</, "\\&lt;", s)
	gsub(/\*/, "\\*", s)
	gsub(/`/, "\\`", s)
	s = " " s
	gsub(/ _/, " \\_", s)
	return substr(s, 2)
}

# Returns a title without its tags, and without brackets that held only tags.
function bare(s) {
	gsub(/–/, "-", s)
	gsub(/[ \t]*\(R[0-9]+(-R?[0-9]+)?([ ,;]+R[0-9]+(-R?[0-9]+)?)*\)/, "", s)
	tags(s, "count")
	s = rest
	gsub(/\([ ,;]+/, "(", s)
	gsub(/[ ,;]+\)/, ")", s)
	gsub(/[ \t]+/, " ", s)
	sub(/^[ ,:;.]+/, "", s)
	sub(/ +$/, "", s)
	return s
}

# --- .mjs -------------------------------------------------------------------
# Appends to `text` the literals at the start of s, which are joined by +.
# Returns 1 if they continue in the next line; `after` is the text behind them.
function literals(s, quote, i, c, word) {
	for (;;) {
		sub(/^[ \t]+/, "", s)
		quote = substr(s, 1, 1)
		if (quote == "'" || quote == "\"" || quote == "`") {
			for (i = 2; (c = substr(s, i, 1)) != quote; i++) {
				if (c == "")
					break
				if (c == "\\")
					c = substr(s, ++i, 1)
				text = text c
			}
			s = substr(s, i + 1)
		} else if (match(s, /^[A-Za-z_][A-Za-z0-9_]*/)) {
			word = substr(s, 1, RLENGTH)
			s = substr(s, RLENGTH + 1)
			text = text "${" word "}"
		} else {
			after = s
			return text == "" && s == ""
		}
		sub(/^[ \t]+/, "", s)
		if (s !~ /^\+/) {
			after = s
			return 0
		}
		s = substr(s, 2)
		sub(/^[ \t]+/, "", s)
		if (s == "") {
			after = ""
			return 1
		}
	}
}
# Replaces ${NAME} in s by the value of that constant.
function expand(s, word, i) {
	for (word in constant)
		while ((i = index(s, "${" word "}")) > 0) {
			s = substr(s, 1, i - 1) constant[word] substr(s, i + length(word) + 3)
			used[word] = 1
		}
	return s
}
function titled(i, path) {
	if (tags(after, "count") > 0)
		refuse("a tag behind a title")
	if (kind == "const") {
		if (tags(text, "count") > 0) {
			constant[title_name] = text
			const_line[title_name] = FNR
		}
		return
	}
	text = expand(text)
	while (depth > 0 && indent[depth] >= title_indent)
		depth--
	path = ""
	for (i = 1; i <= depth; i++)
		path = path group[i] " › "
	path = path bare(text)
	if (kind == "describe") {
		indent[++depth] = title_indent
		group[depth] = bare(text)
	}
	claim(text, plain(path))
	release(plain(path))
}
function script(s, n) {
	if (collecting) {
		collecting = literals(s)
		if (!collecting)
			titled()
		return
	}
	if (s ~ /^[ \t]*(\/\/|\/?\*)/) {
		if (heading)
			claim(s, "")
		else
			hold(s)
		return
	}
	if (s ~ /[^ \t]/)
		heading = 0
	if (match(s, /^[ \t]*(await )?(t\.)?(it|test|describe)\(/)) {
		kind = substr(s, 1, RLENGTH) ~ /describe/ ? "describe" : "it"
		n = RLENGTH
		match(s, /^[ \t]*/)
		title_indent = RLENGTH
	} else if (match(s, /^[ \t]*const [A-Za-z_][A-Za-z0-9_]* =/)) {
		n = RLENGTH
		title_name = substr(s, 1, n - 2)
		sub(/^[ \t]*const /, "", title_name)
		if (substr(s, n + 1) !~ /^ *(['"`].*)?$/) {
			other(s)
			return
		}
		kind = "const"
	} else {
		other(s)
		return
	}
	text = ""
	collecting = literals(substr(s, n + 1))
	if (!collecting)
		titled()
}
# Handles a line that is neither a title nor a constant: literals in it may
# start with tags.
function other(s, all) {
	all = tags(s, "count")
	while (all > 0 && match(s, /['"`]R[0-9]+[^A-Za-z0-9_]/)) {
		text = ""
		literals(substr(s, RSTART))
		claim(text, plain(bare(text)))
		all -= tags(text, "count")
		s = after
	}
	if (all > 0)
		refuse("a tag that is neither in a title nor in a comment")
}

# --- .c ---------------------------------------------------------------------
function c_line(s, code) {
	code = s
	gsub(/"([^"\\]|\\.)*"/, "", code)
	if (!in_comment && index(code, "/*") > 0) {
		in_comment = 1
		whole = FNR <= 3
	}
	if (tags(s, "count") > 0) {
		if (!in_comment && code !~ /\/\//)
			refuse("a tag outside of a comment")
		else if (in_comment && whole)
			claim(s, "")
		else if (in_function)
			c_claim(s)
		else
			hold(s)
	}
	if (in_comment && s ~ /\*\//)
		in_comment = 0
	else if (match(s, /^[a-z_][A-Za-z0-9_]*\(/)) {
		current = substr(s, 1, RLENGTH - 1)
		if (nheld > 0 && current ~ /^test_/)
			release("`" current "`")
	} else if (s ~ /^\{/)
		in_function = 1
	else if (s ~ /^\}/)
		in_function = 0
}
function c_claim(s) {
	if (current ~ /^test_/)
		claim(s, "`" current "`")
	else
		refuse("a tag in " current "(), which is no test")
}

# --- .sh and stages -----------------------------------------------------------
function shell_line(s) {
	if (tags(s, "count") == 0)
		return
	text = s
	sub(/^[ \t]*#*[ \t]*/, "", text)
	sub(/^(check|result) [^ ]+ /, "", text)
	gsub(/^['"]|['"]$/, "", text)
	claim(s, plain(bare(text)))
}

function end_file(word) {
	if (file == "")
		return
	at_file = file
	at_line = held_line
	if (nheld > 0)
		refuse("R" held[1] " stands over no test")
	for (word in constant)
		if (!(word in used)) {
			at_line = const_line[word]
			refuse("a tag in " word ", which is no test's title")
		}
	split("", constant)
	split("", used)
	nheld = depth = collecting = in_comment = in_function = 0
	current = ""
}

BEGIN { FS = "\t" }
FNR == 1 {
	end_file()
	file = FILENAME
	sub(/^\.\//, "", file)
	heading = 1
	nfiles++
	is_list = FILENAME == ARGV[1]
	if (is_list)
		file = ""
	type = file ~ /\.mjs$/ ? "mjs" : file ~ /\.c$/ ? "c" : "sh"
}
{
	at_file = FILENAME
	at_line = FNR
}
is_list && /^#/ { next }
is_list && $1 == "source" && NF == 3 {
	source[++nsources] = $2
	source_text[$2] = $3
	next
}
is_list && $1 == "mark" && NF == 4 && $3 ~ /^(open|no code|shown)$/ {
	mark[++nmarks] = $2
	mark_class[$2] = $3
	mark_text[$2] = $4
	next
}
is_list {
	if ($1 !~ /^R[0-9]+$/ || NF != 6)
		refuse("neither a row of six columns, nor a source, nor a mark")
	else if ($1 in name)
		refuse($1 " is there twice")
	else if ($1 != "R" (nrows + 1))
		refuse($1 " follows R" nrows)
	else if (!($3 in source_text) || ($2 != "-" && !($2 in mark_class)))
		refuse($1 " has an unknown source or mark")
	if (!($1 in name))
		row[++nrows] = $1
	row_mark[$1] = $2
	row_source[$1] = $3
	row_kind[$1] = $4
	name[$1] = $5
	words[$1] = $6
	next
}
type == "mjs" { script($0) }
type == "c" { c_line($0) }
type == "sh" { shell_line($0) }

# Returns what the table says about a row, and sets `class`: shown, no code or
# open.
function verdict(r, n) {
	n = substr(r, 2)
	if (n in where) {
		class = "shown"
		if (mark_class[row_mark[r]] != "shown")
			return where[n]
		partly[row_mark[r]]++
		return where[n] "<br>" mark_text[row_mark[r]]
	}
	if (row_mark[r] == "-" || mark_class[row_mark[r]] == "shown") {
		class = "open"
		return "**open**"
	}
	class = mark_class[row_mark[r]]
	return (class == "open" ? "**open**: " : class ": ") mark_text[row_mark[r]]
}
END {
	end_file()
	for (i = 1; i <= nrows; i++) {
		r = row[i]
		said[r] = verdict(r)
		count[class]++
		count[row_source[r], class]++
		if (class != "shown")
			why[mark_class[row_mark[r]] == "shown" ? "-" : row_mark[r]]++
	}
	print "# Requirements: which test shows which row"
	print "<!-- made by scripts/requirements of docs/requirements.txt and the tags in tests/ -->"
	print ""
	print "Every feature, state, column, default, event, query and alert that the five source documents name."
	print "A row is done when it works and a test shows it; the test names the row (`R7`)."
	print ""
	printf "**%d rows: %d shown by a test, %d need no code, %d open.**\n\n", \
	    nrows, count["shown"], count["no code"], count["open"]
	print "| source | rows | shown | no code | open |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= nsources; i++) {
		s = source[i]
		printf "| %s %s | %d | %d | %d | %d |\n", s, source_text[s], \
		    count[s, "shown"] + count[s, "no code"] + count[s, "open"], \
		    count[s, "shown"], count[s, "no code"], count[s, "open"]
	}
	print ""
	print "| without a test | rows |"
	print "|---|---|"
	for (i = 1; i <= nmarks; i++)
		if (mark_class[mark[i]] != "shown")
			printf "| %s: %s | %d |\n", mark_class[mark[i]], \
			    mark_text[mark[i]], why[mark[i]]
	printf "| open | %d |\n", why["-"]
	for (i = 1; i <= nmarks; i++)
		if (mark_class[mark[i]] == "shown") {
			if (!headed++)
				print "\n| shown by a test, but | rows |\n|---|---|"
			printf "| %s | %d |\n", mark_text[mark[i]], partly[mark[i]]
		}
	last = ""
	for (i = 1; i <= nrows; i++) {
		r = row[i]
		if (row_source[r] != last) {
			last = row_source[r]
			printf "\n## %s: %s\n\n", last, source_text[last]
			print "| row | kind | name | exact words or default | shown by |"
			print "|---|---|---|---|---|"
		}
		printf "| %s | %s | %s | %s | %s |\n", r, plain(row_kind[r]), \
		    plain(name[r]), plain(words[r]), said[r]
	}
	printf "requirements: %d rows, %d tags in %d files, %d errors\n", \
	    nrows, ntags, nfiles - (nrows > 0), errors | "cat >&2"
	close("cat >&2")
	exit !(nrows > 0 && ntags > 0 && errors == 0)
}
