/* SPDX-License-Identifier: MIT */
/*
 * Reads the file of settings with inih.  inih does not pass the line number of
 * a setting to its handler, and does not stop when the handler fails.  So this
 * file supplies the lines itself: it counts them, and reports the end of the
 * file to inih after a failure of the handler.
 */
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_internal.h"
#include "config/regular_file.h"

/* A hundred times the size of a file with all settings and their comments. */
#define CONFIG_FILE_MAX (1024 * 1024)

struct reading {
	const char *path;
	FILE *file;
	int line;
	enum rc (*each)(void *arg, const char *name, const char *value,
	    int line, struct err *err);
	void *arg;
	enum rc rc; /* the first error */
	struct err *err;
};

/* Skips the rest of a line that was longer than the buffer. */
static void
skip_line(FILE *file)
{
	int c;

	do {
		c = getc(file);
	} while (c != EOF && c != '\n');
}

/* Returns true if ${line} is a comment, which may have any length. */
static bool
is_comment(const char *line)
{

	line += strspn(line, " \t");
	return (*line == '#' || *line == ';');
}

/* Refuses the section whose name begins at ${name}. */
static void
refuse_section(struct reading *r, const char *name)
{
	size_t n = strcspn(name, "]\r\n");

	r->rc = err_set(r->err, RC_INVALID,
	    "%s:%d: there are no sections such as [%.*s] here; leave them out",
	    r->path, r->line, (int)(n < 40 ? n : 40), name);
}

/* The reader that inih calls: like fgets(), writes one line to ${text}, and
 * returns ${text}, or NULL at the end of the file or after an error (r->rc).
 * Removes blanks at the beginning of a line, because inih would read such a
 * line as the continuation of the one before.  A comment that does not fit into
 * ${size} bytes is cut off.  Any other line that does not fit sets r->rc to
 * RC_INVALID; so does a section, which inih would report only together with a
 * setting in it. */
static char *
next_line(char *text, int size, void *stream)
{
	struct reading *r = stream;
	size_t blanks, n;

	if (r->rc != RC_OK || fgets(text, size, r->file) == NULL)
		return (NULL);
	r->line++;
	n = strlen(text);
	if (n + 1 == (size_t)size && text[n - 1] != '\n') {
		skip_line(r->file);
		if (!is_comment(text)) {
			r->rc = err_set(r->err, RC_INVALID,
			    "%s:%d: the line is longer than %d characters; "
			    "use the flag or the environment for long lists",
			    r->path, r->line, size - 2);
			return (NULL);
		}
		/* End the comment that was cut: newer versions of inih would
		 * take the next line for a part of a line without a newline. */
		text[n - 1] = '\n';
	}
	blanks = strspn(text, " \t");
	memmove(text, text + blanks, n - blanks + 1);
	if (text[0] == '[') {
		refuse_section(r, text + 1);
		return (NULL);
	}
	return (text);
}

static int
take_line(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;

	(void)section;
	if (r->rc == RC_OK)
		r->rc = r->each(r->arg, name, value, r->line, r->err);
	return (r->rc == RC_OK);
}

/* Opens ${path} as *ret, which the caller closes.  Returns RC_INVALID for a
 * file of more than CONFIG_FILE_MAX bytes, which was probably named by mistake,
 * and for a path that is not a regular file; if the file cannot be opened,
 * rc_of_opening() of the errno, or RC_NO_MEMORY. */
static enum rc
open_settings(const char *path, FILE **ret, struct err *err)
{
	struct stat st;
	enum rc rc;
	int fd;

	rc = regular_file_open(path, &fd, err);
	if (rc != RC_OK && err->sys == 0)
		return (rc); /* the text already says what the path is */
	if (rc != RC_OK)
		return (err_set_sys(
		    err, rc, err->sys, "cannot read the settings in %s", path));
	if (fstat(fd, &st) == 0 && st.st_size > CONFIG_FILE_MAX)
		rc = err_set(err, RC_INVALID,
		    "%s is larger than %d KiB: a file of settings is not", path,
		    CONFIG_FILE_MAX / 1024);
	else if ((*ret = fdopen(fd, "r")) == NULL)
		rc = err_set(err, RC_NO_MEMORY, "%s: no memory", path);
	if (rc != RC_OK)
		(void)close(fd);
	return (rc);
}

enum rc
config_file_read(const char *path,
    enum rc (*each)(void *arg, const char *name, const char *value, int line,
	struct err *err),
    void *arg, struct err *err)
{
	struct reading r = {
	    .path = path,
	    .each = each,
	    .arg = arg,
	    .rc = RC_OK,
	    .err = err,
	};
	int bad, failed;
	enum rc rc;

	if ((rc = open_settings(path, &r.file, err)) != RC_OK)
		return (rc);
	bad = ini_parse_stream(next_line, &r, take_line, &r);
	failed = ferror(r.file);
	(void)fclose(r.file);
	if (r.rc != RC_OK)
		return (r.rc);
	if (failed)
		return (err_set(
		    err, RC_IO, "cannot read the settings in %s", path));
	if (bad > 0)
		return (err_set(err, RC_INVALID,
		    "%s:%d: the line is not \"name = value\"; put # before a "
		    "remark",
		    path, bad));
	if (bad < 0)
		return (err_set(err, RC_NO_MEMORY, "%s: no memory", path));
	return (RC_OK);
}
