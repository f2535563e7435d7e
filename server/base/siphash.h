/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 of Aumasson and Bernstein: a short keyed hash.  Nobody can choose
 * inputs that collide without knowing the key.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the hash of ${n} bytes at ${p} under ${key}.  Thread: any. */
uint64_t siphash24(const uint8_t key[16], const void *p, size_t n);

#endif
