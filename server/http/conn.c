/* SPDX-License-Identifier: MIT */
/*
 * The functions that add a struct conn to the list of the front or of a loop,
 * remove it from that list, and free it.
 */
#include "base/mem.h"
#include "http/conn_internal.h"
#include "http/http_internal.h"

void
conn_list_add(struct conn_list *list, struct conn *conn)
{

	conn->next = NULL;
	conn->prev = list->tail;
	if (list->tail != NULL)
		list->tail->next = conn;
	else
		list->head = conn;
	list->tail = conn;
}

void
conn_list_remove(struct conn_list *list, struct conn *conn)
{

	if (conn->prev != NULL)
		conn->prev->next = conn->next;
	else
		list->head = conn->next;
	if (conn->next != NULL)
		conn->next->prev = conn->prev;
	else
		list->tail = conn->prev;
	conn->next = conn->prev = NULL;
}

void
conn_free(struct conn *conn)
{

	conn_limit_leave(&conn->http->conn_limit, conn);
	atomic_fetch_sub(&conn->http->connections, 1);
	metrics_add(conn->http->options.metrics, METRIC_HTTP_CONNECTIONS, -1);
	mem_free(conn);
}
