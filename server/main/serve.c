/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd serve`: starts the server, prints where it listens, and waits for
 * signals.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/rnd.h"
#include "log/log.h"
#include "main/server.h"

/* In milliseconds.  When a signal stops the server, the server asks the service
 * manager for more time: for drain-deadline, the time limit of the stop, plus
 * STOP_SPARE_MS (tell_stop()). */
#define STOP_SPARE_MS 5000

/* The system may have chosen the port, so it comes from the socket. */
void
server_address(
    const struct server *s, const struct http *http, char *ret, size_t size)
{
	const char *listen = s->config.listen;
	const char *colon = strrchr(listen, ':');

	(void)snprintf(ret, size, "%.*s:%d",
	    colon == NULL ? 0 : (int)(colon - listen), listen, http_port(http));
}

/* Writes the banner for people.  Programs read its line "listening:", too. */
static void
write_banner(const struct server *s, const char *url, struct buf *out)
{

	buf_addf(out,
	    "twinboxd %s\nlistening: %s\ndatabase: %s\nconfig file: %s\n",
	    PACKAGE_VERSION, url, s->data.url,
	    s->config.file[0] != '\0' ? s->config.file : "none");
	if (s->config.demo)
		demo_write(s, url, out);
}

/* The same for a collector that takes standard output for lines of the log. */
static void
write_json_banner(const struct server *s, const char *url, struct buf *out)
{
	struct buf users = BUF_INIT;

	if (s->config.demo)
		demo_write_names(&users);
	buf_addc(&users, '\0');
	if (buf_ok(&users))
		log_line_print(out, LOG_FMT_JSON, LOG_EV_SERVER_LISTENING,
		    "version=%s url=%s database=%s config_file=%s "
		    "demo_users=%s pid=%d",
		    PACKAGE_VERSION, url, s->data.url, s->config.file,
		    users.data, (int)getpid());
	buf_fini(&users);
}

static void
tell(const struct server *s)
{
	char address[CONFIG_TEXT_SIZE + 16], url[CONFIG_TEXT_SIZE + 32];
	struct buf b = BUF_INIT;

	server_address(s, s->http, address, sizeof(address));
	(void)snprintf(url, sizeof(url), "http://%s", address);
	if (s->config.log_format == LOG_FMT_JSON)
		write_json_banner(s, url, &b);
	else
		write_banner(s, url, &b);
	if (buf_ok(&b) && b.data != NULL)
		(void)fwrite(b.data, 1, b.len, stdout);
	(void)fflush(stdout);
	buf_fini(&b);
	log_event(LOG_EV_SERVER_READY, "url=%s pid=%d", url, (int)getpid());
	(void)notify_manager("READY=1\nSTATUS=listening at %s", url);
}

/* Notifies the service manager that a signal stops the server, and asks for
 * drain-deadline plus STOP_SPARE_MS: a shorter time limit of the manager itself
 * (TimeoutStopSec of systemd) must not cut the stop short. */
static void
tell_stop(const struct server *s)
{

	(void)notify_manager(
	    "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=%lld",
	    (long long)(s->config.drain_deadline_ms + STOP_SPARE_MS) * 1000);
}

/* SIGHUP: reads the settings again and applies those that can change in a
 * running server: the log level.  If a setting is not valid, logs that and
 * changes nothing. */
static void
reload(int argc, char **argv)
{
	static struct config config; /* too large for a stack */
	struct err err = ERR_INIT;

	if (config_parse(argc, argv, getenv, &config, &err) != RC_OK) {
		log_error(LOG_EV_SERVER_FAIL, &err, "reload=%s", "refused");
		return;
	}
	log_set_level((enum log_level)config.log_level);
}

/* A signal, because the main thread waits for signals. */
void
serve_anew(void *arg)
{
	struct server *s = arg;

	atomic_store(&s->anew, true);
	(void)kill(getpid(), SIGUSR1);
}

/* Waits for the signal to stop, or to serve anew (SIGUSR1), and returns it. */
static int
wait_stop(struct server *s, int argc, char **argv)
{
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR1);
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			continue;
		if (sig == SIGHUP)
			reload(argc, argv);
		else if (sig != SIGUSR1 || atomic_load(&s->anew))
			return (sig);
	}
}

/* The pause between two starts while the database is away: sleeps for a second,
 * without looking at the database, and returns 0.  Returns SIGTERM or SIGINT at
 * once if that signal is pending or arrives meanwhile. */
static int
rest(void)
{
	const struct timespec moment = {.tv_sec = 1};
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	sig = sigtimedwait(&set, NULL, &moment);
	return (sig < 0 ? 0 : sig);
}

/* Calls server_stop() and server_again(), so that server_start() can be called
 * again.  If ${s} listens, first keeps a duplicate of the listening socket in
 * s->listener: clients that connect meanwhile wait in the queue of the socket
 * instead of being refused. */
static void
stop_for_again(struct server *s)
{
	char address[CONFIG_TEXT_SIZE + 16];

	if (s->http != NULL) {
		server_address(s, s->http, address, sizeof(address));
		s->listener = http_keep_listener(s->http);
	} else
		(void)snprintf(
		    address, sizeof(address), "%s", s->config.listen);
	server_stop(s);
	server_again(s, address);
}

/* Returns whether ${rc}, the result of server_start(), means that the database
 * was away or did not confirm a commit: start_first() may then repeat the
 * start.  RC_BUSY does not count: another process may have the port or the
 * lock. */
static bool
was_lost(enum rc rc)
{

	return (rc_is_outage(rc) && rc != RC_BUSY);
}

/* The first start.  If server_start() fails because the database is away
 * (was_lost()), and start_first() began less than database_wait_ms ago, stops
 * everything, pauses (rest()) and calls server_start() again; each call may
 * itself wait database_wait_ms (server_open()).  *ret_sig is 0, or SIGTERM or
 * SIGINT if that signal ended a pause: then no call follows, and the result is
 * the error of the last call. */
static enum rc
start_first(struct server *s, int *ret_sig, struct err *err)
{
	const int64_t until = clk_mono_ms(s->clk) + s->config.database_wait_ms;
	enum rc rc;

	*ret_sig = 0;
	while (was_lost(rc = server_start(s, err)) &&
	       clk_mono_ms(s->clk) < until) {
		data_waits(err, "the database");
		stop_for_again(s);
		if ((*ret_sig = rest()) != 0)
			return (rc);
		*err = (struct err)ERR_INIT;
	}
	return (rc);
}

/*
 * Starts the server and serves until SIGTERM or SIGINT (then returns RC_OK), or
 * until a start fails (then returns its error).  In both cases the caller must
 * call server_stop().
 *
 * *New epoch.* When the epoch (the name of the history of a PostgreSQL
 * database) has changed, the module cluster calls serve_anew(), and the whole
 * server stops, in the order of any stop, and then starts again, so that no
 * module has to decide which of its memory is still true.  If this start fails
 * because the database is away or busy (rc_is_outage()), the start is repeated
 * after pauses of a second, without a time limit; only the first start has a
 * time limit (start_first()).
 * Clients are asked to reconnect, and learn of the new epoch when they do.
 */
static enum rc
serve_on(struct server *s, int argc, char **argv, struct err *err)
{
	enum rc rc;
	int sig;

	rc = start_first(s, &sig, err);
	if (rc != RC_OK && sig == 0)
		return (rc);
	if (rc == RC_OK)
		tell(s);
	while (sig == 0 && (sig = wait_stop(s, argc, argv)) == SIGUSR1) {
		do {
			stop_for_again(s);
			if (rc != RC_OK && (sig = rest()) != 0)
				break;
			*err = (struct err)ERR_INIT;
			rc = server_start(s, err);
		} while (rc_is_outage(rc));
		if (rc != RC_OK)
			break;
		sig = 0;
	}
	if (sig != SIGTERM && sig != SIGINT)
		return (rc);
	log_event(
	    LOG_EV_SERVER_STOP, "signal=%s", sig == SIGINT ? "INT" : "TERM");
	tell_stop(s);
	return (RC_OK);
}

/* Memory holds passwords and other people's messages, so disable core dumps,
 * and debuggers except root's.  The caller does not call this in demo mode.
 * Does nothing under AddressSanitizer, which reads its own process as a
 * debugger does. */
static void
hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	const struct rlimit none = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static void
log_warning(void *arg, const char *text)
{

	(void)arg;
	log_event(LOG_EV_SERVER_SETTING, "warning=%s", text);
}

static int
serve(struct server *s, int argc, char **argv)
{
	struct log_options log = {.fd = STDERR_FILENO,
	    .level = (enum log_level)s->config.log_level,
	    .format = (enum log_format)s->config.log_format,
	    .clk = s->clk,
	    .timing = s->timing};
	struct err err = ERR_INIT;
	int code = EX_OK;

	if (!s->config.demo)
		hide_memory();
	if (log_start(&log, &err) != RC_OK)
		return (main_complain(EX_OSERR, "%s", err.text));
	log_event(LOG_EV_SERVER_START, "version=%s data=%s", PACKAGE_VERSION,
	    s->config.data);
	if (config_warn(&s->config, log_warning, NULL) != RC_OK)
		log_event(LOG_EV_SERVER_SETTING, "warning=%s", "out of memory");
	if (serve_on(s, argc, argv, &err) != RC_OK) {
		log_error_bare(LOG_EV_SERVER_FAIL, &err);
		/* RC_INVALID means that a setting is wrong, or that the
		 * database is not one that this start may serve.  No restart
		 * helps, so the service manager must learn that from the exit
		 * code (EX_CONFIG). */
		code = main_config_code(err.rc);
	}
	server_stop(s);
	log_event_bare(LOG_EV_SERVER_STOPPED);
	log_stop();
	if (code != EX_OK && s->config.log_format == LOG_FMT_TEXT)
		(void)main_complain(code, "%s", err.text);
	return (code);
}

int
serve_main(int argc, char **argv)
{
	static struct server server = {.data = DATA_INIT};
	struct err err = ERR_INIT;
	int code;

	if ((code = main_settings(argc, argv, &server.config)) >= 0)
		return (code);
	if (server.config.noperands > 0)
		return (main_complain(EX_USAGE,
		    "there is no command \"%s\"; see --help",
		    server.config.operands[0]));
	server.clk = clk_system();
	server.timing = timing_process();
	server.rnd = rnd_system();
	if (federate_authorities(&server.config, &server.authorities, &err) !=
	    RC_OK)
		return (
		    main_complain(main_config_code(err.rc), "%s", err.text));
	code = serve(&server, argc, argv);
	buf_fini(&server.authorities);
	return (code);
}
