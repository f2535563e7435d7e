/* SPDX-License-Identifier: MIT */
/*
 * How an answer reaches libmicrohttpd, or the socket where libmicrohttpd takes
 * no answer (answer.c).
 */
#ifndef HTTP_ANSWER_INTERNAL_H
#define HTTP_ANSWER_INTERNAL_H

#include <microhttpd.h>

#include "http/request_internal.h"

/* The body of the 503 that is sent when there is no memory for an answer. */
#define NO_MEMORY_PROBLEM                                                      \
	"{\"type\":\"/problems/busy\",\"title\":\"The server is busy\","       \
	"\"status\":503,\"code\":\"busy\",\"retry_after\":1,"                  \
	"\"detail\":\"out of memory\"}"

/* Returns ${req} to its loop, which then resumes the connection if it is
 * suspended.  ${req} has an answer, the next piece of an answer, or the result
 * of the look-up of its sender.  Thread: any. */
void answer_deliver(struct http_request *req);

/* Hands the answer of ${req} to libmicrohttpd.  Thread: the loop's. */
enum MHD_Result answer_queue(struct http_request *req);

/* Writes the answer of ${req} to the socket, past libmicrohttpd, for states in
 * which libmicrohttpd takes no answer.  Writes what the socket's buffer takes
 * without waiting.  Writes nothing of an answer in pieces, because its first
 * piece would look like the whole answer.  The caller ends the connection.
 * Thread: the loop's. */
void answer_raw(struct http_request *req);

/* Make the refusal of ${req} its answer.  answer_refuse_now() hands the answer
 * to libmicrohttpd; answer_refuse_raw() writes it to the socket, for states in
 * which libmicrohttpd takes no answer.  Both go on reading from the socket for
 * a moment (linger_start()).  Thread: the loop's. */
enum MHD_Result answer_refuse_now(struct http_request *req);
void answer_refuse_raw(struct http_request *req);

/* Returns to the budget for answers the bytes that the answer of ${req} has
 * taken, if any. */
void answer_gone(struct http_request *req);

#endif
