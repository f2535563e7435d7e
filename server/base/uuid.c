/* SPDX-License-Identifier: MIT */
/*
 * Makes, formats and parses UUIDs.  A version 7 id is 48 bits of milliseconds,
 * 18 bits of counter (the 12 of rand_a and the first 6 of rand_b) and 56 random
 * bits: RFC 9562 section 6.2, method 1.  Promises that the ids of one generator
 * increase strictly; relies on only one thread using each generator.
 */
#include "base/uuid.h"

#define COUNTER_BITS 18
#define MAX_MS ((UINT64_C(1) << 48) - 1)

void
uuid_gen_init(struct uuid_gen *gen, const struct clk *clk, struct rnd *rnd)
{

	gen->clk = clk;
	gen->rnd = rnd;
	gen->last_ms = 0;
	gen->counter = 0;
}

/* Returns a random start for the counter.  Its top bit is clear, so that at
 * least 131,072 ids fit into a millisecond before the generator must use the
 * next millisecond. */
static uint32_t
fresh_counter(struct rnd *rnd)
{
	uint8_t b[3];

	rnd_fill(rnd, b, sizeof(b));
	return (((uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2]) &
		((1U << (COUNTER_BITS - 1)) - 1));
}

struct uuid
uuid_gen_next(struct uuid_gen *gen)
{
	struct uuid u;
	int64_t now;
	int i;

	now = clk_wall_ms(gen->clk);
	if (now > 0 && (uint64_t)now > gen->last_ms) {
		gen->last_ms = (uint64_t)now & MAX_MS;
		gen->counter = fresh_counter(gen->rnd);
	} else if (++gen->counter >> COUNTER_BITS != 0) {
		gen->last_ms = (gen->last_ms + 1) & MAX_MS;
		gen->counter = fresh_counter(gen->rnd);
	}
	for (i = 0; i < 6; i++)
		u.b[i] = (uint8_t)(gen->last_ms >> (40 - 8 * i));
	u.b[6] = (uint8_t)(0x70 | gen->counter >> 14);
	u.b[7] = (uint8_t)(gen->counter >> 6);
	u.b[8] = (uint8_t)(0x80 | (gen->counter & 0x3f));
	rnd_fill(gen->rnd, u.b + 9, 7);
	return (u);
}

struct uuid
uuid_from_hash(const uint8_t hash[16])
{
	struct uuid u;

	memcpy(u.b, hash, sizeof(u.b));
	u.b[6] = (uint8_t)((u.b[6] & 0x0f) | 0x80);
	u.b[8] = (uint8_t)((u.b[8] & 0x3f) | 0x80);
	return (u);
}

void
uuid_format(const struct uuid *u, char ret[UUID_TEXT_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*ret++ = '-';
		*ret++ = hex[u->b[i] >> 4];
		*ret++ = hex[u->b[i] & 15];
	}
	*ret = '\0';
}

/* Returns the value of a hexadecimal digit, 16 for any other character. */
static unsigned
hex_value(char c)
{

	if (c >= '0' && c <= '9')
		return ((unsigned)(c - '0'));
	if (c >= 'a' && c <= 'f')
		return ((unsigned)(c - 'a') + 10);
	if (c >= 'A' && c <= 'F')
		return ((unsigned)(c - 'A') + 10);
	return (16);
}

bool
uuid_parse(const char *text, size_t len, struct uuid *ret)
{
	unsigned high, low;
	struct uuid u;
	int i;

	if (len != UUID_TEXT_LEN)
		return (false);
	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return (false);
		high = hex_value(*text++);
		low = hex_value(*text++);
		if ((high | low) > 15)
			return (false);
		u.b[i] = (uint8_t)(high << 4 | low);
	}
	*ret = u;
	return (true);
}
