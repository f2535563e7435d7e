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
#include <unistd.h>

#include "base/log.h"
#include "base/rnd.h"
#include "main/server.h"

/* What the service manager gives us beyond the deadline of the stop. */
#define STOP_SPARE_MS 5000

/* The address as a URL; the port may have been chosen by the system. */
static void
url_write(const struct server *s, char *ret, size_t size)
{
	const char *listen = s->config.listen;
	const char *colon = strrchr(listen, ':');

	(void)snprintf(ret, size, "http://%.*s:%d",
	    colon == NULL ? 0 : (int)(colon - listen), listen,
	    http_port(s->http));
}

/* What a person sees; the line "listening:" is read by programs too. */
static void
tell(const struct server *s)
{
	struct buf b = BUF_INIT;
	char url[CONFIG_TEXT_SIZE + 32];

	url_write(s, url, sizeof(url));
	buf_addf(&b,
	    "twinboxd %s\nlistening: %s\ndatabase: %s\nconfig file: %s\n",
	    PACKAGE_VERSION, url, s->data.url,
	    s->config.file[0] != '\0' ? s->config.file : "none");
	if (s->config.demo)
		demo_write(s, url, &b);
	if (buf_ok(&b))
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

/* Waits until it is told to stop. */
static int
wait_stop(int argc, char **argv)
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
		if (sig != SIGHUP)
			return (sig);
		reload(argc, argv);
	}
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

static int
serve(struct server *s, int argc, char **argv)
{
	struct log_options log = {.fd = STDERR_FILENO,
	    .level = (enum log_level)s->config.log_level,
	    .format = (enum log_format)s->config.log_format,
	    .clk = s->clk};
	struct err err = ERR_INIT;
	int code = EX_OK, sig;

	if (!s->config.demo)
		hide_memory();
	if (log_start(&log, &err) != RC_OK)
		return (complain(EX_OSERR, "%s", err.text));
	log_event(LOG_EV_SERVER_START, "version=%s data=%s", PACKAGE_VERSION,
	    s->config.data);
	if (server_start(s, &err) == RC_OK) {
		tell(s);
		sig = wait_stop(argc, argv);
		log_event(LOG_EV_SERVER_STOP, "signal=%s",
		    sig == SIGINT ? "INT" : "TERM");
		tell_stop(s);
	} else {
		log_error(LOG_EV_SERVER_FAIL, &err, "%s", "");
		/* What is there is not what this start is for: no repetition
		 * helps, and the service manager must know. */
		code = err.rc == RC_INVALID ? EX_CONFIG : rc_exit_code(err.rc);
	}
	server_stop(s);
	log_event(LOG_EV_SERVER_STOPPED, "%s", "");
	log_stop();
	if (code != EX_OK && s->config.log_format == LOG_FMT_TEXT)
		(void)complain(code, "%s", err.text);
	return (code);
}

int
serve_main(int argc, char **argv)
{
	static struct server server = {.data = DATA_INIT};
	int code;

	if ((code = settings(argc, argv, &server.config)) >= 0)
		return (code);
	if (server.config.noperands > 0)
		return (
		    complain(EX_USAGE, "there is no command \"%s\"; see --help",
			server.config.operands[0]));
	server.clk = clk_system();
	server.rnd = rnd_system();
	return (serve(&server, argc, argv));
}
