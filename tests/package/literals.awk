# SPDX-License-Identifier: MIT
# literals.awk TABLES: the texts that a manual page would begin with a capital
# letter although their first word is to be typed as it is (an operand of the
# command, a value of an option), and those that end in the middle of a
# sentence, a line each.  TABLES is what client/program/tables and
# server/main/tables print.
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
# A destination: its name is a value of no option.
{ delete literal; literal["local"] = 1 }
$1 == "command" { judge($2, $6) }
END { exit seen < 10 }
