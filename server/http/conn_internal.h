/* SPDX-License-Identifier: MIT */
/*
 * A connection, and the messages and events of the loop that it belongs to
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

/* The source of an event in a loop's epoll set. */
enum source_kind { SOURCE_MHD, SOURCE_MBOX, SOURCE_GONE, SOURCE_LEFTOVER };

struct source {
	enum source_kind kind;
};

enum conn_phase {
	CONN_RECEIVING, /* a request is arriving: absolute deadline */
	CONN_HANDLING,  /* the handler has it: no deadline here */
	CONN_SENDING,   /* the answer goes out: absolute deadline */
	CONN_IDLE       /* kept alive */
};

struct conn {
	struct loop_msg msg;
	struct http *http;
	struct loop *loop;
	struct conn *next, *prev; /* of the front, then of the loop */
	int fd;
	enum conn_phase phase;
	bool partial;        /* idle, but a part of a request has come */
	bool cut;            /* its socket has been shut down */
	bool counted;        /* by conn_limit */
	int64_t deadline_ms; /* monotonic */
	int64_t check_ms;    /* when to look at it next */
	int64_t idle_since_ms;
	uint64_t requests;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool believed; /* it is a proxy's: its headers name the client */
	char peer[NET_PEER_SIZE];
};

struct conn_list {
	struct conn *head, *tail;
};

/* Adds ${conn} at the end. */
void conn_list_add(struct conn_list *list, struct conn *conn);

/* Takes ${conn} out of ${list}. */
void conn_list_remove(struct conn_list *list, struct conn *conn);

/* One connection less, and ${conn} is freed. */
void conn_free(struct conn *conn);

#endif
