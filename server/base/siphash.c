/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4.  Owns nothing.  Promises the published results on machines of
 * either byte order.
 */
#include "base/siphash.h"

static inline uint64_t
rotl(uint64_t x, int k)
{

	return (x << k | x >> (64 - k));
}

/* Compilers turn this into one load on a little-endian machine. */
static inline uint64_t
load64(const uint8_t *p)
{

	return ((uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
		(uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
		(uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
		(uint64_t)p[7] << 56);
}

static inline void
rounds(uint64_t v[4], int n)
{

	for (; n > 0; n--) {
		v[0] += v[1];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[0] = rotl(v[0], 32);
		v[2] += v[3];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[2] = rotl(v[2], 32);
	}
}

uint64_t
siphash24(const uint8_t key[16], const void *p, size_t n)
{
	uint64_t k0, k1, m, v[4];
	const uint8_t *s = p;
	size_t left;

	k0 = load64(key);
	k1 = load64(key + 8);
	v[0] = k0 ^ UINT64_C(0x736f6d6570736575);
	v[1] = k1 ^ UINT64_C(0x646f72616e646f6d);
	v[2] = k0 ^ UINT64_C(0x6c7967656e657261);
	v[3] = k1 ^ UINT64_C(0x7465646279746573);
	for (left = n; left >= 8; left -= 8, s += 8) {
		m = load64(s);
		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	m = (uint64_t)n << 56;
	while (left > 0) {
		left--;
		m |= (uint64_t)s[left] << (8 * left);
	}
	v[3] ^= m;
	rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	rounds(v, 4);
	return (v[0] ^ v[1] ^ v[2] ^ v[3]);
}
