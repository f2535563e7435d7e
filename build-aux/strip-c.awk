# SPDX-License-Identifier: MIT
# Prints C with comments, strings and character constants blanked, line for
# line, so that other checks see only code.

function strip(s, out, c, d, i, n) {
	out = ""
	n = length(s)
	for (i = 1; i <= n; i++) {
		c = substr(s, i, 1)
		if (state == "comment") {
			if (c == "*" && substr(s, i + 1, 1) == "/") {
				state = ""
				i++
			}
		} else if (state != "") {
			if (c == "\\")
				i++
			else if (c == state) {
				state = ""
				out = out c
			}
		} else if (c == "/") {
			d = substr(s, i + 1, 1)
			if (d == "/")
				return out
			if (d == "*") {
				state = "comment"
				out = out " "
				i++
			} else
				out = out c
		} else {
			if (c == "\"" || c == "'")
				state = c
			out = out c
		}
	}
	if (state == "\"" || state == "'")
		if (s !~ /\\$/)
			state = ""
	return out
}

FNR == 1 {
	state = ""
}

{
	# Most lines hold nothing to blank.
	if (state == "" && $0 !~ /["'\/]/)
		print
	else
		print strip($0)
}
