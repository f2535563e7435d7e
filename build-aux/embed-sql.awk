# SPDX-License-Identifier: MIT
# Makes C of SQL.  Standard input: the names of the SQL files.
#   -v backend=sqlite   the first backend owns the enum
#   -v backends=LIST    all of them, for the header
#   -v enum=sql.h       another backend: must have the names of this header
#   -v out=h            schema/sql.h: enum sql_stmt and what is defined in .c
#   -v out=c            schema/sql_<backend>.c
# A file NNNN-name.sql is a migration, taken whole.  Any other file holds
# statements, each after a line "-- name: message_insert"; comment lines are
# left out.  A line "-- writer: FOR UPDATE" after the name says what a driver
# adds for the writer; such a statement is given without its last semicolon.
# A statement of a folder "common" is for all backends; one with its name in a
# backend's own file, which comes before, takes its place.
# Refused: a bad or double name, a statement that is the same as the common one, SQL before the first name, a name without SQL,
# two statements under a name, a writer line elsewhere or two of them,
# migrations that are not 1, 2, 3 ..., and other names than the header has.

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

function end_statement() {
	if (nstmt > 0 && stmt_text[nstmt] == "")
		fail("no SQL under the name " stmt_name[nstmt])
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

function begin_statement(name) {
	end_statement()
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
	stmt_text[nstmt] = stmt_writer[nstmt] = ""
	in_file = 1
	ended = 0
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
			sub(/^[ \t]*--[ \t]*name:[ \t]*/, "", s)
			begin_statement(s)
		} else if (s ~ /^[ \t]*--[ \t]*writer:/) {
			sub(/^[ \t]*--[ \t]*writer:[ \t]*/, "", s)
			writer_line(s)
		} else if (s == "" || s ~ /^[ \t]*--/) {
			continue
		} else if (!in_file) {
			fail("SQL before the first \"-- name:\"")
		} else if (ended) {
			fail("a second statement under the name " \
			    stmt_name[nstmt])
		} else {
			stmt_text[nstmt] = stmt_text[nstmt] c_line(s)
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

# The names that the header's enum has and this backend has not, or the other
# way round.
function compare_names(s, name, known, i) {
	file = enum
	while ((got = (getline s < enum)) > 0) {
		line++
		if (s !~ /^\tSQL_[A-Z0-9_]+,$/)
			continue
		name = tolower(substr(s, 6, length(s) - 6))
		known[name] = 1
		if (!(name in seen))
			fail(backend " has no statement " name)
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
	line = 0
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
		print "\tSQL_" toupper(stmt_name[i]) ","
	print "\tSQL_STMT_COUNT\n};\n"
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

function write_source(i) {
	print "#include \"db/db.h\"\n#include \"schema/sql.h\"\n"
	print "const struct sql_text sql_" backend "[SQL_STMT_COUNT + 1] = {"
	for (i = 1; i <= nstmt; i++)
		printf "    [SQL_%s] = {\"%s\",%s, %s},\n", \
		    toupper(stmt_name[i]), stmt_name[i], stmt_text[i], \
		    stmt_writer[i] == "" ? "NULL" : "\"" stmt_writer[i] "\""
	print "    [SQL_STMT_COUNT] = {NULL, NULL, NULL},\n};\n"
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
