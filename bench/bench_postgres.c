/* SPDX-License-Identifier: MIT */
/*
 * loadgen postgres-send: durable messages in PostgreSQL, as the smallest
 * program with an outbox would write them.  One prepared statement, which is
 * one transaction, writes a row of the message and a row of the outbox.  Each
 * connection has one statement in flight.  Its result means "on disk" if
 * synchronous_commit is on, which this program neither sets nor checks.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "bench.h"
#include "util.h"

#ifdef HAVE_POSTGRES
#include <libpq-fe.h>

#define PG_WAIT_NS (20 * NS_PER_S)

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS message (id uuid PRIMARY KEY,"
    " sender integer NOT NULL, recipient integer NOT NULL,"
    " body text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());"
    "CREATE TABLE IF NOT EXISTS outbox (seq bigserial PRIMARY KEY,"
    " message_id uuid NOT NULL REFERENCES message, recipient integer NOT NULL,"
    " state text NOT NULL DEFAULT 'pending')";
static const char statement[] =
    "WITH m AS (INSERT INTO message (id, sender, recipient, body)"
    " VALUES ($1, $2, $3, $4) RETURNING id, recipient)"
    " INSERT INTO outbox (message_id, recipient) SELECT id, recipient FROM m";

struct client {
	PGconn *conn;
	char sender[12], recipient[12];
	bool busy;
	int64_t started_ns;
};

struct pg_run {
	struct bench *b;
	struct client *clients;
	struct pollfd *fds;
	int n, busy;
	bool going, measuring;
	int64_t accepted; /* during the whole run */
	int64_t measured;
	struct hist latency;
};

static void
issue(struct pg_run *run, struct client *c)
{
	char id[UUID_TEXT_LEN + 1], body[BENCH_BODY_LEN + 1];
	const char *values[] = {id, c->sender, c->recipient, body};
	struct uuid u = uuid_gen_next(&run->b->ids);

	if (!run->going)
		return;
	c->started_ns = mono_ns();
	uuid_format(&u, id);
	letter_text(body, c->started_ns);
	if (PQsendQueryPrepared(c->conn, "send", 4, values, NULL, NULL, 0) != 1)
		bench_die("PostgreSQL: %s", PQerrorMessage(c->conn));
	c->busy = true;
	run->busy++;
}

static void
take_result(struct pg_run *run, struct client *c)
{
	PGresult *result = PQgetResult(c->conn);

	if (result == NULL) {
		c->busy = false;
		run->busy--;
		issue(run, c);
		return;
	}
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		bench_die("PostgreSQL: %s", PQresultErrorMessage(result));
	PQclear(result);
	run->accepted++;
	if (run->measuring) {
		run->measured++;
		hist_add(&run->latency, mono_ns() - c->started_ns);
	}
}

/* Reads the results that have arrived, and issues the next statement. */
static void
on_readable(struct pg_run *run, struct client *c)
{

	if (PQconsumeInput(c->conn) != 1)
		bench_die("PostgreSQL: %s", PQerrorMessage(c->conn));
	/* Read all results of the statement, until the next one is in
	 * flight. */
	while (c->busy && !PQisBusy(c->conn))
		take_result(run, c);
}

static void
run_until(struct pg_run *run, int64_t until_ns)
{
	int64_t now;

	while ((now = mono_ns()) < until_ns && run->busy > 0) {
		int ms = (int)((until_ns - now) / NS_PER_MS) + 1;

		if (poll(run->fds, (nfds_t)run->n, ms) <= 0)
			continue;
		for (int i = 0; i < run->n; i++)
			if (run->fds[i].revents != 0)
				on_readable(run, &run->clients[i]);
	}
}

static void
execute(PGconn *conn, const char *sql)
{
	PGresult *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		bench_die("PostgreSQL: %s", PQresultErrorMessage(result));
	PQclear(result);
}

static void
open_client(struct pg_run *run, int i)
{
	struct client *c = &run->clients[i];
	PGresult *result;

	c->conn = PQconnectdb(run->b->conninfo);
	if (PQstatus(c->conn) != CONNECTION_OK)
		bench_die("PostgreSQL: %s", PQerrorMessage(c->conn));
	if (i == 0) {
		execute(c->conn, "SET client_min_messages = warning");
		execute(c->conn, schema);
	}
	result = PQprepare(c->conn, "send", statement, 4, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		bench_die("PostgreSQL: %s", PQresultErrorMessage(result));
	PQclear(result);
	snprintf(c->sender, sizeof(c->sender), "%d", i);
	snprintf(c->recipient, sizeof(c->recipient), "%d", (i + 1) % run->n);
	run->fds[i].fd = PQsocket(c->conn);
	run->fds[i].events = POLLIN;
}

/* Returns the number of rows in the outbox. */
static int64_t
count_rows(struct pg_run *run)
{
	PGresult *result =
	    PQexec(run->clients[0].conn, "SELECT count(*) FROM outbox");
	int64_t n;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		bench_die("PostgreSQL: %s", PQresultErrorMessage(result));
	n = bench_number("count", PQgetvalue(result, 0, 0), 0);
	PQclear(result);
	return (n);
}

int
bench_postgres_send(struct bench *b)
{
	struct pg_run *run = bench_zalloc(1, sizeof(*run));
	struct proc_sample a, z;
	int64_t before, missing;
	double s;

	if (b->conninfo == NULL)
		bench_die("postgres-send needs --conninfo");
	run->b = b;
	run->n = b->connections;
	run->clients = bench_zalloc((size_t)run->n, sizeof(*run->clients));
	run->fds = bench_zalloc((size_t)run->n, sizeof(*run->fds));
	for (int i = 0; i < run->n; i++)
		open_client(run, i);
	before = count_rows(run);
	run->going = true;
	for (int i = 0; i < run->n; i++)
		issue(run, &run->clients[i]);
	run_until(run, mono_ns() + b->warmup_ns);
	proc_sample(b->pid, &a);
	run->measuring = true;
	run_until(run, a.at_ns + b->run_ns);
	proc_sample(b->pid, &z);
	run->measuring = run->going = false;
	run_until(run, mono_ns() + PG_WAIT_NS);
	missing = run->accepted - (count_rows(run) - before);

	s = (double)(z.at_ns - a.at_ns) / (double)NS_PER_S;
	report_begin("postgres-send");
	report_i64("connections", run->n);
	report_f64("rate", (double)run->measured / s);
	report_hist("latency", &run->latency);
	report_i64("missing", missing);
	report_proc(&a, &z, run->measured);
	report_end();
	for (int i = 0; i < run->n; i++)
		PQfinish(run->clients[i].conn);
	mem_free(run->clients);
	mem_free(run->fds);
	mem_free(run);
	return (missing == 0 ? 0 : 1);
}

#else

int
bench_postgres_send(struct bench *b)
{

	(void)b;
	bench_die("loadgen was built without libpq");
}

#endif
