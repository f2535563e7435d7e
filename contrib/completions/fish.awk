# SPDX-License-Identifier: MIT
# fish.awk: with tables.awk, a completion for fish.
function quoted(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/'/, "\\'", s)
	return "'" s "'"
}
function flags(words, condition, i, v, s) {
	for (i = 1; i <= nflags[words]; i++) {
		v = value[words, i]
		s = "complete -c " program
		if (condition != "")
			s = s " -n '" condition "'"
		s = s " -l " flag[words, i]
		if (letter[words, i] != "")
			s = s " -s " letter[words, i]
		if (v ~ /^=/)
			s = s " -x -a '" substr(v, 2) "'"
		else if (v == "@profiles")
			s = s " -x -a '(" program " complete profiles 2>/dev/null)'"
		else if (v == "/")
			s = s " -r -F"
		else if (v == "?")
			s = s " -x"
		print s " -d " quoted(help[words, i])
	}
}

END {
	print "# fish completion for " program "; made by make, do not edit."
	print "complete -c " program " -f"
	if (length(people) > 0) {
		print "# Whether the command is argv[1], and the next word its first."
		print "function __" program "_wants_name"
		print "    set -l words (string match -v -- '-*' (commandline -opc))"
		print "    test (count $words) -eq 2; and test $words[2] = $argv[1]"
		print "end"
		print "function __" program "_names"
		print "    " program " complete names 2>/dev/null"
		print "end"
	}
	n = split(firsts, first, " ")
	for (i = 1; i <= n; i++)
		print "complete -c " program " -n __fish_use_subcommand -a " \
		    first[i] " -d " quoted(first[i] in summary ? \
		    summary[first[i]] : second[first[i]])
	for (i = 1; i <= n; i++)
		if (second[first[i]] != "")
			print "complete -c " program \
			    " -n '__fish_seen_subcommand_from " first[i] \
			    "; and not __fish_seen_subcommand_from " \
			    second[first[i]] "' -a '" second[first[i]] "'"
	for (i = 1; i <= n; i++)
		if (first[i] in people)
			print "complete -c " program " -n '__" program "_wants_name " \
			    first[i] "' -a '(__" program "_names)'"
	flags("")
	flags("-", "__fish_use_subcommand")
	for (i = 1; i <= ncommands; i++) {
		k = split(command[i], part, " ")
		flags(command[i], "__fish_seen_subcommand_from " part[1] \
		    (k == 2 ? "; and __fish_seen_subcommand_from " part[2] : ""))
	}
}
