/* SPDX-License-Identifier: MIT */
/*
 * Draws a user's attention to a message from another user, by the terminal's
 * bell and by the escape sequence OSC 9, which many terminals show as a
 * notification.  Active only on request (--bell or TWINBOX_BELL=1), only if
 * standard output is a terminal, and not with --json.
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

/* If ${bell} is on and ${message}, an event that was shown, is a message from
 * another user, rings the bell and sends the notification, or turns ${bell} off
 * if the output fails.  Within one second after the last ring, does nothing and
 * does not make up for it later. */
void bell_ring(struct bell *bell, const json_t *message);

#endif
