/* SPDX-License-Identifier: MIT */
/*
 * The users of a bench, u0, u1 …, and their tokens: read from a file of lines
 * "name token" (seed writes it), and where that has too few, registered and
 * logged in, and written there for the next run.
 */
#ifndef BENCH_PEOPLE_H
#define BENCH_PEOPLE_H

#include <netinet/in.h>
#include <stdint.h>

struct person {
	char name[40];
	char token[200];
	char epoch[64];
	int64_t head;     /* of the inbox when last asked */
	int64_t expected; /* what the head must become */
};

/* Users u${first} … u${first + n - 1}; the caller frees with mem_free.
 * ${path} may be NULL. */
struct person *people_get(
    const struct sockaddr_in *to, const char *path, int first, int n);

/* Asks each inbox for its head and its epoch. */
void people_heads(const struct sockaddr_in *to, struct person *people, int n);

/* Asks until every head is at least what is expected, for at most
 * ${timeout_ns}; how many deliveries are still missing. */
int64_t people_wait(const struct sockaddr_in *to, struct person *people, int n,
    int64_t timeout_ns);

#endif
