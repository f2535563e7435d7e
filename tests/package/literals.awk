# SPDX-License-Identifier: MIT
# literals.awk TABLES: prints two kinds of wrong texts, one in each line.  In
# the first, the manual page would begin the text with a capital letter,
# although its first word must be typed as it is (an operand of the command, a
# value of an option).  The second kind ends in the middle of a sentence.
# TABLES is the output of client/program/tables and server/main/tables.
BEGIN { FS = "\t" }

function words_of(s, of, n, i, w) {
	delete of
	n = split(s, w, /[^a-z\/-]+/)
	for (i = 1; i <= n; i++)
		if (w[i] != "")
			of[w[i]] = 1
}
function judge(name, text, s) {
	seen++
	s = text
	sub(/[ ,;:.].*/, "", s)
	if (s in literal || s ~ /^[a-z]+\//)
		print name ": " text
	if (text ~ / (with|of|to|and|or)\.?$/)
		print name ": " text
}

$1 == "command" {
	words_of($3, literal)
	judge($2, $6)
}
$1 == "option" {
	words_of($5, literal)
	judge($2 " --" $3, $6)
}
# "local" is a destination, which is a literal word although no option has it as
# a value.
{ delete literal; literal["local"] = 1 }
$1 == "command" { judge($2, $6) }
END { exit seen < 10 }
