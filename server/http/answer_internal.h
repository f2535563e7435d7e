/* SPDX-License-Identifier: MIT */
/*
 * How an answer reaches libmicrohttpd (answer.c).
 */
#ifndef HTTP_ANSWER_INTERNAL_H
#define HTTP_ANSWER_INTERNAL_H

#include <microhttpd.h>

#include "http/request_internal.h"

/* The body of every answer for which there is no memory. */
#define NO_MEMORY_PROBLEM                                                      \
	"{\"type\":\"/problems/busy\",\"title\":\"The server is busy\","       \
	"\"status\":503,\"code\":\"busy\",\"retry_after\":1,"                  \
	"\"detail\":\"out of memory\"}"

/* Brings ${req} back to its loop, which resumes it.  Thread: any. */
void answer_deliver(struct http_request *req);

/* Hands the answer to libmicrohttpd.  Thread: the loop's. */
enum MHD_Result answer_queue(struct http_request *req);

/* Writes the answer past libmicrohttpd, which cannot take it in this state,
 * as far as the socket's buffer goes.  The connection ends afterwards. */
void answer_raw(struct http_request *req);

/* Makes the refusal of ${req} its answer, and hands it to libmicrohttpd, or
 * writes it past libmicrohttpd where that takes no answer. */
enum MHD_Result answer_refuse_now(struct http_request *req);
void answer_refuse_raw(struct http_request *req);

/* Gives back what the answer has taken of the budget. */
void answer_gone(struct http_request *req);

#endif
