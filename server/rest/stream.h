/* SPDX-License-Identifier: MIT */
/*
 * An answer that goes on: events are written as they come (Server-Sent Events).
 * A stream is a long-poll that begins anew whenever a piece of its answer has
 * gone out.  So it waits, is woken and is revoked like a long-poll.  For a
 * client that does not read, the server holds one piece, not all events since.
 *
 * Life of a stream
 *  1. stream_admit() counts it among the streams of its device.
 *  2. stream_start() queries once.  After a fault up to here, the request is
 *     answered with a refusal or an error, like any request.
 *  3. The module's poll.answer passes the first piece to stream_piece(): the
 *     answer begins.
 *  4. When a piece has gone out, the stream queries.  If there is no new event,
 *     it waits for one, for at most timing.rest_stream_quiet_ms.  Then
 *     poll.answer gives the next piece.  Without an event the piece is a line
 *     that clients ignore (a comment): it keeps proxies from ending the stream,
 *     and shows whether the client is still there.
 *  5. The stream ends with a last piece: from end() if the token was revoked, a
 *     query failed, or the server is stopping when a piece has gone out; from
 *     poll.answer if the module ends the stream (when push drains, say).  There
 *     is no last piece if the client leaves while a piece is being sent, or
 *     without memory for the last piece (HTTP_PIECE_CUT).
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

/* Returns true if ${accept}, the header Accept or NULL, names text/event-stream
 * with a weight above 0.  A wildcard does not ask for a stream. */
bool stream_is_wanted(const char *accept);

/* Counts ${s} among the open streams of its device until its request is freed.
 * The caller has made ${s} with call_new().  Returns false if the device has
 * LIMIT_STREAMS_PER_DEVICE streams already or there is no memory; this function
 * has then answered the request. */
bool stream_admit(struct stream *s);

/* Queries once, then calls poll.answer.  Thread: the one that handles the
 * request. */
void stream_start(struct stream *s);

/* Sends the first piece (${kind} must be HTTP_PIECE_MORE), or the next one, and
 * takes its content.  Each run of poll.answer or end calls stream_piece()
 * exactly once, as its last step, because the request may be freed after that.
 * Only before the first piece may poll.answer refuse the request instead.
 * Thread: any. */
void stream_piece(struct stream *s, enum http_piece kind, struct buf *piece);

#endif
