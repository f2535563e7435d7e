# SPDX-License-Identifier: MIT
# Makes the picture of threads and queues from threads.txt, in the order of the
# threads of thr.h: threads.awk SERVER/base/thr.h threads.txt.  The values of
# limits are read from the sources (-v server=DIR).  If the data are wrong,
# prints the errors instead, each after "threads: ", and fails.
function refuse(text) {
	print "threads: " text
	errors++
}

function trim(s) {
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

# Returns the value of macro ${name}, from the files that define limits.
function value_of(name, file, files, n, i, path, line, found) {
	n = split(file " base/limits.h main/start.c", files, " ")
	for (i = 1; i <= n && found == ""; i++) {
		path = server "/" files[i]
		while ((getline line <path) > 0)
			if (line ~ "^#define[ \t]+" name "[ \t]") {
				sub("^#define[ \t]+" name "[ \t]+", "", line)
				sub(/[ \t]*\/\*.*/, "", line)
				gsub(/^\(|\)$/, "", line)
				found = trim(line)
			}
		close(path)
	}
	if (found == "")
		refuse("nothing says what " name " is")
	return found
}

FNR == 1 {
	nfile++
}

nfile == 1 {
	if (match($0, /X\(THR_[A-Z0-9]+, "[a-z0-9]+"/)) {
		s = substr($0, RSTART, RLENGTH)
		sub(/.*, "/, "", s)
		sub(/"$/, "", s)
		order[++nthreads] = s
		is_thread[s] = 1
	}
	next
}

/^#/ || /^$/ {
	next
}

/^[a-z0-9]+:/ {
	now = $1
	sub(/:$/, "", now)
	owns[now] = trim(substr($0, length(now) + 2))
	if (!(now in is_thread))
		refuse("there is no thread " now)
	next
}

{
	n = split($0, f, "|")
	if (n != 5) {
		refuse("a queue of " now " has " n " columns")
		next
	}
	for (i = 1; i <= 5; i++)
		f[i] = trim(f[i])
	n = split(f[2], from, " ")
	for (i = 1; i <= n; i++)
		if (!(from[i] in is_thread) && from[i] != "system" &&
		    from[i] != "database" && from[i] != "all")
			refuse("there is no thread " from[i])
	if (f[3] ~ /^[A-Z_]+$/)
		f[3] = f[3] " = " value_of(f[3], f[5])
	files[f[5]] = 1
	queues[now] = queues[now] sprintf("  <- %s\n       %s" \
	    " [%s] else %s (%s)\n", f[2], f[1], f[3], f[4], f[5])
}

END {
	for (i = 1; i <= nthreads; i++)
		if (!(order[i] in owns))
			refuse("thread " order[i] " has no line in threads.txt")
	command = "grep -lE \"(mbox|fairq)_new\\\\(\" " server "/*/*.c 2>/dev/null"
	while ((command | getline line) > 0) {
		sub("^" server "/", "", line)
		if (line !~ /^base\// && !(line in files))
			refuse(line " makes a queue that is not in threads.txt")
	}
	close(command)
	if (nthreads == 0)
		refuse("thr.h lists no thread")
	if (errors > 0)
		exit 1
	for (i = 1; i <= nthreads; i++)
		printf "%-7s  %s\n%s", order[i], owns[order[i]], queues[order[i]]
}
