/* SPDX-License-Identifier: MIT */
/*
 * Sources of randomness.  Owns one buffer of kernel randomness per thread,
 * because a system call for each id would cost more than the id.  Promises that
 * no byte is given out twice: the buffer is wiped where bytes were taken.
 * Relies on the program never forking without exec, because a child would give
 * out the same buffer.
 */
#include "base/rnd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define POOL_SIZE 512

struct pool {
	unsigned char bytes[POOL_SIZE];
	size_t left; /* bytes[0 .. left) are still unused */
};

static _Thread_local struct pool pool;

static void
fill_from_kernel(unsigned char *p, size_t n)
{
	ssize_t got;

	while (n > 0) {
		got = getrandom(p, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			(void)fprintf(stderr, "getrandom: no randomness\n");
			abort();
		}
		p += got;
		n -= (size_t)got;
	}
}

static void
system_fill(struct rnd *rnd, void *p, size_t n)
{

	(void)rnd;
	if (n > POOL_SIZE / 4) {
		fill_from_kernel(p, n);
		return;
	}
	if (n > pool.left) {
		fill_from_kernel(pool.bytes, POOL_SIZE);
		pool.left = POOL_SIZE;
	}
	if (n == 0)
		return;
	pool.left -= n;
	memcpy(p, pool.bytes + pool.left, n);
	explicit_bzero(pool.bytes + pool.left, n);
}

struct rnd *
rnd_system(void)
{
	static struct rnd rnd = {system_fill};

	return (&rnd);
}

/* Rejects the lowest (2^64 mod ${bound}) numbers, so that each remainder is
 * equally likely. */
uint64_t
rnd_below(struct rnd *rnd, uint64_t bound)
{
	uint64_t least, n;
	uint8_t b[8];
	int i;

	least = (0 - bound) % bound;
	do {
		rnd_fill(rnd, b, sizeof(b));
		for (n = 0, i = 7; i >= 0; i--)
			n = n << 8 | b[i];
	} while (n < least);
	return (n % bound);
}

static uint64_t
rotl(uint64_t x, int k)
{

	return (x << k | x >> (64 - k));
}

/* xoshiro256** 1.0 of Blackman and Vigna. */
static uint64_t
seeded_next(uint64_t s[4])
{
	uint64_t result, t;

	result = rotl(s[1] * 5, 7) * 9;
	t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return (result);
}

static void
seeded_fill(struct rnd *rnd, void *p, size_t n)
{
	struct rnd_seeded *seeded = (void *)rnd;
	unsigned char *out = p;
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i % 8 == 0)
			word = seeded_next(seeded->s);
		out[i] = (unsigned char)(word & 0xff);
		word >>= 8;
	}
}

void
rnd_seeded_init(struct rnd_seeded *seeded, uint64_t seed)
{
	uint64_t z;
	int i;

	seeded->rnd.fill = seeded_fill;
	for (i = 0; i < 4; i++) { /* splitmix64: a state that is not zero */
		seed += UINT64_C(0x9e3779b97f4a7c15);
		z = seed;
		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		seeded->s[i] = z ^ z >> 31;
	}
}
