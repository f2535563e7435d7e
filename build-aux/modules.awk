# SPDX-License-Identifier: MIT
# Makes the picture of the modules from layers.txt: a line for each module, from
# the top, with its description and the modules that it stands on.  A module
# that is also reached through one of these is left out.
/^#/ {
	said = substr($0, 3)
	next
}
/:/ {
	name = $1
	sub(/:$/, "", name)
	order[++n] = name
	what[name] = said
	for (i = 2; i <= NF; i++) {
		direct[name, i - 1] = $i
		below[name, $i] = 1
	}
	ndirect[name] = NF - 1
	if (length(name) > wide)
		wide = length(name)
	if (length(said) > long)
		long = length(said)
}
END {
	# Finds the modules below each module, at any distance.  A module comes
	# after those below it.
	for (k = 1; k <= n; k++)
		for (i = 1; i <= ndirect[order[k]]; i++)
			for (j = 1; j <= n; j++)
				if (below[direct[order[k], i], order[j]])
					below[order[k], order[j]] = 1
	for (k = n; k >= 1; k--) {
		name = order[k]
		line = ""
		for (i = 1; i <= ndirect[name]; i++) {
			near = 1
			for (j = 1; j <= ndirect[name]; j++)
				if (below[direct[name, j], direct[name, i]])
					near = 0
			if (near)
				line = line " " direct[name, i]
		}
		text = sprintf("%-" wide "s  %-" long "s  %s", name, what[name],
		    line == "" ? "" : "on" line)
		sub(/ +$/, "", text)
		print text
	}
}
