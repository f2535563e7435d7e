/* SPDX-License-Identifier: MIT */
/*
 * Start and stop, in order.
 *
 *	start:  core (lock, database, migrations, checkpoint, boot row)
 *	        -> readers -> push -> relay -> api -> http's socket
 *	        -> writer, push, relay, http threads -> control -> ready
 *	stop:   DRAINING   accept nothing, tell sessions to reconnect
 *	        FINISHING  requests under way get their answers
 *	        CLOSING    relay, writer, readers, push, http, control, core
 *
 * A stop takes at most drain-deadline; what is not answered by then gets 503
 * and may be repeated by its id.
 */
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "api/api.h"
#include "base/log.h"
#include "base/thr.h"
#include "crypt/crypt.h"
#include "http/http.h"
#include "main/control.h"
#include "main/core_internal.h"
#include "main/demo.h"
#include "push/push.h"
#include "relay/relay.h"
#include "wire/wire.h"

#define READ_JOBS 8192
#define POLL_MS 1000
#define ROUTES_MAX 128

struct server {
	const struct config *config;
	struct core *core;
	struct readers *readers;
	struct push *push;
	struct relay *relay;
	struct admin *admin;
	struct api *api;
	struct http *http;
	struct control *control;
	char origins[CONFIG_LIST_MAX * CONFIG_ORIGIN_SIZE];
	char host[CONFIG_TEXT_SIZE];
	atomic_bool draining;
	struct http_route routes[ROUTES_MAX];
};

/* ---- starting ---- */

static void
on_upgrade(int fd, void *arg)
{
	struct server *s = arg;

	push_adopt(s->push, fd);
}

/* Every connection is a descriptor: as many as the kernel lets us. */
static void
raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

static size_t
at_most_descriptors(int64_t wanted)
{
	struct rlimit r;
	size_t n;

	n = (size_t)wanted;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur > 256 &&
	    n > r.rlim_cur - 256)
		n = (size_t)r.rlim_cur - 256;
	return (n);
}

static enum rc
open_push(struct server *s, struct err *err)
{
	struct push_options o;
	int i;

	for (i = 0; i < s->config->allow_origin.n; i++) {
		if (i > 0)
			strncat(s->origins, " ", 1);
		strncat(s->origins, s->config->allow_origin.list[i],
		    CONFIG_ORIGIN_SIZE - 2);
	}
	memset(&o, 0, sizeof(o));
	o.clk = clk_system();
	o.metrics = s->core->metrics;
	o.writer = s->core->writer;
	o.readers = s->readers;
	o.auth = s->core->auth;
	o.epoch = s->core->epoch;
	o.domain = s->config->domain;
	o.allow_origin = s->origins;
	o.session_limit = at_most_descriptors(s->config->ws_limit);
	return (push_new(&o, &s->push, err));
}

static enum rc
open_relay(struct server *s, struct err *err)
{
	struct relay_options o;

	memset(&o, 0, sizeof(o));
	o.db = &s->core->db_options;
	o.carrier = carrier_local(s->core->writer);
	o.writer = s->core->writer;
	o.clk = clk_system();
	o.poll_ms = POLL_MS;
	return (relay_new(&o, &s->relay, err));
}

static bool
is_ready(void *arg, const char **ret_why)
{
	struct server *s = arg;

	if (!atomic_load(&s->draining))
		return (true);
	*ret_why = "it is stopping";
	return (false);
}

static enum rc
open_api(struct server *s, struct err *err)
{
	struct admin_options a;
	struct api_options o;
	enum rc rc;

	memset(&a, 0, sizeof(a));
	a.clk = clk_system();
	a.metrics = s->core->metrics;
	a.writer = s->core->writer;
	a.readers = s->readers;
	a.version = TWINBOX_VERSION;
	a.ready = is_ready;
	a.ready_arg = s;
	rc = admin_new(&a, &s->admin, err);
	if (rc != RC_OK)
		return (rc);
	memset(&o, 0, sizeof(o));
	o.clk = clk_system();
	o.rnd = rnd_system();
	o.metrics = s->core->metrics;
	o.writer = s->core->writer;
	o.readers = s->readers;
	o.push = s->push;
	o.auth = s->core->auth;
	o.epoch = s->core->epoch;
	o.domain = s->config->domain;
	o.version = TWINBOX_VERSION;
	o.registration_open =
	    s->config->registration == REGISTRATION_OPEN;
	o.rate_limit = (double)s->config->rate_limit;
	o.argon2_threads = (int)s->config->argon2_threads;
	o.admin = s->admin;
	return (api_new(&o, &s->api, err));
}

/* One table of all routes, as http wants it. */
static void
join_routes(struct server *s)
{
	const struct http_route *r;
	size_t n;

	n = 0;
	for (r = api_routes(); r->method != NULL; r++) {
		assert(n < ROUTES_MAX - 1);
		s->routes[n++] = *r;
	}
	for (r = admin_routes(); r->method != NULL; r++) {
		assert(n < ROUTES_MAX - 1);
		s->routes[n++] = *r;
	}
	s->routes[n] = (struct http_route){.method = NULL};
}

static enum rc
open_http(struct server *s, struct err *err)
{
	struct http_options o;

	join_routes(s);
	memset(&o, 0, sizeof(o));
	o.listen = s->config->listen;
	o.loops = (int)s->config->http_loops;
	o.routes = s->routes;
	o.route_arg = s->api;
	o.authorize = api_authorize;
	o.upgrade_path = "/v1/ws";
	o.upgrade = on_upgrade;
	o.upgrade_arg = s;
	o.request_deadline_ms = s->config->request_deadline_ms;
	o.idle_deadline_ms = s->config->idle_deadline_ms;
	o.connection_limit =
	    at_most_descriptors(s->config->connection_limit);
	o.clk = clk_system();
	o.metrics = s->core->metrics;
	return (http_new(&o, &s->http, err));
}

static enum rc
open_all(struct server *s, struct err *err)
{
	enum rc rc;

	rc = core_open(s->config, &s->core, err);
	if (rc == RC_OK)
		rc = readers_start(&s->core->db_options,
		    (int)s->config->readers, READ_JOBS, &s->readers, err);
	if (rc == RC_OK)
		rc = open_push(s, err);
	if (rc == RC_OK)
		rc = open_relay(s, err);
	if (rc == RC_OK)
		rc = open_api(s, err);
	if (rc == RC_OK)
		rc = open_http(s, err);
	return (rc);
}

static enum rc
start_all(struct server *s, struct err *err)
{
	enum rc rc;

	atomic_store(&s->core->push, s->push);
	atomic_store(&s->core->relay, s->relay);
	rc = writer_start(s->core->writer, err);
	s->core->threaded = rc == RC_OK;
	if (rc == RC_OK)
		rc = push_start(s->push, err);
	if (rc == RC_OK)
		rc = relay_start(s->relay, err);
	if (rc == RC_OK && s->config->demo && s->core->fresh)
		rc = demo_make_users(s->core, err);
	if (rc == RC_OK)
		rc = control_start(s->core, &s->control, err);
	if (rc == RC_OK)
		rc = http_start(s->http, err);
	return (rc);
}

/* ---- stopping ---- */

static void
sleep_ms(long ms)
{
	struct timespec ts = {.tv_sec = 0, .tv_nsec = ms * 1000000};

	(void)nanosleep(&ts, NULL);
}

static bool
quiet(const struct server *s)
{

	return (http_pending(s->http) == 0 && api_busy(s->api) == 0 &&
	    push_sessions(s->push) == 0);
}

/* DRAINING and FINISHING. */
static void
drain(struct server *s)
{
	int64_t deadline;

	atomic_store(&s->draining, true);
	http_drain(s->http);
	push_drain(s->push);
	api_stop(s->api);
	/* Half of the time for requests, the rest for closing. */
	deadline = clk_mono_ms(clk_system()) + s->config->drain_deadline_ms / 2;
	while (!quiet(s) && clk_mono_ms(clk_system()) < deadline)
		sleep_ms(10);
}

/* CLOSING.  Whoever may call another ends before him. */
static void
close_all(struct server *s)
{

	control_stop(s->control);
	if (s->relay != NULL)
		relay_stop(s->relay);
	if (s->core != NULL && s->core->writer != NULL)
		writer_stop(s->core->writer);
	readers_stop(s->readers);
	if (s->core != NULL) {
		atomic_store(&s->core->push, NULL);
		atomic_store(&s->core->relay, NULL);
	}
	push_stop(s->push);
	http_stop(s->http);
	api_free(s->api);
	admin_free(s->admin);
	relay_free(s->relay);
	core_close(s->core);
}

/* ---- serving ---- */

static void
say_ready(struct server *s)
{
	const struct config *c = s->config;
	const char *colon;

	colon = strrchr(c->listen, ':');
	(void)snprintf(s->host, sizeof(s->host), "%.*s:%d",
	    (int)(colon != NULL ? colon - c->listen
	                        : (ptrdiff_t)strlen(c->listen)),
	    c->listen, http_port(s->http));
	if (strncmp(s->host, "localhost:", 10) == 0)
		(void)snprintf(s->host, sizeof(s->host), "127.0.0.1:%d",
		    http_port(s->http));
	printf("twinboxd %s\n", TWINBOX_VERSION);
	printf("listening: http://%s\n", s->host);
	printf("database: %s\n", s->core->url);
	printf("config file: %s\n", c->file[0] != '\0' ? c->file : "none");
	if (c->demo)
		demo_say(s->host, s->core->fresh);
	(void)fflush(stdout);
	log_event(LOG_EV_SERVER_READY, "listen=%s database=%s", s->host,
	    s->core->url);
}

/* Waits for the signal that ends it. */
static void
wait_for_end(void)
{
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			continue;
		if (sig == SIGTERM || sig == SIGINT)
			break;
	}
	log_event(LOG_EV_SERVER_STOP, "signal=%d", sig);
}

static enum rc
start_log(const struct config *config, struct err *err)
{
	struct log_options o;

	memset(&o, 0, sizeof(o));
	o.fd = STDERR_FILENO;
	o.level = (enum log_level)config->log_level;
	o.format = (enum log_format)config->log_format;
	o.clk = clk_system();
	return (log_start(&o, err));
}

int
server_run(const struct config *config)
{
	struct server s = {.config = config};
	struct err err = ERR_INIT;
	enum rc rc;

	raise_descriptors();
	rc = start_log(config, &err);
	if (rc == RC_OK)
		log_event(LOG_EV_SERVER_START, "version=%s pid=%d",
		    TWINBOX_VERSION, (int)getpid());
	if (rc == RC_OK)
		rc = open_all(&s, &err);
	if (rc == RC_OK)
		rc = start_all(&s, &err);
	if (rc == RC_OK) {
		say_ready(&s);
		wait_for_end();
		drain(&s);
	}
	close_all(&s);
	if (rc != RC_OK) {
		log_stop();
		(void)fprintf(stderr, "twinboxd: %s\n", err.text);
		return (rc_exit_code(rc));
	}
	log_event(LOG_EV_SERVER_STOPPED, "%s", "");
	log_stop();
	return (0);
}
