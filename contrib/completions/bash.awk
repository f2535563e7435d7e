# SPDX-License-Identifier: MIT
# bash.awk: writes, with tables.awk, a completion for bash.  It needs only the
# folder of the package bash-completion, and no function of it.

# Returns the flags of words, with their dashes.
function names(words, i, s) {
	s = ""
	for (i = 1; i <= nflags[words]; i++) {
		s = s " --" flag[words, i]
		if (letter[words, i] != "")
			s = s " -" letter[words, i]
	}
	return substr(s, 2)
}
# Prints a case for each flag of words that takes a value.
function cases(words, i, p, v) {
	p = words == "" || words == "-" ? "*" : "\"" words "\""
	for (i = 1; i <= nflags[words]; i++) {
		v = value[words, i]
		if (v == "")
			continue
		printf "\t%s:--%s", p, flag[words, i]
		if (letter[words, i] != "")
			printf " | %s:-%s", p, letter[words, i]
		print ")"
		if (v ~ /^=/)
			print "\t\tCOMPREPLY=($(compgen -W '" substr(v, 2) \
			    "' -- \"$cur\"))"
		else if (v == "@profiles")
			print "\t\tCOMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" " \
			    "complete profiles 2>/dev/null)\" -- \"$cur\"))"
		else if (v == "/")
			print "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n" \
			    "\t\tcompopt -o filenames 2>/dev/null"
		print "\t\treturn 0\n\t\t;;"
	}
}
# Returns the flags of words that take a value, as a pattern.
function valued(words, i, s) {
	s = ""
	for (i = 1; i <= nflags[words]; i++) {
		if (value[words, i] == "" || seen_valued[flag[words, i]]++)
			continue
		s = s " | --" flag[words, i]
		if (letter[words, i] != "")
			s = s " | -" letter[words, i]
	}
	return s
}

END {
	print "# bash completion for " program "; made by make, do not edit."
	print "_" program "()\n{"
	print "\tlocal cur=${COMP_WORDS[COMP_CWORD]}"
	print "\tlocal prev=${COMP_WORDS[COMP_CWORD - 1]}"
	print "\tlocal command='' flags='' skip='' i"
	print "\tlocal -a words=() profile=()"
	print "\tCOMPREPLY=()"
	print "\t# --flag=value comes as three words."
	print "\tif [[ $cur == = ]]; then"
	print "\t\tcur=''"
	print "\telif [[ $prev == = ]]; then"
	print "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}"
	print "\tfi"
	print "\tfor ((i = 1; i < COMP_CWORD; i++)); do"
	print "\t\tif [[ ${COMP_WORDS[i]} == = ]]; then"
	print "\t\t\tskip=1"
	print "\t\t\tcontinue"
	print "\t\telif [[ -n $skip ]]; then"
	print "\t\t\tskip=''"
	print "\t\t\tcontinue"
	print "\t\tfi"
	if (program == "twinbox")
		print "\t\t[[ ${COMP_WORDS[i]} != -p && ${COMP_WORDS[i]} != --profile ]] ||\n" \
		    "\t\t\t{ [[ ${COMP_WORDS[i + 1]} == = ]] &&\n" \
		    "\t\t\t    profile=(--profile \"${COMP_WORDS[i + 2]:-}\") ||\n" \
		    "\t\t\t    profile=(--profile \"${COMP_WORDS[i + 1]}\"); }"
	print "\t\tcase ${COMP_WORDS[i]} in"
	v = valued("") valued("-")
	for (i = 1; i <= ncommands; i++)
		v = v valued(command[i])
	if (v != "")
		print "\t\t" substr(v, 4) ") skip=1 ;;"
	print "\t\t-*) ;;"
	print "\t\t*) words+=(\"${COMP_WORDS[i]}\") ;;"
	print "\t\tesac"
	print "\tdone"
	print "\tcommand=${words[0]:-}"
	for (i = 1; i <= ncommands; i++)
		if (split(command[i], part, " ") == 2 && !two[part[1]]++)
			print "\t[[ $command != " part[1] " || -z ${words[1]:-} ]] ||\n" \
			    "\t\tcommand=\"" part[1] " ${words[1]}\""
	print "\tcase $command:$prev in"
	for (i = 1; i <= ncommands; i++)
		cases(command[i])
	cases("")
	cases("-")
	print "\tesac"
	print "\tif [[ $cur == -* ]]; then"
	print "\t\tcase $command in"
	for (i = 1; i <= ncommands; i++)
		if (nflags[command[i]] > 0)
			print "\t\t\"" command[i] "\") flags='" \
			    names(command[i]) "' ;;"
	print "\t\t'') flags='" names("-") "' ;;"
	print "\t\tesac"
	print "\t\tCOMPREPLY=($(compgen -W \"$flags " names("") \
	    "\" -- \"$cur\"))"
	print "\t\treturn 0"
	print "\tfi"
	print "\tcase ${#words[@]}:$command in"
	print "\t0:) COMPREPLY=($(compgen -W '" firsts "' -- \"$cur\")) ;;"
	n = split(firsts, first, " ")
	for (i = 1; i <= n; i++)
		if (second[first[i]] != "")
			print "\t1:" first[i] ") COMPREPLY=($(compgen -W '" \
			    second[first[i]] "' -- \"$cur\")) ;;"
	for (i = 1; i <= ncommands; i++)
		if (command[i] ~ / / && second[command[i]] != "")
			print "\t\"2:" command[i] "\") COMPREPLY=($(compgen -W '" \
			    second[command[i]] "' -- \"$cur\")) ;;"
	for (i = 1; i <= n; i++)
		if (first[i] in people)
			print "\t1:" first[i] ") COMPREPLY=($(compgen -W " \
			    "\"$(\"${COMP_WORDS[0]}\" \"${profile[@]}\" complete names " \
			    "2>/dev/null)\" -- \"$cur\")) ;;"
	print "\tesac"
	print "\treturn 0\n}"
	print "complete -F _" program " " program
}
