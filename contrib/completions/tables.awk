# SPDX-License-Identifier: MIT
# tables.awk: reads what server/main/tables or client/program/tables prints, for
# bash.awk, zsh.awk and fish.awk, which write a completion of it:
#
#	program               its name
#	command[1..ncommands] words, and summary[words]
#	second[words]         what may follow a first word ("add disable passwd") or a
#	                      command of two words
#	people[word]          a first word behind which a person is named
#	flag[words, i]        the flags of a command, i to nflags[words]; those of
#	                      "" stand everywhere, those of "-" without a command;
#	                      letter, value and help have the same keys
#
# A flag's value is "" (it takes none), "=choices" (one of these), "/" (a file),
# "@profiles" (one that `twinbox complete profiles` prints) or "?" (not known).
# The names of people are those that `twinbox complete names` prints.
BEGIN { FS = "\t" }

function kind(argument) {
	if (argument == "")
		return ""
	if (argument ~ /^[a-z][a-z_-]*([|][a-z][a-z_-]*)+$/) {
		gsub(/[|]/, " ", argument)
		return "=" argument
	}
	if (argument == "PROFILE")
		return "@profiles"
	return argument == "FILE" || argument == "DIR" ? "/" : "?"
}
function add(words, name, short, argument, text, n) {
	n = ++nflags[words]
	flag[words, n] = name
	letter[words, n] = short
	value[words, n] = kind(argument)
	help[words, n] = text
}
# Adds the words of ${operands} in small letters to those that may follow.
function follow(first, operands, n, w, i) {
	gsub(/[^A-Za-z-]+/, " ", operands)
	n = split(operands, w, " ")
	for (i = 1; i <= n; i++)
		if (w[i] ~ /^[a-z]+$/)
			after(first, w[i])
}
function after(first, word) {
	if (index(" " second[first] " ", " " word " ") == 0)
		second[first] = second[first] (second[first] == "" ? "" : " ") word
}

$1 == "program" { program = $2 }
$1 == "alone" { add($2 == "help" ? "" : "-", $2, $3, $4, $5) }
$1 == "common" { add("", $2, $3, $4, $5) }
$1 == "command" {
	command[++ncommands] = $2
	summary[$2] = $5
	split($2, part, " ")
	if (!(part[1] in seen)) {
		seen[part[1]] = 1
		firsts = firsts (firsts == "" ? "" : " ") part[1]
	}
	if (part[2] != "")
		after(part[1], part[2])
	follow($2, $3)
	if (program == "twinbox" && $3 ~ /^(NAME|TO)( |$)/ &&
	    $2 !~ /^(register|login|admin )/)
		people[$2] = 1
}
$1 == "option" { add($2, $3, $4, $5, $6) }
$1 == "setting" { add("", $2, "", $3 == "BOOL" ? "" : $4, $8) }
