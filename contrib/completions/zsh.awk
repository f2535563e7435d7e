# SPDX-License-Identifier: MIT
# zsh.awk: writes, with tables.awk, a completion for zsh.

# Returns s for a place between single quotes in _arguments, with brackets and
# colons escaped.
function quoted(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/'/, "'\\''", s)
	gsub(/\[/, "\\[", s)
	gsub(/\]/, "\\]", s)
	gsub(/:/, "\\:", s)
	return s
}
# Prints the arguments of _arguments for the flags of words, one a line.
function arguments(words, indent, i, v, end) {
	for (i = 1; i <= nflags[words]; i++) {
		v = value[words, i]
		end = ""
		if (v ~ /^=/)
			end = ":value:(" substr(v, 2) ")"
		else if (v == "@profiles")
			end = ":profile:_" program "_words profiles"
		else if (v == "/")
			end = ":file:_files"
		else if (v == "?")
			end = ":value: "
		print indent "'--" flag[words, i] (v == "" ? "" : "=") "[" \
		    quoted(help[words, i]) "]" end "' \\"
		if (letter[words, i] != "")
			print indent "'-" letter[words, i] "[" \
			    quoted(help[words, i]) "]" end "' \\"
	}
}

END {
	print "#compdef " program
	print "# zsh completion for " program "; made by make, do not edit."
	if (length(people) > 0) {
		print "_" program "_words() {"
		print "\tlocal -a found profile"
		print "\tlocal -i i"
		print "\t# The names are those of the profile that the line says."
		print "\tfor ((i = 2; i < $#typed; i++)); do"
		print "\t\tcase $typed[i] in"
		print "\t\t-p|--profile) profile=(--profile \"${(Q)typed[i + 1]}\") ;;"
		print "\t\t-p=*|--profile=*) profile=(--profile \"${(Q)typed[i]#*=}\") ;;"
		print "\t\tesac"
		print "\tdone"
		print "\t# _arguments puts what compadd takes before the word."
		print "\tfound=(${(f)\"$(" program " $profile complete $@[-1] 2>/dev/null)\"})"
		print "\tcompadd \"${@[1,-2]}\" -a found"
		print "}"
	}
	print "_" program "() {"
	print "\tlocal context state state_descr line"
	print "\tlocal -A opt_args"
	print "\tlocal -a commands"
	print "\tlocal -a typed=(\"${words[@]}\")"
	print "\tlocal word"
	print "\tcommands=("
	n = split(firsts, first, " ")
	for (i = 1; i <= n; i++)
		print "\t\t'" first[i] ":" quoted(first[i] in summary ? \
		    summary[first[i]] : first[i] " " second[first[i]]) "'"
	print "\t)"
	print "\t_arguments -C -s \\"
	arguments("", "\t\t")
	arguments("-", "\t\t")
	print "\t\t'(-)1:command:->command' '(-)*::operand:->operand' && return"
	print "\tcase $state in"
	print "\tcommand) _describe -t commands command commands ;;"
	print "\toperand)"
	print "\t\tword=$line[1]"
	for (i = 1; i <= ncommands; i++)
		if (split(command[i], part, " ") == 2 && !two[part[1]]++)
			print "\t\t[[ $word == " part[1] " && CURRENT -gt 2 ]] && " \
			    "word=\"" part[1] " $words[2]\""
	print "\t\tcase $word in"
	for (i = 1; i <= ncommands; i++) {
		print "\t\t'" command[i] "')"
		print "\t\t\t_arguments -s \\"
		arguments(command[i], "\t\t\t\t")
		arguments("", "\t\t\t\t")
		if (second[command[i]] != "")
			print "\t\t\t\t'" (command[i] ~ / / ? 2 : 1) ":word:(" \
			    second[command[i]] ")' \\"
		if (command[i] in people)
			print "\t\t\t\t'1:name:_" program "_words names' \\"
		print "\t\t\t\t'*:operand: '"
		print "\t\t\t;;"
	}
	for (i = 1; i <= n; i++)
		if (!(first[i] in summary))
			print "\t\t" first[i] ") _values " first[i] " " \
			    second[first[i]] " ;;"
	print "\t\tesac\n\t\t;;"
	print "\tesac"
	print "}"
	print "_" program " \"$@\""
}
