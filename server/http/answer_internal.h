/* SPDX-License-Identifier: MIT */
/*
 * How an answer reaches libmicrohttpd, or the socket where libmicrohttpd takes
 * no answer (answer.c).
 */
#ifndef HTTP_ANSWER_INTERNAL_H
#define HTTP_ANSWER_INTERNAL_H

#include <microhttpd.h>

#include "http/request_internal.h"

/* The body of the 503 that is sent when there is no memory for an answer,
 * without the newline at its end.  If answer_raw() writes the 503 directly to
 * the socket, it inserts the request id before the closing brace; libmicrohttpd
 * sends the body without the id. */
#define NO_MEMORY_PROBLEM                                                      \
	"{\"type\":\"/problems/busy\",\"title\":\"The server is busy\","       \
	"\"status\":503,\"code\":\"busy\",\"retry_after\":1,"                  \
	"\"detail\":\"out of memory\"}"

/* Hands ${req} back to its loop, which then resumes the connection if it is
 * suspended.  The caller has set the answer, the next piece of an answer, or
 * the result of the look-up of the request's sender.  A thread other than the
 * loop's must not use ${req} afterwards.  Thread: any. */
void answer_deliver(struct http_request *req);

/* Hands the answer of ${req} to libmicrohttpd.  Thread: the loop's. */
enum MHD_Result answer_queue(struct http_request *req);

/* Writes the answer of ${req} to the socket, past libmicrohttpd, for states in
 * which libmicrohttpd takes no answer.  Writes what the socket's buffer takes
 * without waiting, and drops the rest.  Without memory, writes a 503 instead.
 * Writes nothing of an answer in pieces, because its first piece would look
 * like the whole answer.  The caller ends the connection.  Thread: the loop's.
 */
void answer_raw(struct http_request *req);

/* Make the refusal that the caller has put into req->answer.refusal the answer
 * of ${req}.  answer_refuse_now() hands the answer to libmicrohttpd, and
 * returns the result of that; answer_refuse_raw() calls answer_raw(), for
 * states in which libmicrohttpd takes no answer.  Both call linger_start(), so
 * that a client that is still sending is less likely to lose the answer.
 * Thread: the loop's. */
enum MHD_Result answer_refuse_now(struct http_request *req);
void answer_refuse_raw(struct http_request *req);

/* Returns to the budget for answers the bytes that the answer of ${req} has
 * taken, if any. */
void answer_gone(struct http_request *req);

#endif
