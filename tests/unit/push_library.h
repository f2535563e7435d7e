/* SPDX-License-Identifier: MIT */
/*
 * Stand-ins for the functions of libwebsockets that push calls.  A connection
 * is a socket pair: push reads one end as it reads any client.  A frame that
 * push writes is not sent but added to a text, one word per frame.
 *
 * The program that links this file defines the library's functions itself, so
 * the real library does nothing.
 */
#ifndef TESTS_PUSH_LIBRARY_H
#define TESTS_PUSH_LIBRARY_H

#include <sys/queue.h>

#include <libwebsockets.h>
#include <stdbool.h>
#include <stddef.h>

/* A connection, with the client's end of it. */
struct lws {
	TAILQ_ENTRY(lws) entry;
	int fd;       /* the server's end */
	int client;   /* the client's end; -1: closed */
	void *opaque; /* belongs to push */
	void *slot;   /* belongs to push; NULL: there was no memory */
	bool begun, ended;

	/* Set by tests. */
	bool full;    /* the socket is full */
	int takes;    /* writes until the socket is full; 0: no limit */
	bool fails;   /* lws_write() fails */
	bool mute;    /* the client sends no pongs during pass() */
	bool lingers; /* when it is killed, the library keeps it for now */

	bool wants; /* push asked for a callback when writable */
	int writes; /* calls of lws_write() */

	/*
	 * The frames that the client got, a word for each:
	 *	event=SEQ caught_up=SEQ welcome stalled reconnect pong
	 *	ok=ID sent=ID error:STATUS (error=ID:STATUS) typing=FROM
	 *	outbox=EVENT:TO
	 * and PING, PONG:PAYLOAD, CLOSE:CODE, and END when the connection is
	 * closed.
	 */
	char frames[16384];
	size_t len;
	char last[4096]; /* the last text frame */
};

/* The connection that was made last; NULL: none. */
struct lws *library_newest(void);

/* While ${starve}, new connections get no slot: their callbacks have none. */
void library_starve(bool starve);

/* Makes the callbacks that are due: new connections are established, and a
 * socket that is not full is writable. */
void library_run(void);

/* Calls ${each} for every connection that has not ended. */
void library_each(void (*each)(struct lws *wsi));

/* Frees the connections, all of which have ended. */
void library_forget(void);

#endif
