/* SPDX-License-Identifier: MIT */
/*
 * The disks of a test program: one on which it runs, one for what a power cut
 * leaves of it, and one for what a second cut leaves of that.
 */
#ifndef FAULT_DISKS_H
#define FAULT_DISKS_H

#include "fault/plvfs.h"

extern struct plvfs *disk, *image, *second_image;

/* cmocka: makes them, and frees them, for all tests of the program. */
int disks_setup(void **state);
int disks_teardown(void **state);

/* What power cuts at many points left, over several seeds. */
struct backlog {
	size_t points, images, again, bad, ahead;
	char first[600]; /* what was wrong first */
};

/* An image that was looked at; ${bad}: what is wrong with it, NULL: nothing;
 * ${when} follows the number of the ${point}. */
void backlog_note(struct backlog *t, const char *bad, const char *when,
    size_t point, int seed);

#endif
