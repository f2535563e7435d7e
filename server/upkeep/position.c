/* SPDX-License-Identifier: MIT */
/*
 * See position.h.  The file DATA/mark is three lines of text, for example:
 *
 *	twinbox mark 1
 *	epoch 0123456789abcdef0123456789abcdef
 *	number 4711
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upkeep/position.h"

#define NAME "mark"
#define NAME_NEW "mark.new"
#define TEXT_SIZE 128
#define HEAD "twinbox mark 1\nepoch "
#define MIDDLE "\nnumber "

enum position_relation
position_compare(const struct position *mark, const struct position *database)
{

	if (strcmp(mark->epoch, database->epoch) != 0)
		return (POSITION_OTHER_EPOCH);
	return (
	    database->number < mark->number ? POSITION_BEHIND : POSITION_FITS);
}

/* Skips ${want} at the beginning of ${*text}.  Returns false if the text begins
 * otherwise. */
static bool
skip(const char **text, const char *want)
{
	size_t n = strlen(want);

	if (strncmp(*text, want, n) != 0)
		return (false);
	*text += n;
	return (true);
}

static enum rc
parse(const char *text, struct position *ret, struct err *err)
{
	struct position mark;
	char *end;

	if (!skip(&text, HEAD) ||
	    strspn(text, "0123456789abcdef") != POSITION_EPOCH_LEN)
		return (err_set(err, RC_INVALID, "mark: not a mark of ours"));
	memcpy(mark.epoch, text, POSITION_EPOCH_LEN);
	mark.epoch[POSITION_EPOCH_LEN] = '\0';
	text += POSITION_EPOCH_LEN;
	if (!skip(&text, MIDDLE) || *text < '0' || *text > '9')
		return (err_set(err, RC_INVALID, "mark: it has no number"));
	errno = 0;
	mark.number = strtoll(text, &end, 10);
	if (errno != 0 || strcmp(end, "\n") != 0)
		return (err_set(err, RC_INVALID, "mark: a bad number"));
	*ret = mark;
	return (RC_OK);
}

enum rc
position_read(int dir_fd, struct position *ret, struct err *err)
{
	char text[TEXT_SIZE];
	ssize_t n;
	int fd;

	fd = openat(dir_fd, NAME, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return (RC_NOT_FOUND);
	if (fd < 0)
		return (err_set_sys(
		    err, rc_of_opening(errno), errno, "mark: cannot open it"));
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n < 0)
		return (err_set_sys(err, RC_IO, errno, "mark: cannot read it"));
	text[n] = '\0';
	return (parse(text, ret, err));
}

static enum rc
fail(const char *what, struct err *err)
{
	int sys = errno;

	return (
	    err_set_sys(err, sys == ENOSPC || sys == EDQUOT ? RC_FULL : RC_IO,
		sys, "mark: cannot %s it", what));
}

enum rc
position_write(int dir_fd, const struct position *mark, struct err *err)
{
	char text[TEXT_SIZE];
	bool written;
	int fd, n;

	n = snprintf(text, sizeof(text), HEAD "%s" MIDDLE "%" PRId64 "\n",
	    mark->epoch, mark->number);
	fd = openat(
	    dir_fd, NAME_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return (err_set_sys(
		    err, rc_of_opening(errno), errno, "mark: cannot make it"));
	errno = ENOSPC; /* a short write sets no errno: the disk is full */
	written = write(fd, text, (size_t)n) == n && fsync(fd) == 0;
	if (!written)
		(void)fail("write", err);
	(void)close(fd);
	if (!written)
		return (err->rc);
	if (renameat(dir_fd, NAME_NEW, dir_fd, NAME) != 0 || fsync(dir_fd) != 0)
		return (fail("rename", err));
	return (RC_OK);
}

enum rc
position_remove(int dir_fd, struct err *err)
{

	if (unlinkat(dir_fd, NAME, 0) != 0 && errno != ENOENT)
		return (fail("remove", err));
	return (fsync(dir_fd) == 0 ? RC_OK : fail("sync", err));
}
