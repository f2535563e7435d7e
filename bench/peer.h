/* SPDX-License-Identifier: MIT */
/*
 * Another server, for which the fault carrier stands in
 * (server/relay/carrier_fault.h): its instructions, and the messages in its
 * log, read line by line as the log grows.  Each line must be the next one of
 * its lane: recipient p<i> has messages of one sender only, with consecutive
 * places and, if ids_ascend, ascending ids.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uuid.h"

struct peer_lane {
	int64_t taken;
	int64_t place; /* of the last message */
	char id[UUID_TEXT_LEN + 1];
};

struct peer {
	char path[700];  /* of its instructions */
	int log;         /* -1: does not exist yet */
	struct buf rest; /* a line that is not complete yet */
	struct peer_lane *lanes;
	int n;
	bool ids_ascend;  /* each lane has one message in flight */
	int64_t taken;    /* during the whole run */
	int64_t first_ns; /* arrival of the first, 0: none yet */
	int64_t last_ns;
	int64_t wrong; /* lines that are not the next of their lane */
	char first_wrong[200];
};

/* Opens server ${domain} with its files in ${dir} and recipients p0 … p<${n} -
 * 1>. Messages that are in its log already do not count. */
void peer_open(struct peer *p, const char *dir, const char *domain, int n);
void peer_close(struct peer *p);

/* Sets the instructions ${wishes}: lines of a word and a number. */
void peer_does(const struct peer *p, const char *wishes);

/* Reads the new lines of the log. */
void peer_read(struct peer *p);

/* Reads until ${n} messages have arrived, or none has for ${patience_ns}. */
void peer_wait(struct peer *p, int64_t n, int64_t patience_ns);

/* Handles one line of the log, without its line end. */
void peer_line(struct peer *p, const char *line, size_t len);

#endif
