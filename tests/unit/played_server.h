/* SPDX-License-Identifier: MIT */
/*
 * A server that a test plays by hand: it answers each request with the next of
 * the answers that the test has given, and keeps what it was asked.  Each
 * connection has one request.
 */
#ifndef TESTS_PLAYED_SERVER_H
#define TESTS_PLAYED_SERVER_H

struct played;

/* Begins to listen, or fails the test. */
struct played *played_start(void);

/* Ends it.  Fails the test if answers are left. */
void played_stop(struct played *played);

/* "http://127.0.0.1:PORT". */
const char *played_url(const struct played *played);

/* The next request is answered with ${status} and ${body}, in which ' stands
 * for ".  Without an answer the status is 599. */
void played_say(struct played *played, int status, const char *body);

/* As played_say(), with the header lines ${headers}, each with its "\r\n". */
void played_say_more(
    struct played *played, int status, const char *headers, const char *body);

/* The next request is answered with the bytes ${raw}, and closed. */
void played_say_raw(struct played *played, const char *raw);

/* What was asked since the last call: for each request a line "METHOD TARGET"
 * and, if it has a body, a line with that.  Valid until the next call. */
const char *played_asked(struct played *played);

/* The head of the last request, with its empty line.  As played_asked(). */
const char *played_head(struct played *played);

#endif
