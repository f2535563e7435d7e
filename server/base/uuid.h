/* SPDX-License-Identifier: MIT */
/*
 * UUIDs (RFC 9562).  Version 7 begins with the time, so that indexes on it
 * grow at one end; version 8 is made from a hash.  Text form is lower case;
 * upper case is read too.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clk.h"
#include "base/rnd.h"

#define UUID_TEXT_LEN 36

struct uuid {
	uint8_t b[16];
};

/* Makes version 7 ids; each id it makes is greater than the one before, also
 * within one millisecond and when the clock goes back.  Thread: one owner. */
struct uuid_gen {
	const struct clk *clk;
	struct rnd *rnd;
	uint64_t last_ms;
	uint32_t counter; /* 18 bits after the time, RFC 9562 section 6.2 */
};

/* Makes ${gen} ready; it keeps ${clk} and ${rnd}. */
void uuid_gen_init(
    struct uuid_gen *gen, const struct clk *clk, struct rnd *rnd);

/* The next version 7 id. */
struct uuid uuid_gen_next(struct uuid_gen *gen);

/* A version 8 id from the first 16 bytes of ${hash}. */
struct uuid uuid_from_hash(const uint8_t hash[16]);

/* Writes the 36 characters of ${u} and a NUL. */
void uuid_format(const struct uuid *u, char ret[UUID_TEXT_LEN + 1]);

/* Parses ${len} bytes at ${text}.  False unless it is 8-4-4-4-12 hex digits. */
bool uuid_parse(const char *text, size_t len, struct uuid *ret);

/* The version nibble (7 for v7). */
static inline int
uuid_version(const struct uuid *u)
{

	return (u->b[6] >> 4);
}

static inline bool
uuid_equal(const struct uuid *a, const struct uuid *b)
{

	return (memcmp(a->b, b->b, sizeof(a->b)) == 0);
}

#endif
