/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd serve`: starts, tells where it listens, waits for signals.
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

/* What the service manager gives us beyond the deadline of the stop. */
#define STOP_SPARE_MS 5000

/* Where it listens; the port may have been chosen by the system. */
void
server_address(
    const struct server *s, const struct http *http, char *ret, size_t size)
{
	const char *listen = s->config.listen;
	const char *colon = strrchr(listen, ':');

	(void)snprintf(ret, size, "%.*s:%d",
	    colon == NULL ? 0 : (int)(colon - listen), listen, http_port(http));
}

/* What a person sees; the line "listening:" is read by programs too. */
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

/* The stop has a deadline of its own, which the service manager's must not cut
 * short, whatever it is set to. */
static void
tell_stop(const struct server *s)
{

	(void)notify_manager(
	    "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=%lld",
	    (long long)(s->config.drain_deadline_ms + STOP_SPARE_MS) * 1000);
}

/* SIGHUP: the settings are read again, and what can change while running is
 * taken over: the log level. */
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

/* The main thread waits for signals, so that this is one. */
void
serve_anew(void *arg)
{
	struct server *s = arg;

	atomic_store(&s->anew, true);
	(void)kill(getpid(), SIGUSR1);
}

/* Waits until it is told to stop, or to begin anew (SIGUSR1). */
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

/* A moment for a database that is away; the signal that ends it, or 0. */
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

/* Stops everything, so that server_start() can be called again.  The listening
 * socket stays open: clients that connect meanwhile wait. */
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

/* Whether a start has met a database that was there a moment ago: the start
 * waits for it as it does at its beginning (server_open).  RC_BUSY may be the
 * port or the lock, which are somebody else's. */
static bool
was_lost(enum rc rc)
{

	return (rc_is_outage(rc) && rc != RC_BUSY);
}

/* The first start. */
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
 * Serves until it is told to stop.  Where the database is of another epoch,
 * everything that was made from the one before ends, in the order of any stop,
 * before anything is made of the new one: so nothing has to know which of what
 * it remembers is still true.  Clients are told to reconnect, and find the
 * other epoch where they look for theirs.
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

/* What is in memory are passwords and other people's messages: no core file of
 * it, and no debugger but root's.  Where it is only tried out both are welcome,
 * and a sanitizer looks at its own process as a debugger does. */
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
		/* What is there is not what this start is for: no repetition
		 * helps, and the service manager must know. */
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
