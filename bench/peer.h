/* SPDX-License-Identifier: MIT */
/*
 * Another server that the fault carrier plays (server/relay/carrier_fault.h):
 * what it is to do, and what it has taken in, line by line as its log grows.
 * Each line must be the next of its lane: recipient p<i> has messages of one
 * sender only, with places that follow each other and ids that ascend.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uuid.h"

struct peer_lane {
	int64_t taken;
	int64_t place; /* of the last one */
	char id[UUID_TEXT_LEN + 1];
};

struct peer {
	char path[700];  /* of what it is to do */
	int log;         /* -1: not there yet */
	struct buf rest; /* of a line that has not ended */
	struct peer_lane *lanes;
	int n;
	bool ids_ascend;  /* one at a time is sent on each lane */
	int64_t taken;    /* in all */
	int64_t first_ns; /* when the first was seen, 0: none yet */
	int64_t last_ns;
	int64_t wrong; /* lines that are not the next of their lane */
	char first_wrong[200];
};

/* Server ${domain} with files in ${dir} and recipients p0 … p<${n} - 1>; what
 * it has by now does not count. */
void peer_open(struct peer *p, const char *dir, const char *domain, int n);
void peer_close(struct peer *p);

/* From now on it does ${wishes}: lines of a word and a number. */
void peer_does(const struct peer *p, const char *wishes);

/* Reads what has come. */
void peer_read(struct peer *p);

/* Reads on until it has ${n}, or nothing has come for ${patience_ns}. */
void peer_wait(struct peer *p, int64_t n, int64_t patience_ns);

/* Takes one line of its log, without its end. */
void peer_line(struct peer *p, const char *line, size_t len);

#endif
