/* SPDX-License-Identifier: MIT */
/*
 * The parts that all commands of the load generator share: their options, the
 * messages that they send, and their reports.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uuid.h"

#include "hist.h"
#include "proc.h"

/* Length of a message's text in bytes, for all figures. */
#define BENCH_BODY_LEN 200

/* The most --url options, one for each node. */
#define BENCH_NODES 16

struct bench {
	/* options */
	struct sockaddr_in nodes[BENCH_NODES]; /* of one deployment */
	int nnodes;
	const char *tokens;   /* file, or NULL */
	const char *conninfo; /* of PostgreSQL, or NULL */
	int pid;              /* of the server; 0: no figures of the server */
	int first_user;
	int users;
	int connections;
	int pairs;
	int sockets;
	int instances; /* sessions of each token */
	int rate;
	int reads; /* polls of inboxes a second, beside circles */
	int rounds;
	int id_version;   /* of message ids: UUID version 7 or 4 */
	int64_t messages; /* 0: send until the time is over */
	int64_t run_ns;
	int64_t warmup_ns;
	int64_t hold_ns;
	bool http;
	const char *domain; /* of the recipients; NULL: this server */
	const char *faults; /* directory of the fault carrier */
	bool outage;    /* the recipients' server is away until all is sent */
	int latency_ms; /* of the recipients' server */

	struct uuid_gen ids;
};

/* Returns the node for turn ${i}: nodes take turns. */
static inline const struct sockaddr_in *
bench_node(const struct bench *b, int i)
{

	return (&b->nodes[i % b->nnodes]);
}

/* The commands.  Each prints one JSON object and returns the exit code. */
int bench_send(struct bench *b);
int bench_e2e(struct bench *b);
int bench_latency(struct bench *b);
int bench_idle(struct bench *b);
int bench_fill(struct bench *b);
int bench_flow(struct bench *b);
int bench_redis_send(struct bench *b);
int bench_redis_flow(struct bench *b);
int bench_redis_circle(struct bench *b);
int bench_redis_latency(struct bench *b);
int bench_postgres_send(struct bench *b);

/* ---- letters ---- */

/* A request or frame that is built once.  Before each send only its id and the
 * first 16 characters of its text change, which are the time of sending in
 * hex. */
struct letter {
	struct buf text;
	size_t id_at;
	size_t stamp_at;
};

/* Writes the text of a message: ${stamp} in hex, then prose. */
void letter_text(char ret[BENCH_BODY_LEN + 1], int64_t stamp);

/* Builds POST /v1/messages with ${token} to user ${to}. */
void letter_http(struct letter *l, const char *token, const char *to);

/* Builds a send frame to user ${to}. */
void letter_ws(struct letter *l, const char *to);

/* Appends the JSON object of a message to user ${to}, with a new id. */
void letter_item(struct bench *b, struct buf *text, const char *to);

/* Sets a new id and the time ${stamp_ns}. */
void letter_renew(struct bench *b, struct letter *l, int64_t stamp_ns);

/* Returns the current id, UUID_TEXT_LEN characters without a NUL. */
static inline const char *
letter_id(const struct letter *l)
{

	return (l->text.data + l->id_at);
}

/* Reads the time of sending in ns from the text of a message event.  Returns
 * false if there is none. */
bool letter_stamp(const char *event, size_t n, int64_t *ret_ns);

/* ---- reports ---- */

/* Begins the report with {"bench": ${name}}. */
void report_begin(const char *name);
void report_i64(const char *name, int64_t v);
void report_f64(const char *name, double v);
void report_text(const char *name, const char *v);

/* Reports ${name}_p50_us, ${name}_p99_us and ${name}_max_us. */
void report_hist(const char *name, const struct hist *h);

/* Reports the processor shares (1 is one processor) of the load generator and,
 * if it was sampled, of the server between the samples ${a} and ${z}.  If
 * ${messages} were sent in that time (0: none), also reports the bytes that the
 * server wrote to disk for each. */
void report_proc(
    const struct proc_sample *a, const struct proc_sample *z, int64_t messages);
void report_end(void);

#endif
