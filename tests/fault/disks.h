/* SPDX-License-Identifier: MIT */
/*
 * The disks of a test program: one on which the test runs, one for the image
 * that a power cut leaves of it, and one for the image that a second power cut
 * leaves of that image.
 */
#ifndef FAULT_DISKS_H
#define FAULT_DISKS_H

#include "fault/plvfs.h"

extern struct plvfs *disk, *image, *second_image;

/* Fixtures for cmocka: make and free the disks, for all tests of the
 * program. */
int disks_setup(void **state);
int disks_teardown(void **state);

/* The findings of power cuts at many points, over several seeds. */
struct backlog {
	size_t points, images, again, bad, ahead;
	char first[600]; /* the first fault that was found */
};

/* Counts a checked image.  ${bad} is what is wrong with the image, or NULL if
 * it is right.  ${when} is printed after the number of the ${point}. */
void backlog_note(struct backlog *t, const char *bad, const char *when,
    size_t point, int seed);

#endif
