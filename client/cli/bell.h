/* SPDX-License-Identifier: MIT */
/*
 * Signals a message from another user to a person who looks elsewhere: by the
 * terminal's bell, and by OSC 9, which many terminals show as a notification.
 * Active only on request (--bell, TWINBOX_BELL=1) and only on a terminal,
 * without --json.
 */
#ifndef CLI_BELL_H
#define CLI_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct cli;

struct bell {
	bool on;
	int64_t next_ms; /* monotonic; silent until then */
};

/* Initializes ${bell} from the arguments and the environment of ${cli}. */
void bell_init(struct bell *bell, const struct cli *cli);

/* Rings the bell and sends the notification for ${message}, an event that was
 * shown, if it is a message from another user; at most once a second. */
void bell_ring(struct bell *bell, const json_t *message);

#endif
