/* SPDX-License-Identifier: MIT */
/*
 * A sign that a message of another has come, for a person who looks elsewhere:
 * the terminal's bell, and OSC 9, which many terminals show as a notification.
 * Only where it is asked for (--bell, TWINBOX_BELL) and only on a terminal.
 */
#ifndef CLI_BELL_H
#define CLI_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct cli;

struct bell {
	bool on;
	int64_t next_ms; /* mono: it is silent until then */
};

/* As the arguments and the environment of ${cli} say. */
void bell_init(struct bell *bell, const struct cli *cli);

/* ${message} was shown: rings, if it is of another, and at most once a
 * second. */
void bell_ring(struct bell *bell, const json_t *message);

#endif
