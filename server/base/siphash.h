/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 of Aumasson and Bernstein: a keyed hash of 64 bits.  Without the
 * key nobody can choose inputs that collide.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the hash of ${n} bytes at ${p} under ${key}.  Thread: any. */
uint64_t siphash24(const uint8_t key[16], const void *p, size_t n);

#endif
