# SPDX-License-Identifier: MIT
# Generates C from SQL.  Standard input: the names of the SQL files.
#   -v backend=sqlite   the first backend owns the enum
#   -v backends=LIST    all of them, for the header
#   -v enum=sql.h       another backend: must declare what this header declares
#   -v events=event.h   X(EVENT_READ, 3, ...): the kinds of events
#   -v out=h            schema/sql.h: statements, parameters, columns
#   -v out=c            schema/sql_<backend>.c
# A file NNNN-name.sql is a migration and is embedded as a whole, with its
# comments.  Any other file holds statements:
#
#   -- row: user(user_id, name, admin)
#
#   -- name: user_by_name(name)
#   -- columns: as user
#   SELECT user_id, name, admin FROM users WHERE name = $name;
#
#   -- name: outbox_claim(lane_id, limit)
#   -- columns: id, mid
#   -- writer: FOR UPDATE
#   SELECT id, mid FROM outbox WHERE lane_id = $lane_id AND kind = EVENT_READ
#   LIMIT $limit
#
# A statement declares its parameters after its name and uses each of them as
# $name.  C code fills struct sql_outbox_claim {struct db_val lane_id, limit;}.
# "-- columns:" names the columns of its rows, in order, for an enum
# (COL_OUTBOX_CLAIM_ID and so on).  Statements whose rows are read by one
# function share a row (COL_USER_USER_ID), and may have more columns after it
# ("as user, created_at").  A list whose line ends with a comma continues in the
# next line.
# "-- writer:" is a clause that a driver appends for the writer; the last
# semicolon of such a statement is left out.  EVENT_* is replaced by its number.
# Other comment lines are left out.
#
# A statement in the folder "common" is for all backends.  A statement of the
# same name in a backend's own file, which comes before, replaces it.
#
# Refused are: a bad or duplicate name; a statement that is the same as the
# common one; SQL before the first name; a name without SQL; two statements
# under one name; a writer line or columns in another place, or twice; a
# parameter that is not declared, not used, or a number; a row that is not
# declared or not used; a kind of event that is not in event.h, or a number;
# migrations that are not numbered 1, 2, 3 ...; names, parameters or columns
# that differ from those of the header.

BEGIN {
	while (events != "" && (got = (getline s < events)) > 0) {
		if (s !~ /^[ \t]*X\(EVENT_[A-Z_]+, *[0-9]+,/)
			continue
		sub(/^[ \t]*X\(/, "", s)
		split(s, part, /, */)
		event[part[1]] = part[2]
	}
	if (got < 0) {
		file = events
		fail("cannot be read")
	}
}

function fail(text) {
	printf "embed-sql: %s:%d: %s\n", file, line, text > "/dev/stderr"
	failed = 1
	exit 1
}

function c_line(text) {
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/\?/, "\\?", text)
	gsub(/\t/, "\\t", text)
	return "\n    \"" text "\\n\""
}

# ---- lists ------------------------------------------------------------------

# Returns the rest of a comment line after its keyword, joined with its
# continuation lines.
function rest(s, more) {
	sub(/^[ \t]*--[ \t]*[a-z]+:[ \t]*/, "", s)
	while (s ~ /,$/) {
		more = ""
		got = (getline more < file)
		line++
		sub(/[ \t\r]+$/, "", more)
		if (got <= 0 || more !~ /^[ \t]*--[ \t]*[a-z]/)
			fail("a list ends with a comma")
		sub(/^[ \t]*--[ \t]*/, "", more)
		s = s " " more
	}
	return s
}

# Splits ${s}, names with commas between them, into each[1..n], and returns n.
# No name may be there twice.
function parse_list(s, what, i, n, had) {
	n = split(s, each, /[ \t]*,[ \t]*/)
	for (i = 1; i <= n; i++) {
		if (each[i] !~ /^[a-z][a-z0-9_]*$/)
			fail("bad " what " \"" each[i] "\"")
		if (each[i] in had)
			fail("the " what " " each[i] " is there twice")
		had[each[i]] = 1
	}
	if (n == 0)
		fail("an empty list")
	return n
}

function joined(n, i, s) {
	s = each[1]
	for (i = 2; i <= n; i++)
		s = s ", " each[i]
	return s
}

# Returns the text between the parentheses of "name(a, b)"; "" if there are
# none.
function between(s, at) {
	at = index(s, "(")
	if (at == 0)
		return ""
	if (s !~ /\)$/)
		fail("\")\" was expected at the end")
	return substr(s, at + 1, length(s) - at - 1)
}

# ---- statements -------------------------------------------------------------

function end_statement(i) {
	if (nstmt > 0 && stmt_text[nstmt] == "")
		fail("no SQL under the name " stmt_name[nstmt])
	for (i = 1; i <= nparam; i++)
		if (!param_used[i])
			fail("the parameter " param[i] " is not used")
	nparam = 0
	if (stmt_writer[nstmt] != "")
		sub(/;\\n"$/, "\\n\"", stmt_text[nstmt])
	if (taken != "" && stmt_text[nstmt] == own_text[taken] &&
	    stmt_writer[nstmt] == own_writer[taken])
		fail("the backend has the same statement " taken)
	if (taken != "")
		nstmt--
	else if (nstmt > 0) {
		own_text[stmt_name[nstmt]] = stmt_text[nstmt]
		own_writer[stmt_name[nstmt]] = stmt_writer[nstmt]
	}
	taken = ""
}

function writer_line(text) {
	if (!in_file || stmt_text[nstmt] != "" || stmt_writer[nstmt] != "")
		fail("a writer line belongs after a name, once")
	if (text !~ /^FOR UPDATE( OF [a-z]+)?( SKIP LOCKED| NOWAIT)?$/)
		fail("bad writer line \"" text "\"")
	stmt_writer[nstmt] = text
}

function columns_line(text) {
	if (!in_file || stmt_text[nstmt] != "" || stmt_row[nstmt] != "")
		fail("columns belong after a name, once")
	stmt_row[nstmt] = stmt_name[nstmt]
	if (text ~ /^as /) {
		stmt_row[nstmt] = text
		sub(/^as +/, "", stmt_row[nstmt])
		sub(/,.*/, "", stmt_row[nstmt])
		if (!sub(/^[^,]*, */, "", text))
			text = ""
	}
	stmt_columns[nstmt] = text == "" ? "" : \
	    joined(parse_list(text, "column"))
}

function row_line(text, name) {
	name = text
	sub(/\(.*/, "", name)
	if (name !~ /^[a-z][a-z0-9_]*$/)
		fail("bad row \"" name "\"")
	if (name in row_columns)
		fail("the row " name " is declared twice")
	row_columns[name] = joined(parse_list(between(text), "column"))
	row_file[name] = file
	row_line_of[name] = line
	row_name[++nrow] = name
}

function begin_statement(text, name) {
	end_statement()
	name = text
	sub(/\(.*/, "", name)
	if (name !~ /^[a-z][a-z0-9_]*$/)
		fail("bad name \"" name "\"")
	if ((common ? name in seen_common : name in seen))
		fail("the name " name " is taken by " \
		    (common ? seen_common[name] : seen[name]))
	if (common)
		seen_common[name] = file ":" line
	if (name in seen)
		taken = name
	else
		seen[name] = file ":" line
	stmt_name[++nstmt] = name
	stmt_file[nstmt] = file
	stmt_line[nstmt] = line
	stmt_text[nstmt] = stmt_writer[nstmt] = stmt_params[nstmt] = ""
	stmt_row[nstmt] = stmt_columns[nstmt] = ""
	declare_params(text)
	in_file = 1
	ended = 0
}

function declare_params(text, i) {
	delete param_number
	if (index(text, "(") == 0)
		return
	nparam = parse_list(between(text), "parameter")
	stmt_params[nstmt] = joined(nparam)
	for (i = 1; i <= nparam; i++) {
		param[i] = each[i]
		param_number[each[i]] = i
		param_used[i] = 0
	}
}

# Returns ${s} with numbers in place of its parameters and kinds of events.
function numbered(s, made, word) {
	if (s ~ /(^|[^a-z_])kind( +WHEN +| +(NOT +)?IN *[(] *| *[<>=]+ *)[0-9]/)
		fail("a kind of event is a number: say EVENT_*")
	made = ""
	while (match(s, /[$][A-Za-z0-9_]*|[A-Za-z0-9_]+/)) {
		word = substr(s, RSTART, RLENGTH)
		made = made substr(s, 1, RSTART - 1)
		s = substr(s, RSTART + RLENGTH)
		if (word ~ /^[$][0-9]/)
			fail("the parameter " word " is a number: name it")
		if (word ~ /^[$]/ && !(substr(word, 2) in param_number))
			fail("the parameter " word " is not declared")
		if (word ~ /^EVENT_/ && !(word in event))
			fail("there is no kind of event " word)
		if (word ~ /^[$]/) {
			word = param_number[substr(word, 2)]
			param_used[word] = 1
			word = "$" word
		} else if (word in event) {
			word = event[word]
		}
		made = made word
	}
	return made s
}

function read_migration(base, text, s) {
	if (base !~ /^[0-9][0-9][0-9][0-9]-[a-z0-9][a-z0-9-]*\.sql$/)
		fail("a migration is called NNNN-name.sql")
	if (substr(base, 1, 4) + 0 != nmig + 1)
		fail("migration " nmig + 1 " was expected here")
	text = ""
	while ((got = (getline s < file)) > 0) {
		line++
		if (s ~ /^[ \t]*--[ \t]*name:/)
			fail("a statement in a migration")
		text = text c_line(s)
	}
	if (text == "")
		fail("the migration is empty")
	nmig++
	mig_text[nmig] = text
	mig_name[nmig] = substr(base, 6, length(base) - 9)
}

function read_statements(s) {
	in_file = 0
	while ((got = (getline s < file)) > 0) {
		line++
		sub(/[ \t\r]+$/, "", s)
		if (s ~ /^[ \t]*--[ \t]*name:/) {
			begin_statement(rest(s))
		} else if (s ~ /^[ \t]*--[ \t]*columns:/) {
			columns_line(rest(s))
		} else if (s ~ /^[ \t]*--[ \t]*row:/) {
			row_line(rest(s))
		} else if (s ~ /^[ \t]*--[ \t]*writer:/) {
			writer_line(rest(s))
		} else if (s == "" || s ~ /^[ \t]*--/) {
			continue
		} else if (!in_file) {
			fail("SQL before the first \"-- name:\"")
		} else if (ended) {
			fail("a second statement under the name " \
			    stmt_name[nstmt])
		} else {
			stmt_text[nstmt] = stmt_text[nstmt] c_line(numbered(s))
			ended = s ~ /;$/
		}
	}
	if (!in_file)
		fail("no statement in this file")
	end_statement()
}

{
	file = $0
	line = 0
	common = file ~ /(^|\/)schema\/common\/[^\/]*$/
	base = file
	sub(/^.*\//, "", base)
	if (base ~ /^[0-9]/)
		read_migration(base)
	else
		read_statements()
	if (got < 0)
		fail("cannot be read")
	close(file)
}

# ---- what was read ----------------------------------------------------------

# A row that is used must be declared, and a declared row must be used.
function check_rows(i, used) {
	for (i = 1; i <= nstmt; i++) {
		file = stmt_file[i]
		line = stmt_line[i]
		if (!has_row(i))
			continue
		if (!(stmt_row[i] in row_columns))
			fail("the row " stmt_row[i] " is not declared")
		used[stmt_row[i]] = 1
	}
	for (i = 1; i <= nrow; i++) {
		file = row_file[row_name[i]]
		line = row_line_of[row_name[i]]
		if (!(row_name[i] in used))
			fail("the row " row_name[i] " is not used")
	}
}

# True if the columns of statement ${i} begin with those of a row.
function has_row(i) {
	return stmt_row[i] != "" && stmt_row[i] != stmt_name[i]
}

function all_columns(i) {
	if (!has_row(i))
		return stmt_columns[i]
	return row_columns[stmt_row[i]] \
	    (stmt_columns[i] == "" ? "" : ", " stmt_columns[i])
}

# Returns the declaration of statement ${i}:
# "(id, now): user (user_id, name), admin".
function declaration(i, s) {
	s = "(" stmt_params[i] ")"
	if (has_row(i))
		s = s ": " stmt_row[i] " (" row_columns[stmt_row[i]] ")"
	if (stmt_columns[i] != "")
		s = s (has_row(i) ? ", " : ": ") stmt_columns[i]
	return s
}

# Refuses names that the header's enum declares and this backend does not, or
# the other way round.
function compare_names(s, name, known, i, own) {
	file = enum
	line = 0
	for (i = 1; i <= nstmt; i++)
		own[stmt_name[i]] = declaration(i)
	while ((got = (getline s < enum)) > 0) {
		line++
		if (s !~ /^\tSQL_[A-Z0-9_]+, \/\* /)
			continue
		name = tolower(substr(s, 6, index(s, ",") - 6))
		known[name] = 1
		if (!(name in seen))
			fail(backend " has no statement " name)
		sub(/^[^(]*/, "", s)
		sub(/ \*\/$/, "", s)
		if (s != own[name])
			fail(backend " declares " name own[name] ", not " s)
	}
	if (got < 0)
		fail("cannot be read")
	for (i = 1; i <= nstmt; i++)
		if (!(stmt_name[i] in known))
			fail(backend " alone has a statement " stmt_name[i])
}

END {
	if (failed)
		exit 1
	check_rows()
	if (enum != "")
		compare_names()
	print "/* Made by build-aux/embed-sql.awk from schema/" backend \
	    "; do not edit. */"
	if (out == "h")
		write_header()
	else
		write_source()
}

function write_header(i, n, all) {
	print "#ifndef SCHEMA_SQL_H\n#define SCHEMA_SQL_H\n"
	print "#include \"db/db.h\"\n\nenum sql_stmt {"
	for (i = 1; i <= nstmt; i++)
		print "\tSQL_" toupper(stmt_name[i]) ", /* " declaration(i) " */"
	print "\tSQL_STMT_COUNT\n};\n"
	for (i = 1; i <= nstmt; i++)
		write_params(stmt_name[i], stmt_params[i])
	for (i = 1; i <= nrow; i++)
		write_columns(row_name[i], row_columns[row_name[i]], "")
	for (i = 1; i <= nstmt; i++)
		write_columns(stmt_name[i], stmt_columns[i], \
		    has_row(i) ? " = COLS_" toupper(stmt_row[i]) : "")
	print "\nstruct sql_shape {\n\tint nparams;"
	print "\tconst char *params, *columns; /* \"id, kind\" */\n};\n"
	print "extern const struct sql_shape sql_shapes[SQL_STMT_COUNT];"
	n = split(backends, all, " ")
	for (i = 1; i <= n; i++) {
		print "extern const struct sql_text sql_" all[i] \
		    "[SQL_STMT_COUNT + 1];"
		print "extern const struct sql_migration sql_" all[i] \
		    "_migrations[];"
		print "extern const int sql_" all[i] "_nmigrations;"
		print "extern const struct db_schema sql_" all[i] "_schema;"
	}
	print "\n#endif"
}

function write_params(name, params) {
	if (params == "")
		return
	print "struct sql_" name " {\n\tstruct db_val " params ";\n};"
	print "_Static_assert(sizeof(struct sql_" name ") == " \
	    split(params, each, ", ") " * sizeof(struct db_val), \"" name \
	    "\");"
}

# ${first}: the text behind the name of the first column, if its value is not 0.
function write_columns(name, columns, first, i, n) {
	if (columns == "")
		return
	n = split(columns, each, ", ")
	print "enum {"
	for (i = 1; i <= n; i++)
		print "\tCOL_" toupper(name "_" each[i]) \
		    (i == 1 ? first : "") ","
	print "\tCOLS_" toupper(name) "\n};"
}

function write_source(i) {
	print "#include \"db/db.h\"\n#include \"schema/sql.h\"\n"
	print "const struct sql_text sql_" backend "[SQL_STMT_COUNT + 1] = {"
	for (i = 1; i <= nstmt; i++)
		printf "    [SQL_%s] = {\"%s\",%s, %s},\n", \
		    toupper(stmt_name[i]), stmt_name[i], stmt_text[i], \
		    stmt_writer[i] == "" ? "NULL" : "\"" stmt_writer[i] "\""
	print "    [SQL_STMT_COUNT] = {NULL, NULL, NULL},\n};\n"
	if (enum == "")
		write_shapes()
	print "const struct sql_migration sql_" backend "_migrations[] = {"
	for (i = 1; i <= nmig; i++)
		printf "    {%d, \"%s\",%s},\n", i, mig_name[i], mig_text[i]
	print "    {0, NULL, NULL},\n};\n"
	print "const int sql_" backend "_nmigrations = " nmig + 0 ";\n"
	print "const struct db_schema sql_" backend "_schema = {"
	print "    .statements = sql_" backend ","
	print "    .nstatements = SQL_STMT_COUNT,"
	print "    .migrations = sql_" backend "_migrations,"
	print "    .nmigrations = " nmig + 0 ",\n};"
}

function write_shapes(i) {
	print "const struct sql_shape sql_shapes[SQL_STMT_COUNT] = {"
	for (i = 1; i <= nstmt; i++)
		printf "    [SQL_%s] = {%d, \"%s\", \"%s\"},\n", \
		    toupper(stmt_name[i]), split(stmt_params[i], each, ", "), \
		    stmt_params[i], all_columns(i)
	print "};\n"
}
