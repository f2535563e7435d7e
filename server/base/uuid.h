/* SPDX-License-Identifier: MIT */
/*
 * UUIDs (RFC 9562).  Version 7 begins with the time, so that new rows are added
 * at one end of an index; version 8 is made from a hash.  The text is written
 * in lower case; upper case is read, too.
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

/* Makes version 7 ids.  Each id is greater than the one before, also within a
 * millisecond and when the clock goes back.  Thread: one owner. */
struct uuid_gen {
	const struct clk *clk;
	struct rnd *rnd;
	uint64_t last_ms;
	uint32_t counter; /* 18 bits after the time, RFC 9562 section 6.2 */
};

/* Initialises ${gen}, which keeps ${clk} and ${rnd}. */
void uuid_gen_init(
    struct uuid_gen *gen, const struct clk *clk, struct rnd *rnd);

/* Returns the next version 7 id. */
struct uuid uuid_gen_next(struct uuid_gen *gen);

/* Returns a version 8 id from the first 16 bytes of a hash. */
struct uuid uuid_from_hash(const uint8_t hash[16]);

/* Writes the 36 characters of ${u} and a NUL. */
void uuid_format(const struct uuid *u, char ret[UUID_TEXT_LEN + 1]);

/* Parses ${len} bytes at ${text}.  Returns false unless they are 8-4-4-4-12
 * hexadecimal digits. */
bool uuid_parse(const char *text, size_t len, struct uuid *ret);

/* Returns the version (7 for version 7). */
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
