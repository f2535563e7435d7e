/* SPDX-License-Identifier: MIT */
/*
 * See scratch.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/folder.h"
#include "unit/scratch.h"

void
scratch_open(struct scratch *s)
{

	assert_true(folder_make("unit", s->dir, sizeof(s->dir)));
	(void)snprintf(s->path, sizeof(s->path), "%s/db", s->dir);
	(void)snprintf(s->url, sizeof(s->url), "sqlite:%s", s->path);
}

void
scratch_close(struct scratch *s)
{
	char path[400];
	struct dirent *e;
	DIR *dir;

	dir = opendir(s->dir);
	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		assert_int_equal(unlink(path), 0);
	}
	(void)closedir(dir);
	assert_int_equal(rmdir(s->dir), 0);
}

int64_t
scratch_size(const char *path, const char *tail)
{
	char name[200];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s%s", path, tail);
	return (stat(name, &st) == 0 ? (int64_t)st.st_size : -1);
}

/* Returns the whole file; the caller frees it. */
static char *
slurp(const char *path, size_t *ret_n)
{
	struct stat st;
	char *p;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (NULL);
	assert_int_equal(fstat(fd, &st), 0);
	*ret_n = (size_t)st.st_size;
	p = malloc(*ret_n + 1);
	assert_non_null(p);
	assert_int_equal(read(fd, p, *ret_n), st.st_size);
	(void)close(fd);
	return (p);
}

bool
scratch_same(const char *a, const char *b)
{
	size_t na, nb;
	char *pa, *pb;
	bool same;

	pa = slurp(a, &na);
	pb = slurp(b, &nb);
	assert_non_null(pa);
	assert_non_null(pb);
	same = na == nb && memcmp(pa, pb, na) == 0;
	free(pa);
	free(pb);
	return (same);
}

void
scratch_copy(const char *from, const char *to)
{
	size_t n;
	char *p;
	int fd;

	p = slurp(from, &n);
	if (p == NULL)
		return;
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), (ssize_t)n);
	(void)close(fd);
	free(p);
}
