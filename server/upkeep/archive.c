/* SPDX-License-Identifier: MIT */
/*
 * See archive.h.  Each line of a file ends with a newline.  Bytes after the
 * last newline are a part of a line: a crash or an error, such as a full disk,
 * has interrupted an archive_write(), which therefore did not report them as
 * written.  The next archive_write() to the file cuts them off before it
 * appends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clk.h"
#include "base/mem.h"
#include "upkeep/archive.h"

#define NAME_SIZE 40
/* The last newline is searched for backwards, in pieces of this size. */
#define TAIL_SIZE 4096

struct archive {
	char *dir;
	int dir_fd;
	struct buf lines;
};

/* Returns advice about the errno value ${sys} for the end of an error text; "":
 * no advice.  A systemd service may write only below its state directory; in
 * another folder it fails with EROFS, EACCES or EPERM. */
static const char *
cure(int sys)
{

	switch (sys) {
	case EROFS:
		return (" (as a service: name it in ReadWritePaths, by "
			"systemctl edit twinboxd)");
	case EACCES:
	case EPERM:
		return (" (the server's user must own it; as a service: "
			"name it in ReadWritePaths, by systemctl edit "
			"twinboxd)");
	default:
		return ("");
	}
}

static enum rc
fail(const char *what, const char *place, struct err *err)
{
	int sys = errno;

	return (
	    err_set_sys(err, sys == ENOSPC || sys == EDQUOT ? RC_FULL : RC_IO,
		sys, "archive: cannot %s %s%s", what, place, cure(sys)));
}

static enum rc
fail_open(const char *what, const char *dir, struct err *err)
{
	int sys = errno;

	/* For a systemd service, folders outside its own directories are
	 * read-only.  So EROFS counts as missing rights (RC_DENIED), not as a
	 * failing disk (RC_IO). */
	return (err_set_sys(err, sys == EROFS ? RC_DENIED : rc_of_opening(sys),
	    sys, "archive: cannot %s %s%s", what, dir, cure(sys)));
}

enum rc
archive_open(const char *dir, struct archive **ret, struct err *err)
{
	struct archive *a;

	enum rc rc;

	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return (fail_open("make", dir, err));
	if ((a = mem_zalloc(1, sizeof(*a))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "archive"));
	a->lines = (struct buf)BUF_INIT;
	a->dir = mem_strdup(dir);
	a->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dir == NULL)
		rc = err_set(err, RC_NO_MEMORY, "archive");
	else if (a->dir_fd < 0 || faccessat(a->dir_fd, ".", W_OK, 0) != 0)
		rc = fail_open("write in", dir, err);
	else
		rc = RC_OK;
	if (rc == RC_OK)
		*ret = a;
	else
		archive_close(a);
	return (rc);
}

void
archive_close(struct archive *a)
{

	if (a == NULL)
		return;
	if (a->dir_fd >= 0)
		(void)close(a->dir_fd);
	buf_fini(&a->lines);
	mem_free(a->dir);
	mem_free(a);
}

enum rc
archive_add(struct archive *a, const char *json, size_t n, struct err *err)
{

	buf_add(&a->lines, json, n);
	buf_addc(&a->lines, '\n');
	return (
	    buf_ok(&a->lines) ? RC_OK : err_set(err, RC_NO_MEMORY, "archive"));
}

void
archive_forget(struct archive *a)
{

	buf_fini(&a->lines);
	a->lines = (struct buf)BUF_INIT;
}

/* Returns where the last complete line of ${fd} ends; -1: read error. */
static off_t
whole_end(int fd, off_t size)
{
	char tail[TAIL_SIZE];
	ssize_t n, i;
	off_t from;

	for (; size > 0; size = from) {
		from = size > TAIL_SIZE ? size - TAIL_SIZE : 0;
		n = pread(fd, tail, (size_t)(size - from), from);
		if (n != (ssize_t)(size - from))
			return (-1);
		for (i = n - 1; i >= 0; i--)
			if (tail[i] == '\n')
				return (from + i + 1);
	}
	return (0);
}

/* Opens the file ${name} in the archive's folder, and creates it, durably, if
 * it does not exist.  Cuts off an incomplete last line, and sets *ret_end to
 * the length of the file after that.  Returns a descriptor, which the caller
 * closes, or -1 on failure, with the reason in errno. */
static int
open_day(struct archive *a, const char *name, off_t *ret_end)
{
	struct stat st;
	bool is_new;
	int fd;

	is_new = faccessat(a->dir_fd, name, F_OK, 0) != 0;
	fd = openat(a->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return (-1);
	if ((is_new && fsync(a->dir_fd) != 0) || fstat(fd, &st) != 0 ||
	    (*ret_end = whole_end(fd, st.st_size)) < 0 ||
	    (*ret_end != st.st_size && ftruncate(fd, *ret_end) != 0)) {
		(void)close(fd);
		return (-1);
	}
	return (fd);
}

static bool
write_all(int fd, const struct buf *b, off_t at)
{
	size_t done;
	ssize_t n;

	for (done = 0; done < b->len; done += (size_t)n) {
		n = pwrite(fd, b->data + done, b->len - done, at + (off_t)done);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return (false);
	}
	return (true);
}

enum rc
archive_write(struct archive *a, int64_t now_ms, struct err *err)
{
	char name[NAME_SIZE], day[CLK_RFC3339_SIZE], what[NAME_SIZE + 16];
	enum rc rc = RC_OK;
	off_t end = 0;
	int fd;

	if (a->lines.len == 0)
		return (RC_OK);
	clk_format_rfc3339(now_ms, day);
	(void)snprintf(name, sizeof(name), "twinbox-%.10s.jsonl", day);
	(void)snprintf(what, sizeof(what), "write %s in", name);
	if ((fd = open_day(a, name, &end)) < 0)
		return (fail(what, a->dir, err));
	if (!write_all(fd, &a->lines, end) || fdatasync(fd) != 0) {
		rc = fail(what, a->dir, err);
		/* If this fails, the next write cuts off the incomplete
		 * line. */
		(void)!ftruncate(fd, end);
	}
	(void)close(fd);
	if (rc == RC_OK)
		archive_forget(a);
	return (rc);
}
