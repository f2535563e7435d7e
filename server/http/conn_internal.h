/* SPDX-License-Identifier: MIT */
/*
 * A connection, and the kinds of messages and events that a loop receives
 * (conn.c).
 */
#ifndef HTTP_CONN_INTERNAL_H
#define HTTP_CONN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/socket.h>

#include "base/mbox.h"
#include "net/forwarded.h"

struct http;
struct loop;

enum msg_kind { MSG_CONN, MSG_ANSWER, MSG_TIMER, MSG_WAKE };

struct loop_msg {
	struct mbox_node node;
	enum msg_kind kind;
};

/* Where an event of a loop's epoll set comes from. */
enum source_kind { SOURCE_MHD, SOURCE_MBOX, SOURCE_GONE, SOURCE_LEFTOVER };

struct source {
	enum source_kind kind;
};

enum conn_phase {
	CONN_RECEIVING, /* a request is arriving; has an absolute deadline */
	CONN_HANDLING,  /* the handler has the request; no deadline here */
	CONN_SENDING,   /* the answer is going out; has an absolute deadline */
	CONN_IDLE       /* kept alive between two requests */
};

struct conn {
	struct loop_msg msg;
	struct http *http;
	struct loop *loop;
	/* In the list of the front, then in that of the loop. */
	struct conn *next, *prev;
	int fd;
	enum conn_phase phase;
	bool partial;        /* idle, but part of a request has arrived */
	bool cut;            /* the socket has been shut down */
	bool counted;        /* conn_limit has counted it */
	int64_t deadline_ms; /* monotonic */
	int64_t check_ms;    /* monotonic; next conn_check() */
	int64_t idle_since_ms;
	uint64_t requests;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool believed; /* a believed proxy's: its headers name the client */
	char peer[NET_PEER_SIZE];
};

struct conn_list {
	struct conn *head, *tail;
};

/* Appends ${conn} to ${list}. */
void conn_list_add(struct conn_list *list, struct conn *conn);

/* Removes ${conn} from ${list}. */
void conn_list_remove(struct conn_list *list, struct conn *conn);

/* Frees ${conn}, which must not be in a list, and removes it from the number of
 * connections and from the count of its client's address.  Does not close the
 * socket, which libmicrohttpd, the front or the WebSocket side owns.  Thread:
 * any. */
void conn_free(struct conn *conn);

#endif
