/* SPDX-License-Identifier: MIT */
/*
 * The users of a benchmark, u0, u1 …, and their tokens.  Tokens are read from a
 * file of lines "name token", which seed writes.  Users who are missing there
 * are registered and logged in, and added to the file for the next run.
 */
#ifndef BENCH_PEOPLE_H
#define BENCH_PEOPLE_H

#include <netinet/in.h>
#include <stdint.h>

struct person {
	char name[40];
	char token[200];
	char epoch[64];
	int64_t head;     /* of the inbox when last read */
	int64_t expected; /* the head that must be reached */
};

/* Returns users u${first} … u${first + n - 1}, which the caller frees with
 * mem_free().  ${path}, the file of tokens, may be NULL: then all are
 * registered, if they do not exist, and logged in. */
struct person *people_get(
    const struct sockaddr_in *to, const char *path, int first, int n);

/* Reads the head and the epoch of each inbox. */
void people_heads(const struct sockaddr_in *to, struct person *people, int n);

/* Polls until every head is at least the expected one, for at most
 * ${timeout_ns}.  Returns the number of events that are missing then. */
int64_t people_wait(const struct sockaddr_in *to, struct person *people, int n,
    int64_t timeout_ns);

#endif
