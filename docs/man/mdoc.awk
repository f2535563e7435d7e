# SPDX-License-Identifier: MIT
# mdoc.awk TABLES PAGE.in: a manual page.  TABLES is what server/main/tables or
# client/program/tables prints; the lines @commands@, @alone@, @common@, @flags@ and
# @settings@ of the page become lists of what is in it.
BEGIN { FS = "\t" }

# s as a word after a macro.
function word(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	return s
}
# s as lines of text: a sentence a line, with a stop, no line a macro.
function text(s) {
	gsub(/\\/, "\\e", s)
	gsub(/--/, "\\-\\-", s)
	s = toupper(substr(s, 1, 1)) substr(s, 2)
	if (s !~ /[.!?:]$/)
		s = s "."
	while (match(s, /[.!?]  ?[A-Z]/)) {
		print line(substr(s, 1, RSTART))
		s = substr(s, RSTART + 1)
		sub(/^ +/, "", s)
	}
	print line(s)
}
# s in lines of at most 78 characters.
function line(s, n, w, i, out) {
	n = split(s, w, " ")
	out = w[1]
	for (i = 2; i <= n; i++) {
		if (length(out) + 1 + length(w[i]) > 78) {
			print plain(out)
			out = w[i]
		} else
			out = out " " w[i]
	}
	return plain(out)
}
function plain(s) {
	return s ~ /^[.']/ ? "\\&" s : s
}
# The head of a list's item: -L, --flag VALUE.
function item(letter, flag, value, s) {
	s = ".It"
	if (letter != "")
		s = s " Fl " letter " ,"
	s = s " Fl \\-" word(flag)
	if (value != "")
		s = s " Ar " word(value)
	print s
}
# Milliseconds and bytes as people write them, where that is exact.
function in_units(n, type) {
	if (type == "DURATION") {
		if (n % 86400000 == 0 && n > 0)
			return n / 86400000 "d"
		if (n % 3600000 == 0 && n > 0)
			return n / 3600000 "h"
		return n / 1000 "s"
	}
	if (type == "SIZE")
		return n / 1048576 "MiB"
	return n
}
function list(n, of, i, part) {
	if (n == 0)
		return
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++) {
		split(of[i], part, "\t")
		item(part[2], part[1], part[3])
		text(part[4])
	}
	print ".El"
}
# A command and its own flags.
function command(i, part, key, options, o, n, words) {
	split(commands[i], part, "\t")
	key = part[1]
	print ".It Cm " key (nflags[key] > 0 ? " Oo Ar options Oc" : "") \
	    operands(part[2])
	text(part[4])
	if (part[5] != "")
		text(part[5])
	n = nflags[key]
	for (o = 1; o <= n; o++)
		options[o] = flags[key, o]
	list(n, options)
}
# "NAME TEXT... | TO -": words in capitals are arguments, others stand as they
# are.
function operands(s, n, w, i, out) {
	gsub(/\[/, "[ ", s)
	gsub(/\]/, " ]", s)
	n = split(s, w, " ")
	out = ""
	for (i = 1; i <= n; i++) {
		if (w[i] == "[")
			out = out " Oo"
		else if (w[i] == "]")
			out = out " Oc"
		else if (w[i] == "|")
			out = out " \\*(Ba"
		else if (w[i] ~ /^--/)
			out = out " Fl " word(substr(w[i], 2))
		else if (w[i] ~ /^[A-Z]/)
			out = out " Ar " word(w[i])
		else
			out = out " Cm " word(w[i])
	}
	return out
}
function variable(name) {
	name = toupper(name)
	gsub(/-/, "_", name)
	return "TWINBOX_" name
}
# The settings as flags: twinboxd(8).
function setting_flags(i, part) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= nsettings; i++) {
		split(settings[i], part, "\t")
		item("", part[1], part[2] == "BOOL" ? "" : part[3])
		text(part[7])
	}
	print ".El"
}
# The settings as lines of the file: twinboxd.conf(5).
function setting_lines(i, part, s) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= nsettings; i++) {
		split(settings[i], part, "\t")
		if (part[1] == "config")
			continue
		print ".It Cm " word(part[1]) " No = Ar " \
		    (part[2] == "BOOL" ? "true|false" : word(part[3]))
		text(part[7])
		if (part[4] != "") {
			print "The default is"
			print ".Cm " word(part[4]) " ."
		}
		if (part[6] + 0 > 0) {
			print "It may be from"
			print ".Cm " in_units(part[5], part[2])
			print "to"
			print ".Cm " in_units(part[6], part[2]) " ."
		}
		print "The variable is"
		print ".Ev " variable(part[1]) " ."
	}
	print ".El"
}

FILENAME == ARGV[1] {
	rest = $0
	sub(/^[^\t]*\t/, "", rest)
	if ($1 == "alone")
		alone[++nalone] = rest
	else if ($1 == "common")
		common[++ncommon] = rest
	else if ($1 == "command")
		commands[++ncommands] = rest
	else if ($1 == "option") {
		sub(/^[^\t]*\t/, "", rest)
		flags[$2, ++nflags[$2]] = rest
	} else if ($1 == "setting")
		settings[++nsettings] = rest
	next
}
/^@commands@$/ {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= ncommands; i++)
		command(i)
	print ".El"
	next
}
/^@alone@$/ { list(nalone, alone); next }
/^@common@$/ { list(ncommon, common); next }
/^@flags@$/ { setting_flags(); next }
/^@settings@$/ { setting_lines(); next }
{ print }
