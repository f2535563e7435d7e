/* SPDX-License-Identifier: MIT */
/*
 * A server that the test plays by hand.  It answers each request with the next
 * of the answers that the test has given, and records the requests.  Each
 * connection carries one request.
 */
#ifndef TESTS_PLAYED_SERVER_H
#define TESTS_PLAYED_SERVER_H

struct played;

/* Begins to listen, or fails the test. */
struct played *played_start(void);

/* Ends the server.  Fails the test if answers are left. */
void played_stop(struct played *played);

/* "http://127.0.0.1:PORT". */
const char *played_url(const struct played *played);

/* Answers the next request with ${status} and ${body}, in which ' stands for ".
 * A request for which no answer is left gets status 599. */
void played_say(struct played *played, int status, const char *body);

/* As played_say(), with the header lines ${headers}, each with its "\r\n". */
void played_say_more(
    struct played *played, int status, const char *headers, const char *body);

/* Answers the next request with the bytes ${raw}, then closes the
 * connection. */
void played_say_raw(struct played *played, const char *raw);

/* Returns the requests since the last call, valid until the next call.  A
 * request is a line "METHOD TARGET" and, if it has a body, a line with the
 * body. */
const char *played_asked(struct played *played);

/* Returns the head of the last request, with its empty line.  Valid as
 * played_asked(). */
const char *played_head(struct played *played);

#endif
