/* SPDX-License-Identifier: MIT */
/*
 * The three disks of a test program.  See disks.h.
 */
#include <stdio.h>

#include "fault/disks.h"

struct plvfs *disk, *image, *second_image;

int
disks_setup(void **state)
{

	(void)state;
	disk = plvfs_new("disk");
	image = plvfs_new("image");
	second_image = plvfs_new("second");
	return (0);
}

int
disks_teardown(void **state)
{

	(void)state;
	plvfs_free(disk);
	plvfs_free(image);
	plvfs_free(second_image);
	return (0);
}

void
backlog_note(struct backlog *t, const char *bad, const char *when, size_t point,
    int seed)
{

	t->images++;
	if (bad == NULL)
		return;
	if (t->bad++ == 0)
		(void)snprintf(t->first, sizeof(t->first),
		    "crash point %zu%s, seed %d: %s", point, when, seed, bad);
}
