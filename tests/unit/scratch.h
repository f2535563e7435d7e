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
	char path[80]; /* of the database in the folder */
	char url[96];
};

/* Makes the folder, or fails the test. */
void scratch_open(struct scratch *s);

/* Removes the folder with its content. */
void scratch_close(struct scratch *s);

/* Returns the size in bytes of the file whose name is ${path} and ${tail}, or
 * -1 if there is none. */
int64_t scratch_size(const char *path, const char *tail);

/* Returns whether both files have the same bytes.  Both must exist. */
bool scratch_same(const char *a, const char *b);

/* Copies a file.  Without a source it makes no copy. */
void scratch_copy(const char *from, const char *to);

#endif
