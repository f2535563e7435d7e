/* SPDX-License-Identifier: MIT */
/*
 * Data directory, lock, database, domain, writer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypt/crypt.h"
#include "main/core_internal.h"
#include "model/message.h"
#include "push/push.h"
#include "relay/relay.h"
#include "schema/sql.h"

/* Units that may wait in each queue of the writer: beyond, 503. */
#define QUEUE_LIMIT 8192

/* ---- sinks ---- */

static void
on_wake(void *arg, struct wake *wake)
{
	struct core *core = arg;
	struct relay *relay = atomic_load(&core->relay);

	if (relay != NULL)
		relay_wake(relay, wake);
	else
		wake_free(wake);
}

static void
on_news(void *arg, struct news *news)
{
	struct core *core = arg;
	struct push *push = atomic_load(&core->push);

	if (push != NULL)
		push_news(push, news);
	else
		news_free(news);
}

/* After a failed write or sync nothing that this process believes about the
 * database is worth anything: it ends at once, with an exit code of its own,
 * and answers nobody.  The next start checkpoints and commits before it serves. */
static void
on_fatal(void *arg, const struct err *err)
{

	(void)arg;
	log_error(LOG_EV_STORE_FAIL, err,
	    "action=exit code=%d ext=%d", rc_exit_code(RC_IO), err->ext);
	log_stop();
	_exit(rc_exit_code(RC_IO));
}

/* ---- opening ---- */

static enum rc
make_directory(const char *path, struct err *err)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return (err_set_sys(err, RC_IO, errno,
		    "data directory %s cannot be made", path));
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return (err_set(err, RC_INVALID, "%s is not a directory",
		    path));
	return (RC_OK);
}

static enum rc
take_lock(struct core *core, struct err *err)
{
	char path[CONFIG_TEXT_SIZE + 16];

	(void)snprintf(path, sizeof(path), "%s/lock", core->config->data);
	core->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (core->lock_fd < 0)
		return (err_set_sys(err, RC_IO, errno, "%s", path));
	if (flock(core->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return (err_set(err, RC_BUSY,
		    "another twinboxd has %s: stop it first, or give another "
		    "--data",
		    core->config->data));
	return (RC_OK);
}

/* A committed row at each start: see PITFALLS of the design, a failed sync. */
static enum rc
write_boot_row(struct core *core, struct err *err)
{
	uint8_t bytes[8];
	char text[40];
	bool any;
	enum rc rc;
	size_t i;

	rc = db_begin(core->db, err);
	if (rc == RC_OK)
		rc = store_meta_get(core->db, "epoch", core->epoch,
		    sizeof(core->epoch), err);
	if (rc == RC_NOT_FOUND) {
		rnd_fill(rnd_system(), bytes, sizeof(bytes));
		for (i = 0; i < sizeof(bytes); i++)
			(void)snprintf(
			    core->epoch + 2 * i, 3, "%02x", bytes[i]);
		rc = store_meta_set(core->db, "epoch", core->epoch, err);
	}
	(void)snprintf(text, sizeof(text), "%lld",
	    (long long)clk_wall_ms(clk_system()));
	if (rc == RC_OK)
		rc = store_meta_set(core->db, "boot", text, err);
	if (rc == RC_OK)
		rc = store_user_any(core->db, &any, err);
	if (rc == RC_OK)
		rc = db_commit(core->db, err);
	if (rc != RC_OK) {
		db_rollback(core->db);
		return (err_wrap(err, "boot"));
	}
	core->fresh = !any;
	return (RC_OK);
}

static enum rc
open_database(struct core *core, struct err *err)
{
	enum rc rc;

	if (core->config->db[0] != '\0')
		(void)snprintf(core->url, sizeof(core->url), "%s",
		    core->config->db);
	else
		(void)snprintf(core->url, sizeof(core->url),
		    "sqlite:%s/twinbox.db", core->config->data);
	core->db_options.url = core->url;
	core->db_options.mode = DB_WRITER;
	core->db_options.sync = DB_SYNC_FULL;
	core->db_options.schema = &sql_sqlite_schema;
	rc = db_open(&core->db_options, &core->db, err);
	if (rc == RC_OK)
		rc = db_migrate(core->db, clk_wall_ms(clk_system()),
		    &core->schema_from, &core->schema_to, err);
	if (rc == RC_OK)
		rc = db_checkpoint(core->db, true, NULL, err);
	if (rc == RC_OK)
		rc = write_boot_row(core, err);
	return (rc);
}

static enum rc
open_domain(struct core *core, struct err *err)
{
	struct domain_options d;
	struct writer_options w;
	enum rc rc;

	core->metrics = metrics_new();
	core->auth = auth_new();
	if (core->metrics == NULL || core->auth == NULL)
		return (err_set(err, RC_NO_MEMORY, "start"));
	core->sinks = (struct domain_sinks){core, on_wake, on_news, on_fatal};
	memset(&d, 0, sizeof(d));
	d.clk = clk_system();
	d.rnd = rnd_system();
	d.metrics = core->metrics;
	d.auth = core->auth;
	d.expiry_ms = core->config->expiry_ms;
	d.sinks = &core->sinks;
	rc = domain_new(&d, &core->domain, err);
	if (rc != RC_OK)
		return (rc);
	memset(&w, 0, sizeof(w));
	w.db = core->db;
	w.clk = clk_system();
	w.hooks = domain_hooks(core->domain);
	w.queue_limit = QUEUE_LIMIT;
	w.checkpoint_bytes = core->config->checkpoint_size_bytes;
	return (writer_new(&w, &core->writer, err));
}

enum rc
core_open(const struct config *config, struct core **ret, struct err *err)
{
	struct core *core;
	enum rc rc;

	core = mem_zalloc(1, sizeof(*core));
	if (core == NULL)
		return (err_set(err, RC_NO_MEMORY, "start"));
	core->config = config;
	core->lock_fd = -1;
	rc = make_directory(config->data, err);
	if (rc == RC_OK)
		rc = take_lock(core, err);
	if (rc == RC_OK)
		rc = open_database(core, err);
	if (rc == RC_OK)
		rc = open_domain(core, err);
	if (rc != RC_OK) {
		core_close(core);
		return (rc);
	}
	*ret = core;
	return (RC_OK);
}

void
core_close(struct core *core)
{
	struct err err = ERR_INIT;

	if (core == NULL)
		return;
	if (core->writer != NULL) {
		writer_stop(core->writer);
		writer_free(core->writer);
		if (db_checkpoint(core->db, true, NULL, &err) != RC_OK)
			log_error(LOG_EV_STORE_FAIL, &err, "%s", "");
	}
	domain_free(core->domain);
	auth_free(core->auth);
	metrics_free(core->metrics);
	db_close(core->db);
	if (core->lock_fd >= 0)
		(void)close(core->lock_fd);
	mem_free(core);
}

/* ---- accounts ---- */

/* Waits for a unit that another thread finishes. */
struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
};

static void
finished(struct account_unit *u)
{
	struct waiting *w = u->arg;

	(void)pthread_mutex_lock(&w->lock);
	w->done = true;
	(void)pthread_cond_signal(&w->cond);
	(void)pthread_mutex_unlock(&w->lock);
}

enum rc
core_account(struct core *core, struct account_unit *u, struct err *err)
{
	struct waiting w = {.lock = PTHREAD_MUTEX_INITIALIZER,
	    .cond = PTHREAD_COND_INITIALIZER};
	enum rc rc;

	u->finish = finished;
	u->arg = &w;
	rc = writer_submit(core->writer, &u->unit);
	if (rc != RC_OK)
		return (err_set(err, rc, "%s", rc_text(rc)));
	if (!core->threaded)
		(void)writer_run_once(core->writer);
	(void)pthread_mutex_lock(&w.lock);
	while (!w.done)
		(void)pthread_cond_wait(&w.cond, &w.lock);
	(void)pthread_mutex_unlock(&w.lock);
	if (u->unit.rc != RC_OK)
		return (err_set(err, u->unit.rc, "%s", rc_text(u->unit.rc)));
	if (u->refusal.problem == PROBLEM_NOT_FOUND)
		return (err_set(err, RC_NOT_FOUND, "%s", u->refusal.detail));
	if (u->refusal.problem != PROBLEM_NONE)
		return (err_set(err, RC_EXISTS, "%s", u->refusal.detail));
	return (RC_OK);
}

static enum rc
check_password(const char *password, struct err *err)
{
	size_t n;

	n = strlen(password);
	if (n < LIMIT_PASSWORD_MIN || n > LIMIT_PASSWORD_LEN)
		return (err_set(err, RC_INVALID,
		    "a password has %d to %d bytes", LIMIT_PASSWORD_MIN,
		    LIMIT_PASSWORD_LEN));
	return (RC_OK);
}

enum rc
core_user_add(struct core *core, const char *name, const char *password,
    bool admin, struct err *err)
{
	struct account_unit u;
	enum rc rc;

	if (!model_name_valid(name, strlen(name)))
		return (err_set(err, RC_INVALID,
		    "\"%s\" is no name: 1 to %d of a-z 0-9 . _ -", name,
		    LIMIT_NAME_LEN));
	rc = check_password(password, err);
	if (rc != RC_OK)
		return (rc);
	account_unit_init(&u, ACCOUNT_ADD);
	(void)snprintf(u.user.name, sizeof(u.user.name), "%s", name);
	u.user.admin = admin;
	rc = crypt_password_hash(
	    password, strlen(password), u.user.password_hash, err);
	if (rc == RC_OK)
		rc = core_account(core, &u, err);
	if (rc == RC_OK)
		log_event(LOG_EV_USER_ADDED, "user=%s admin=%d", name, admin);
	return (rc);
}

/* The id behind ${name}, asked on a connection of its own. */
static enum rc
find_user(struct core *core, const char *name, int64_t *ret, struct err *err)
{
	struct db_options o = core->db_options;
	struct store_user user;
	struct db *db;
	enum rc rc;

	o.mode = DB_READER;
	rc = db_open(&o, &db, err);
	if (rc != RC_OK)
		return (rc);
	rc = store_user_by_name(db, name, strlen(name), &user, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(
		    err, RC_NOT_FOUND, "there is no user \"%s\"", name);
	if (rc == RC_OK)
		*ret = user.user_id;
	db_close(db);
	return (rc);
}

enum rc
core_user_passwd(struct core *core, const char *name, const char *password,
    struct err *err)
{
	struct account_unit u;
	enum rc rc;

	rc = check_password(password, err);
	if (rc != RC_OK)
		return (rc);
	account_unit_init(&u, ACCOUNT_PASSWORD);
	rc = find_user(core, name, &u.user.user_id, err);
	if (rc == RC_OK)
		rc = crypt_password_hash(
		    password, strlen(password), u.user.password_hash, err);
	if (rc == RC_OK)
		rc = core_account(core, &u, err);
	return (rc);
}

enum rc
core_user_disable(struct core *core, const char *name, struct err *err)
{
	struct account_unit u;
	enum rc rc;

	account_unit_init(&u, ACCOUNT_DISABLE);
	rc = find_user(core, name, &u.user.user_id, err);
	if (rc == RC_OK)
		rc = core_account(core, &u, err);
	return (rc);
}
