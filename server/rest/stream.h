/* SPDX-License-Identifier: MIT */
/*
 * An answer that goes on: events are written as they come (Server-Sent Events).
 * A stream is a long-poll that begins anew whenever a piece of its answer has
 * gone out.  So it waits, is woken and is revoked like a long-poll.  For a
 * client that does not read, the server holds one piece, not all events since.
 *
 * Life of a stream
 *  1. stream_admit() counts it among the streams of its device.
 *  2. stream_start() queries once.  Faults until then are refused like those of
 *     any request.
 *  3. The module passes the first piece to stream_piece(): the answer begins.
 *  4. When a piece has gone out, the stream queries and waits, for at most
 *     timing.rest_stream_quiet_ms.  Then poll.answer gives the next piece.
 *     Without an event the piece is a comment: it keeps proxies from ending the
 *     stream, and shows whether the client is still there.
 *  5. The stream ends with a last piece, from poll.answer, or from end() if the
 *     token was revoked, the server stops, or a query failed.  If the client
 *     leaves while a piece is being sent, there is no last piece.
 */
#ifndef REST_STREAM_H
#define REST_STREAM_H

#include "rest/poll.h"

#define STREAM_TYPE "text/event-stream"

enum stream_end {
	STREAM_REVOKED,  /* the token was revoked */
	STREAM_STOPPING, /* the server is stopping */
	STREAM_BUSY,     /* a query found no room; a later one may succeed */
	STREAM_AWAY,     /* the database did not answer a query */
	STREAM_FAILED    /* a query failed; the error has been logged */
};

struct stream {
	/* First.  The caller sets waiter.user_id and after, query, answer. */
	struct poll poll;
	bool begun; /* the first piece has been given */

	/* Gives the last piece.  Thread: any. */
	void (*end)(struct stream *s, enum stream_end why);
};

/* Returns true if the header Accept, which may be NULL, names the type of
 * streams with a weight above 0.  A wildcard does not ask for a stream. */
bool stream_is_wanted(const char *accept);

/* Counts ${s}, whose call has been made, until its request is freed.  Returns
 * false if its device has LIMIT_STREAMS_PER_DEVICE streams or there is no
 * memory; the request is then answered. */
bool stream_admit(struct stream *s);

/* Queries once, then calls poll.answer.  Thread: the one that handles the
 * request. */
void stream_start(struct stream *s);

/* Sends the first piece, which must not be the last, or the next piece, and
 * takes its content.  Call it exactly once in each call of poll.answer and of
 * end, as the last step: after it the request may be freed.  Thread: any. */
void stream_piece(struct stream *s, enum http_piece kind, struct buf *piece);

#endif
