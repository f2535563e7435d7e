/* SPDX-License-Identifier: MIT */
/*
 * Connections to PostgreSQL, and the settings that every connection gets.
 *
 * Promises: on each new connection the settings that make a commit durable are
 * read; a server with fsync or full_page_writes off is refused (RC_INVALID),
 * and synchronous_commit=off is set to on in the session.  The error for a url
 * that libpq cannot parse may quote the url; a url with a password is refused
 * earlier, by config_check_url().
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "db/db_postgres_internal.h"

/* The oldest version that the statements have been tested on (15). */
#define SERVER_LEAST 150000

/* Settings of libpq, each of which is used if the url does not set it.  Because
 * of the first five (in seconds, but tcp_user_timeout in milliseconds and
 * keepalives_count a number), libpq notices within about ten seconds that a
 * server has disappeared.  The last one refuses a standby; a reader whose
 * db_options.lineage is NULL connects without it. */
static const struct {
	const char *name, *value;
} defaults[] = {
    {"connect_timeout", "5"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "2"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
    {"target_session_attrs", "read-write"},
};

/* Room for the settings of the url, the defaults, and the final NULL. */
#define SETTINGS_MAX 64

#define SQLSTATE_SIZE 6

static const char *
mode_name(const struct db_postgres *p)
{

	return (p->db.mode == DB_WRITER ? "twinbox writer" : "twinbox reader");
}

/* Fills the arrays for PQconnectdbParams(), each of which ends with NULL: first
 * the settings of the url (${options}; the texts are borrowed), then the
 * defaults for those that the url does not set, last client_encoding and
 * application_name, which override the url. */
static void
list_settings(const struct db_postgres *p, const PQconninfoOption *options,
    const char *names[SETTINGS_MAX], const char *values[SETTINGS_MAX])
{
	size_t i, k, n = 0, nurl;

	for (; options->keyword != NULL && n < SETTINGS_MAX / 2; options++) {
		if (options->val == NULL)
			continue;
		names[n] = options->keyword;
		values[n++] = options->val;
	}
	nurl = n;
	for (i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
		for (k = 0; k < nurl; k++)
			if (strcmp(names[k], defaults[i].name) == 0)
				break;
		/* A reader that follows no lineage may read from a standby. */
		if (k < nurl ||
		    (p->db.mode != DB_WRITER && p->db.lineage == NULL &&
			strcmp(defaults[i].name, "target_session_attrs") == 0))
			continue;
		names[n] = defaults[i].name;
		values[n++] = defaults[i].value;
	}
	names[n] = "client_encoding";
	values[n++] = "UTF8";
	names[n] = "application_name";
	values[n++] = mode_name(p);
	names[n] = values[n] = NULL;
}

/* libpq calls this for each notice of the server; after configure() has set
 * client_min_messages, the server sends only warnings.  Sets ${p}->warned: a
 * commit during which this happens returns RC_UNCONFIRMED.  For example, an
 * administrator has canceled the wait of the commit for a standby. */
static void
note_warning(void *arg, const PGresult *result)
{
	struct db_postgres *p = arg;

	(void)result;
	p->warned = true;
}

/* ---- why a connection was refused ---- */

/* How long the second attempt may take, milliseconds. */
#define REFUSAL_MS 5000

/* Waits until the socket of ${conn} is readable (${status} is
 * PGRES_POLLING_READING) or writable (any other ${status}).  Returns false if
 * that does not happen before ${until_ms} (monotonic), or if poll() fails. */
static bool
wait_step(PGconn *conn, PostgresPollingStatusType status, int64_t until_ms)
{
	struct pollfd fd = {PQsocket(conn),
	    status == PGRES_POLLING_READING ? POLLIN : POLLOUT, 0};
	int64_t left = until_ms - clk_mono_ms(clk_system());

	return (left > 0 && poll(&fd, 1, (int)left) > 0);
}

/* Copies the SQLSTATE at the end of ${text}, an error message of libpq, to
 * ${ret}; "" if there is none, because the server has not answered. */
static void
take_state(const char *text, char ret[SQLSTATE_SIZE])
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = strlen(text);

	ret[0] = '\0';
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	if (n < SQLSTATE_SIZE || text[n - SQLSTATE_SIZE] != ' ' ||
	    strspn(text + n - SQLSTATE_SIZE + 1, letters) < SQLSTATE_SIZE - 1)
		return;
	memcpy(ret, text + n - SQLSTATE_SIZE + 1, SQLSTATE_SIZE - 1);
	ret[SQLSTATE_SIZE - 1] = '\0';
}

/*
 * Finds the SQLSTATE with which the server refuses a connection, by a second
 * attempt to connect.  ${ret} is "" if this attempt finds none, for example
 * because it succeeds or takes longer than REFUSAL_MS.
 *
 * Why a second attempt: after a failed connect libpq has only PQerrorMessage(),
 * whose text is in the server's language.  libpq reports the code instead if
 * its verbosity is set before it connects, which a blocking connect does not
 * allow.
 */
static void
ask_refusal(const char *const names[], const char *const values[],
    char ret[SQLSTATE_SIZE])
{
	const int64_t until = clk_mono_ms(clk_system()) + REFUSAL_MS;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	PGconn *conn;

	ret[0] = '\0';
	conn = PQconnectStartParams(names, values, 0);
	if (conn == NULL)
		return;
	(void)PQsetErrorVerbosity(conn, PQERRORS_SQLSTATE);
	while (PQstatus(conn) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
	       wait_step(conn, status, until))
		status = PQconnectPoll(conn);
	if (PQstatus(conn) == CONNECTION_BAD)
		take_state(PQerrorMessage(conn), ret);
	PQfinish(conn);
}

/* Returns the result code for a connection that was refused with the SQLSTATE
 * ${state} ("": not known).  Only the operator can correct a rejected user or
 * password or a missing right (RC_DENIED), or the name of a database that does
 * not exist (RC_INVALID); every other cause may pass by itself (RC_AWAY). */
static enum rc
rc_of_refusal(const char *state)
{

	if (strncmp(state, "28", 2) == 0 || strcmp(state, "42501") == 0)
		return (RC_DENIED);
	return (strncmp(state, "3D", 2) == 0 ? RC_INVALID : RC_AWAY);
}

/* libpq limits the attempt for each host by connect_timeout. */
enum rc
db_postgres_connect_bare(struct db_postgres *p, struct err *err)
{
	const char *names[SETTINGS_MAX], *values[SETTINGS_MAX];
	PQconninfoOption *options;
	char *what = NULL, state[SQLSTATE_SIZE] = "";
	const char *text;
	enum rc rc;

	options = PQconninfoParse(p->url, &what);
	if (options == NULL) {
		/* A url that was parsed before cannot be invalid now, so memory
		 * is short. */
		rc = err_set(err,
		    what == NULL || p->opened ? RC_NO_MEMORY : RC_INVALID,
		    "db: %.*s", (int)strcspn(what != NULL ? what : "", "\n"),
		    what != NULL ? what : "");
		PQfreemem(what);
		return (rc);
	}
	list_settings(p, options, names, values);
	p->conn = PQconnectdbParams(names, values, 0);
	/* Once ${p} has been connected, every failure to connect again is
	 * followed by another attempt, whatever the reason, so the reason is
	 * not needed. */
	if (p->conn != NULL && PQstatus(p->conn) != CONNECTION_OK && !p->opened)
		ask_refusal(names, values, state);
	PQconninfoFree(options);
	if (p->conn == NULL)
		return (err_set(err, RC_NO_MEMORY, "db: connect"));
	(void)PQsetNoticeReceiver(p->conn, note_warning, p);
	if (PQstatus(p->conn) == CONNECTION_OK &&
	    PQsetnonblocking(p->conn, 1) == 0)
		return (RC_OK);
	text = PQerrorMessage(p->conn);
	rc = err_set(err, rc_of_refusal(state), "db: %.*s",
	    (int)strcspn(text, "\n"), text);
	db_postgres_drop(p);
	return (rc);
}

/* Reads the setting ${name}. */
static enum rc
show(struct db_postgres *p, const char *name, char ret[32], struct err *err)
{
	PGresult *result;
	char sql[64];
	enum rc rc;

	(void)snprintf(sql, sizeof(sql), "SHOW %s", name);
	rc = db_postgres_exec(p, sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	(void)snprintf(ret, 32, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	return (RC_OK);
}

/* Checks that the server makes commits durable, and that the database stores
 * UTF-8; else RC_INVALID.  synchronous_commit=off is overridden instead. */
static enum rc
check_promises(struct db_postgres *p, struct err *err)
{
	static const char *const on[] = {"fsync", "full_page_writes"};
	char text[32];
	size_t i;
	enum rc rc;

	for (i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		rc = show(p, on[i], text, err);
		if (rc != RC_OK)
			return (rc);
		if (strcmp(text, "on") != 0)
			return (err_set(err, RC_INVALID,
			    "the PostgreSQL server has %s=%s: refusing to "
			    "promise what a power cut could take back",
			    on[i], text));
	}
	rc = show(p, "server_encoding", text, err);
	if (rc == RC_OK && strcmp(text, "UTF8") != 0)
		return (err_set(err, RC_INVALID,
		    "the PostgreSQL database is encoded in %s: create it with "
		    "ENCODING 'UTF8'",
		    text));
	rc = rc == RC_OK ? show(p, "synchronous_commit", text, err) : rc;
	/* With synchronous_commit=local a standby may lack a commit; that is
	 * the operator's choice.  With "off" a crash of the server could lose a
	 * commit, so "off" is overridden. */
	if (rc == RC_OK && strcmp(text, "off") == 0)
		rc = db_postgres_exec(
		    p, "SET synchronous_commit TO on", NULL, err);
	return (rc);
}

/* The statements are written for index scans.  A planner that saw the tables
 * while they were empty, or has no statistics, would choose other plans; these
 * settings prevent that.  A query whose order has no index is still sorted. */
static const char plans[] = "SET plan_cache_mode TO force_generic_plan; "
			    "SET enable_seqscan TO off; "
			    "SET enable_hashjoin TO off; "
			    "SET enable_mergejoin TO off; "
			    "SET enable_sort TO off; "
			    "SET random_page_cost TO 1.1";

static enum rc
configure(struct db_postgres *p, struct err *err)
{
	char sql[512];
	enum rc rc;

	/* When memory runs out, libpq loses the parameters that the server has
	 * reported. */
	if (PQserverVersion(p->conn) == 0)
		return (err_set(err, RC_NO_MEMORY, "db: the version is lost"));
	if (PQserverVersion(p->conn) < SERVER_LEAST)
		return (err_set(err, RC_INVALID,
		    "the PostgreSQL server is of version %d: 15 is the oldest "
		    "that will do",
		    PQserverVersion(p->conn) / 10000));
	rc = db_postgres_pooler_check(p, err);
	if (rc != RC_OK)
		return (rc);
	(void)snprintf(sql, sizeof(sql),
	    "SET statement_timeout TO %d; SET lock_timeout TO %d; "
	    "SET idle_in_transaction_session_timeout TO %d; "
	    "SET jit TO off; SET client_min_messages TO warning; "
	    "SET default_transaction_isolation TO 'read committed'; "
	    "SET TimeZone TO 'UTC'",
	    (int)p->timing->db_statement_ms, (int)p->timing->db_lock_ms,
	    (int)p->timing->db_idle_ms);
	rc = db_postgres_exec(p, sql, NULL, err);
	p->lock_timeout_ms = p->timing->db_lock_ms;
	if (rc == RC_OK)
		rc = db_postgres_exec(p, plans, NULL, err);
	if (rc == RC_OK && p->long_statements)
		rc = db_postgres_set_long(p, err);
	if (rc == RC_OK && p->db.mode != DB_WRITER)
		rc = db_postgres_exec(
		    p, "SET default_transaction_read_only TO on", NULL, err);
	if (rc == RC_OK)
		rc = check_promises(p, err);
	if (rc == RC_OK)
		rc = db_postgres_lineage_check(p, err);
	return (rc == RC_OK && p->node != 0
		    ? db_postgres_set_node(&p->db, p->node, err)
		    : rc);
}

/* ---- staying connected ---- */

/* The most reads of an idle connection in one check, for what the server has
 * sent by itself: a changed setting, or the announcement of a shutdown.  The
 * check does not wait, and ignores data that is left after these reads. */
#define UNASKED_MAX 8

/* Returns whether the idle connection is still alive and no shutdown is
 * announced, as far as that is known without a query.  Without this check the
 * next transaction would fail on a connection that a restart of the server has
 * ended, although a new connection would succeed. */
static bool
is_there(struct db_postgres *p)
{
	struct pollfd fd = {PQsocket(p->conn), POLLIN, 0};
	int i;

	/* A listening connection is not read here: its owner polls the
	 * descriptor and must find the end of the connection there. */
	p->warned = false;
	for (i = 0; !p->listens && i < UNASKED_MAX && poll(&fd, 1, 0) > 0; i++)
		if (PQconsumeInput(p->conn) == 0 || PQisBusy(p->conn) != 0)
			return (false);
	/* The announcement of a shutdown (a warning) may arrive before the
	 * connection ends. */
	return (PQstatus(p->conn) == CONNECTION_OK && !p->warned);
}

/* The time (monotonic, in milliseconds) of the last attempt to connect that
 * succeeded, of all connections of this process.  The success shows that the
 * database is back, so connections whose own attempt failed before it do not
 * wait for the end of their pauses. */
static atomic_int_fast64_t reached_ms;

/* Returns whether the pause after a failed attempt is not over yet. */
static bool
is_pausing(const struct db_postgres *p, int64_t now_ms)
{

	return (now_ms < p->retry_ms && atomic_load(&reached_ms) < p->tried_ms);
}

enum rc
db_postgres_connect(struct db_postgres *p, struct err *err)
{
	int64_t now_ms;
	enum rc rc;

	if (p->conn != NULL && is_there(p) && db_postgres_lineage_kept(p))
		return (RC_OK);
	if (p->conn != NULL)
		db_postgres_drop(p);
	now_ms = clk_mono_ms(clk_system());
	if (is_pausing(p, now_ms))
		return (err_set(err, RC_AWAY, "the database is away"));
	p->tried_ms = now_ms;
	rc = db_postgres_connect_bare(p, err);
	if (rc == RC_OK)
		rc = configure(p, err);
	if (rc == RC_OK) {
		p->opened = true;
		p->retry_ms = p->backoff_ms = 0;
		atomic_store(&reached_ms, clk_mono_ms(clk_system()));
		return (RC_OK);
	}
	if (p->conn != NULL)
		db_postgres_drop(p);
	/* The settings were valid before, so the failure is not the fault of
	 * the client whose request needs the connection; RC_INVALID would be
	 * reported to that client with status 400. */
	if (rc == RC_INVALID && p->opened)
		rc = err->rc = RC_AWAY;
	p->backoff_ms = p->backoff_ms == 0 ? p->timing->db_retry_first_ms
					   : p->backoff_ms * 2;
	if (p->backoff_ms > p->timing->db_retry_most_ms)
		p->backoff_ms = p->timing->db_retry_most_ms;
	p->retry_ms = clk_mono_ms(clk_system()) + p->backoff_ms;
	return (rc);
}

struct db_postgres *
db_postgres_new(const struct db_options *options)
{
	struct db_postgres *p;

	p = mem_zalloc(1, sizeof(*p));
	if (p == NULL)
		return (NULL);
	p->db.driver = &db_postgres_driver;
	p->db.schema = options->schema;
	p->db.mode = options->mode;
	p->db.lineage = options->lineage;
	p->url = mem_strdup(options->url);
	p->stmts =
	    mem_zalloc((size_t)options->schema->nstatements, sizeof(*p->stmts));
	p->timing = timing_or_real(options->timing);
	p->patience_ms = p->timing->db_answer_ms;
	p->waits = options->waits;
	p->waits_arg = options->waits_arg;
	buf_init(&p->arrays, 0);
	if (p->url != NULL && p->stmts != NULL)
		return (p);
	mem_free(p->stmts);
	mem_free(p->url);
	mem_free(p);
	return (NULL);
}

enum rc
db_postgres_open(
    const struct db_options *options, struct db **ret, struct err *err)
{
	struct db_postgres *p;
	enum rc rc;

	if (options->mode == DB_COPIER)
		return (db_postgres_driver.backup(NULL, NULL, 0, err));
	if ((p = db_postgres_new(options)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "db: open"));
	rc = db_postgres_connect(p, err);
	if (rc != RC_OK) {
		db_postgres_driver.close(&p->db);
		return (rc);
	}
	*ret = &p->db;
	return (RC_OK);
}
