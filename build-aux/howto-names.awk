# SPDX-License-Identifier: MIT
# Reads a how-to list and prints an extended regular expression for each file or
# folder that it names between backticks.  A path may be given from any folder
# on, and may have patterns (api_*.c) and placeholders (NOUN.c, test_MODULE.c).
{
	for (rest = $0; match(rest, /`[^`]+`/);
	    rest = substr(rest, RSTART + RLENGTH))
		name(substr(rest, RSTART + 1, RLENGTH - 2))
}

function name(text)
{
	# A route, a call or a line of code is not a name of a file.
	if (text !~ /^[A-Za-z0-9_.*\/-]*[.\/][A-Za-z0-9_.*\/-]*$/)
		return
	sub(/\/$/, "", text)
	gsub(/\./, "\\.", text)
	gsub(/NOUN|MODULE|NAME|NNNN/, "*", text)
	gsub(/\*/, "[^/]*", text)
	print "(.*/)?" text "(/.*)?"
}
