/* SPDX-License-Identifier: MIT */
/*
 * The log of another server; see peer.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#include "peer.h"
#include "util.h"

#define POLL_NS NS_PER_MS
#define CHUNK 65536

static void
open_log(struct peer *p)
{
	char path[sizeof(p->path) + 8];

	if (p->log >= 0)
		return;
	snprintf(path, sizeof(path), "%s.log", p->path);
	p->log = open(path, O_RDONLY | O_CLOEXEC);
	if (p->log < 0 && errno != ENOENT)
		bench_die("%s: %s", path, strerror(errno));
}

void
peer_open(struct peer *p, const char *dir, const char *domain, int n)
{

	memset(p, 0, sizeof(*p));
	if ((size_t)snprintf(p->path, sizeof(p->path), "%s/%s", dir, domain) >=
	    sizeof(p->path))
		bench_die("%s: too long", dir);
	p->lanes = bench_zalloc((size_t)n, sizeof(*p->lanes));
	p->n = n;
	p->ids_ascend = true;
	buf_init(&p->rest, 2 * CHUNK);
	p->log = -1;
	open_log(p);
	if (p->log >= 0 && lseek(p->log, 0, SEEK_END) < 0)
		bench_die("%s.log: %s", p->path, strerror(errno));
}

void
peer_close(struct peer *p)
{

	if (p->log >= 0)
		close(p->log);
	buf_fini(&p->rest);
	mem_free(p->lanes);
}

void
peer_does(const struct peer *p, const char *wishes)
{
	char fresh[sizeof(p->path) + 8];
	FILE *f;

	snprintf(fresh, sizeof(fresh), "%s.new", p->path);
	if ((f = fopen(fresh, "we")) == NULL)
		bench_die("%s: %s", fresh, strerror(errno));
	fputs(wishes, f);
	if (fclose(f) != 0 || rename(fresh, p->path) != 0)
		bench_die("%s: %s", p->path, strerror(errno));
}

/* ---- lines ---- */

/* Reads a number at *at and moves *at behind it.  Returns -1 if there is
 * none. */
static int64_t
number(const char **at, const char *end)
{
	const char *p = *at;
	int64_t v = 0;

	for (; p < end && *p >= '0' && *p <= '9' && v < INT64_MAX / 100; p++)
		v = v * 10 + (*p - '0');
	if (p == *at)
		return (-1);
	*at = p;
	return (v);
}

static void
wrong(struct peer *p, const char *line, size_t len)
{

	if (p->wrong++ == 0)
		snprintf(p->first_wrong, sizeof(p->first_wrong), "%.*s",
		    (int)len, line);
}

/* A line is: ID p<i>@… SENDER PLACE ATTEMPT */
void
peer_line(struct peer *p, const char *line, size_t len)
{
	const char *end = line + len, *at = line + UUID_TEXT_LEN;
	struct peer_lane *lane;
	int64_t i, place;

	p->taken++;
	if (len < UUID_TEXT_LEN + 3 || at[0] != ' ' || at[1] != 'p') {
		wrong(p, line, len);
		return;
	}
	at += 2;
	i = number(&at, end);
	for (int spaces = 0; at < end && spaces < 2; at++)
		spaces += *at == ' ';
	place = number(&at, end);
	if (i < 0 || i >= p->n || place < 0) {
		wrong(p, line, len);
		return;
	}
	lane = &p->lanes[i];
	if ((lane->taken > 0 && place != lane->place + 1) ||
	    (p->ids_ascend && memcmp(lane->id, line, UUID_TEXT_LEN) >= 0))
		wrong(p, line, len);
	lane->taken++;
	lane->place = place;
	memcpy(lane->id, line, UUID_TEXT_LEN);
}

static void
take(struct peer *p, const char *data, size_t n)
{
	const char *end;

	buf_add(&p->rest, data, n);
	if (!buf_ok(&p->rest))
		bench_die("out of memory");
	data = p->rest.data;
	n = p->rest.len;
	while ((end = memchr(data, '\n', n)) != NULL) {
		peer_line(p, data, (size_t)(end - data));
		n -= (size_t)(end + 1 - data);
		data = end + 1;
	}
	memmove(p->rest.data, data, n);
	p->rest.len = n;
}

void
peer_read(struct peer *p)
{
	char chunk[CHUNK];
	int64_t before = p->taken;
	ssize_t n;

	open_log(p);
	if (p->log < 0)
		return;
	while ((n = read(p->log, chunk, sizeof(chunk))) > 0)
		take(p, chunk, (size_t)n);
	if (n < 0)
		bench_die("%s.log: %s", p->path, strerror(errno));
	if (p->taken == before)
		return;
	p->last_ns = mono_ns();
	if (p->first_ns == 0)
		p->first_ns = p->last_ns;
}

void
peer_wait(struct peer *p, int64_t n, int64_t patience_ns)
{
	static const struct timespec pause = {0, POLL_NS};
	int64_t seen = p->taken, since = mono_ns();

	for (peer_read(p); p->taken < n; peer_read(p)) {
		if (p->taken != seen) {
			seen = p->taken;
			since = mono_ns();
		}
		if (mono_ns() - since > patience_ns)
			return;
		nanosleep(&pause, NULL);
	}
}
