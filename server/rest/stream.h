/* SPDX-License-Identifier: MIT */
/*
 * An answer that goes on: events are written as they come (Server-Sent Events).
 * A stream is a long-poll that begins anew whenever a piece of its answer has
 * gone out.  So it waits, is woken and is revoked as one, and a client that
 * does not read makes the server hold one piece, not what has happened since.
 *
 * Life of a stream
 *  1. stream_admit() counts it among those of its device.
 *  2. stream_start() reads once.  What is wrong until then is refused as any
 *     request.
 *  3. The module gives the first piece by stream_piece(): the answer begins.
 *  4. When a piece has gone out, the stream queries and waits, for as long as
 *     timing.rest_stream_quiet_ms at most, and poll.answer gives the next
 *     piece: a comment where there is nothing, so that proxies do not give the
 *     stream up, and a client that has vanished is found.
 *  5. It ends with a last piece: poll.answer gives it, or end() where the token
 *     was revoked, the server stops, or a query failed.
 */
#ifndef REST_STREAM_H
#define REST_STREAM_H

#include "rest/poll.h"

#define STREAM_TYPE "text/event-stream"

enum stream_end {
	STREAM_REVOKED,  /* the token */
	STREAM_STOPPING, /* the server */
	STREAM_BUSY,     /* a query found no room; later one may */
	STREAM_AWAY,     /* the database, from which a query had no answer */
	STREAM_FAILED    /* a query; the error has been logged */
};

struct stream {
	struct poll poll; /* first; waiter.user_id and after, query, answer */
	bool begun;       /* the head of the answer is known */

	/* Gives the last piece.  Thread: any. */
	void (*end)(struct stream *s, enum stream_end why);
};

/* Whether a header Accept (may be NULL) asks for a stream: it names the type,
 * and not with a weight of 0.  A wildcard does not ask for one. */
bool stream_is_wanted(const char *accept);

/* Counts ${s}, whose call is made, until its request is freed.  False: its
 * device has LIMIT_STREAMS_PER_DEVICE already, or there is no memory, and the
 * request is answered. */
bool stream_admit(struct stream *s);

/* Queries once, then calls poll.answer.  Thread: the one that handles the
 * request. */
void stream_start(struct stream *s);

/* Gives the first piece, which is not the last, or the next one; takes its
 * content.  Exactly once for each call of poll.answer and of end, and last in
 * it: after it the request may be gone.  Thread: any. */
void stream_piece(struct stream *s, enum http_piece kind, struct buf *piece);

#endif
