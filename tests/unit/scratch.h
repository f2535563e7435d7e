/* SPDX-License-Identifier: MIT */
/*
 * A fresh folder for a database, for the unit tests that need a real one.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
	char dir[64];
	char path[80]; /* of the database in it */
	char url[96];
};

/* Makes the folder, or fails the test. */
void scratch_open(struct scratch *s);

/* Removes it with all that is in it. */
void scratch_close(struct scratch *s);

/* The bytes of file ${path} with ${tail} at its end; -1 without it. */
int64_t scratch_size(const char *path, const char *tail);

/* Whether both files have the same bytes; neither may be missing. */
bool scratch_same(const char *a, const char *b);

/* Copies a file; no source, no copy. */
void scratch_copy(const char *from, const char *to);

#endif
