/* SPDX-License-Identifier: MIT */
/*
 * The limit of connections per client address, and the answer to connections
 * that are refused before libmicrohttpd gets them.
 *
 * An IPv6 address counts as its /64 network, because one person usually has a
 * whole /64.  A connection of a believed proxy is not counted (front.c).  A
 * socket that is handed to the WebSocket side is no longer counted here.
 */
#include <netinet/in.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

#include "base/htab.h"
#include "base/lock.h"
#include "base/rnd.h"
#include "http/conn_limit_internal.h"
#include "wire/wire.h"

struct limit_key {
	uint8_t address[16];
};

static struct limit_key
key_of(const struct conn *conn)
{
	const struct sockaddr_in6 *in6 = (const void *)&conn->addr;
	const struct sockaddr_in *in = (const void *)&conn->addr;
	struct limit_key key = {{0}};

	if (conn->addr.ss_family == AF_INET)
		memcpy(key.address + 12, &in->sin_addr, 4);
	else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(key.address + 12, &in6->sin6_addr.s6_addr[12], 4);
	else
		memcpy(key.address, &in6->sin6_addr, 8);
	return (key);
}

enum rc
conn_limit_init(struct conn_limit *limit, const struct http_options *options)
{

	limit->per_address = options->address_limit;
	uuid_gen_init(&limit->ids, options->clk, rnd_system());
	limit->counts = htab_new(sizeof(struct limit_key));
	if (limit->counts == NULL)
		return (RC_NO_MEMORY);
	lock_init(&limit->lock, LOCK_HTTP);
	return (RC_OK);
}

void
conn_limit_fini(struct conn_limit *limit)
{

	if (limit->counts == NULL)
		return;
	htab_free(limit->counts);
	lock_fini(&limit->lock);
}

/* The table stores each count itself where a pointer would be. */
static uintptr_t
count_get(const struct conn_limit *limit, const struct limit_key *key)
{

	return ((uintptr_t)htab_find(limit->counts, key));
}

bool
conn_limit_enter(struct conn_limit *limit, struct conn *conn)
{
	struct limit_key key;
	uintptr_t n;

	if (limit->per_address == 0)
		return (true);
	key = key_of(conn);
	lock_take(&limit->lock);
	n = count_get(limit, &key);
	if (n < limit->per_address &&
	    htab_set(limit->counts, &key, (void *)(n + 1)) == RC_OK)
		conn->counted = true;
	lock_drop(&limit->lock);
	return (conn->counted);
}

void
conn_limit_leave(struct conn_limit *limit, struct conn *conn)
{
	struct limit_key key;
	uintptr_t n;

	if (!conn->counted)
		return;
	key = key_of(conn);
	conn->counted = false;
	lock_take(&limit->lock);
	n = count_get(limit, &key);
	/* htab_set() needs no memory for a key that is in the table, so it
	 * cannot fail here. */
	if (n <= 1)
		(void)htab_remove(limit->counts, &key);
	else
		(void)!htab_set(limit->counts, &key, (void *)(n - 1));
	lock_drop(&limit->lock);
}

bool
conn_limit_refuse(
    struct conn_limit *limit, int fd, enum problem problem, const char *detail)
{
	struct buf body = BUF_INIT, text = BUF_INIT;
	struct refusal r = REFUSAL_INIT;
	char id[UUID_TEXT_LEN + 1];
	struct uuid uuid = uuid_gen_next(&limit->ids);
	char sink[4096];
	ssize_t n = -1;

	uuid_format(&uuid, id);
	refusal_set(&r, problem, "", "%s", detail);
	wire_problem(&body, &r, NULL, id);
	buf_addc(&body, '\n');
	buf_addf(&text,
	    "HTTP/1.1 %d %s\r\nConnection: close\r\n"
	    "Content-Type: application/problem+json\r\nX-Request-Id: %s\r\n",
	    problem_status(problem),
	    MHD_get_reason_phrase_for((unsigned)problem_status(problem)), id);
	buf_adds(&text, "X-Content-Type-Options: nosniff\r\n"
			"Cache-Control: no-store\r\n");
	if (r.retry_after_s > 0)
		buf_addf(&text, "Retry-After: %d\r\n", r.retry_after_s);
	buf_addf(&text, "Content-Length: %zu\r\n\r\n", body.len);
	buf_add(&text, body.data, body.len);
	/* Read up to 4096 bytes of what has arrived: if close() finds unread
	 * bytes, the kernel sends a reset, and the client may lose the answer.
	 */
	(void)!recv(fd, sink, sizeof(sink), MSG_DONTWAIT);
	if (buf_ok(&body) && buf_ok(&text))
		n = send(fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_fini(&body);
	buf_fini(&text);
	return (n > 0);
}
