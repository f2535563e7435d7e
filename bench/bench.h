/* SPDX-License-Identifier: MIT */
/*
 * What the commands of the load generator share: their options, the letters
 * that they send, and how they report.
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

/* Text of a message, as the targets are given. */
#define BENCH_BODY_LEN 200

/* --url may be given so often. */
#define BENCH_NODES 16

struct bench {
	/* options */
	struct sockaddr_in nodes[BENCH_NODES]; /* of one deployment */
	int nnodes;
	const char *tokens;   /* file, or NULL */
	const char *conninfo; /* of PostgreSQL, or NULL */
	int pid;              /* of the server; 0: its figures are left out */
	int first_user;
	int users;
	int connections;
	int pairs;
	int sockets;
	int instances; /* sessions of one token */
	int rate;
	int rounds;
	int id_version;   /* of messages: a UUID of version 7 or 4 */
	int64_t messages; /* 0: until the time has passed */
	int64_t run_ns;
	int64_t warmup_ns;
	int64_t hold_ns;
	bool http;
	const char *domain; /* of the recipients; NULL: they are here */
	const char *faults; /* the fault carrier's directory */
	bool outage;        /* they cannot be reached until all is sent */
	int latency_ms;     /* of their server */

	struct uuid_gen ids;
};

/* The node that turn ${i} falls on. */
static inline const struct sockaddr_in *
bench_node(const struct bench *b, int i)
{

	return (&b->nodes[i % b->nnodes]);
}

/* The commands.  Each prints one JSON object and returns its exit code. */
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

/* A request or frame that is made once; only its id and the first 16
 * characters of its text, a time in hex, change. */
struct letter {
	struct buf text;
	size_t id_at;
	size_t stamp_at;
};

/* The text of a message: ${stamp} in hex, then prose. */
void letter_text(char ret[BENCH_BODY_LEN + 1], int64_t stamp);

/* POST /v1/messages with ${token} to user ${to}. */
void letter_http(struct letter *l, const char *token, const char *to);

/* A send frame to user ${to}. */
void letter_ws(struct letter *l, const char *to);

/* Appends a message's JSON object, with a new id, to user ${to}. */
void letter_item(struct bench *b, struct buf *text, const char *to);

/* Gives it a new id and the time ${stamp_ns}. */
void letter_renew(struct bench *b, struct letter *l, int64_t stamp_ns);

/* The id that it has, UUID_TEXT_LEN characters. */
static inline const char *
letter_id(const struct letter *l)
{

	return (l->text.data + l->id_at);
}

/* The stamp of a message event, from its text. */
bool letter_stamp(const char *event, size_t n, int64_t *ret_ns);

/* ---- reports ---- */

/* Begins the object with {"bench": ${name}}. */
void report_begin(const char *name);
void report_i64(const char *name, int64_t v);
void report_f64(const char *name, double v);
void report_text(const char *name, const char *v);

/* ${name}_p50_us, ${name}_p99_us and ${name}_max_us. */
void report_hist(const char *name, const struct hist *h);

/* Processor shares (1 = one processor) and disk writes between two samples;
 * ${messages} of that time, for bytes a message. */
void report_proc(
    const struct proc_sample *a, const struct proc_sample *z, int64_t messages);
void report_end(void);

#endif
