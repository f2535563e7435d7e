# SPDX-License-Identifier: MIT
# fish.awk: writes, with tables.awk, a completion for fish.
function quoted(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/'/, "\\'", s)
	return "'" s "'"
}
# Returns the flags of words that take a value, for a switch of fish.
function valued(words, i, s) {
	for (i = 1; i <= nflags[words]; i++) {
		if (value[words, i] == "" || seen_valued[flag[words, i]]++)
			continue
		s = s " --" flag[words, i]
		if (letter[words, i] != "")
			s = s " -" letter[words, i]
	}
	return s
}
# Writes the function that prints the words before the one that is typed,
# without flags and their values.
function write_words(v, i) {
	v = valued("") valued("-")
	for (i = 1; i <= ncommands; i++)
		v = v valued(command[i])
	print "function __" program "_words"
	print "    set -l skip no"
	print "    for word in (commandline -opc)[2..-1]"
	print "        if test $skip = yes"
	print "            set skip no"
	print "            continue"
	print "        end"
	print "        switch $word"
	if (v != "") {
		print "            case" v
		print "                set skip yes"
	}
	print "            case '-*'"
	print "            case '*'"
	print "                echo -- $word"
	print "        end"
	print "    end"
	print "end"
	print "# Whether these words are argv."
	print "function __" program "_behind"
	print "    test \"$(string join -- ' ' (__" program "_words))\" = \"$argv\""
	print "end"
}
# Writes the function that prints names, those of the profile that the line
# names.
function write_names() {
	print "function __" program "_names"
	print "    set -l profile"
	print "    set -l typed (commandline -opc)"
	print "    for i in (seq 2 (count $typed))"
	print "        switch $typed[$i]"
	print "            case -p --profile"
	print "                set profile --profile $typed[(math $i + 1)]"
	print "            case '-p=*' '--profile=*'"
	print "                set profile --profile (string replace -r '^[^=]*=' '' -- $typed[$i])"
	print "        end"
	print "    end"
	print "    " program " $profile complete names 2>/dev/null"
	print "end"
}
function words_behind(words) {
	print "complete -c " program " -n '__" program "_behind " words "' -a '" \
	    second[words] "'"
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
	write_words()
	if (length(people) > 0)
		write_names()
	n = split(firsts, first, " ")
	for (i = 1; i <= n; i++)
		print "complete -c " program " -n __fish_use_subcommand -a " \
		    first[i] " -d " quoted(first[i] in summary ? \
		    summary[first[i]] : second[first[i]])
	for (i = 1; i <= n; i++)
		if (second[first[i]] != "")
			words_behind(first[i])
	for (i = 1; i <= ncommands; i++)
		if (command[i] ~ / / && second[command[i]] != "")
			words_behind(command[i])
	for (i = 1; i <= n; i++)
		if (first[i] in people)
			print "complete -c " program " -n '__" program "_behind " \
			    first[i] "' -a '(__" program "_names)'"
	flags("")
	flags("-", "__fish_use_subcommand")
	for (i = 1; i <= ncommands; i++) {
		k = split(command[i], part, " ")
		flags(command[i], "__fish_seen_subcommand_from " part[1] \
		    (k == 2 ? "; and __fish_seen_subcommand_from " part[2] : ""))
	}
}
