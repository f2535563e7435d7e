/* SPDX-License-Identifier: MIT */
/*
 * The stop goes through the states below, in this order.  `requests`, `answers`
 * and `http` have time limits of their own (base/timing.h); the other states
 * last until their threads are done.  If the whole stop takes longer than
 * drain-deadline (plus stop_away for a new epoch), for example because a thread
 * hangs on a disk, a timer ends the process.  If other threads still have
 * requests at the limit of `answers`, the memory of these requests cannot be
 * freed, and the process ends at once.  No accepted message depends on a clean
 * stop: the message has been on disk since the answer 201.
 *
 *	drain     no new connections; clients of sessions are asked to
 *	          reconnect, long-polls are released
 *	requests  requests under way are answered, and those that still come
 *	          on kept connections, until none has come for stop_quiet;
 *	          gives up after stop_requests or stop_slow_client
 *	api       new requests are refused with 503; the control socket and the
 *	          alerts end; no more passwords are verified
 *	relay     deliveries under way return
 *	writer    queued units are committed and answered
 *	upkeep    upkeep and cluster end; DATA/mark is written a last time
 *	          (SQLite only)
 *	answers   waits until readers and push have returned all requests
 *	          that they hold
 *	http      connections are closed
 *	rest      push and readers end; a checkpoint, so that the next start is
 *	          quick
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "log/log.h"
#include "main/server.h"
#ifdef TWINBOX_FAULTS
#include "relay/carrier_fault.h"
#endif

#define TICK_MS 5

static void
out_of_time(int sig)
{
	static const char text[] =
	    "twinboxd: the stop takes too long; ending without it\n";

	(void)sig;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(rc_exit_code(RC_BUSY));
}

/* Arms the timer that ends the process after ${ms}; 0 disarms it. */
static void
arm(int64_t ms)
{
	struct itimerval timer = {
	    .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
	struct sigaction action;
	sigset_t set;

	memset(&action, 0, sizeof(action));
	action.sa_handler = out_of_time;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void
tick(void)
{
	const struct timespec t = {.tv_nsec = TICK_MS * 1000000L};

	(void)nanosleep(&t, NULL);
}

/* Returns the number of requests that a handler or another thread still has,
 * plus the number of reader jobs, waiting or running, in which the send gate
 * counts what senders have sent, for their quotas. */
static size_t
busy(const struct server *s)
{

	return (rest_busy(s->rest) + send_gate_busy(s->gate));
}

/* Waits until every request, over HTTP or a WebSocket, is answered and its
 * answer is sent, and until HTTP has no connection or no new request for
 * stop_quiet.  Does not wait for a request whose head is still being received.
 * Gives up, with a line in the log, after stop_requests, or when for
 * stop_slow_client no HTTP request has begun and busy() has been 0: then only
 * clients that do not read their answers are left. */
static void
wait_requests(struct server *s)
{
	int64_t start = clk_mono_ms(s->clk), idle = start, quiet = start, now;
	uint64_t begun = http_begun(s->http);

	for (;;) {
		now = clk_mono_ms(s->clk);
		if (http_begun(s->http) != begun) {
			begun = http_begun(s->http);
			quiet = idle = now;
		}
		if (busy(s) > 0)
			idle = now;
		if (http_pending(s->http) == 0 &&
		    (s->push == NULL || push_drained(s->push)) &&
		    (http_connections(s->http) == 0 ||
			now - quiet > s->timing->stop_quiet_ms))
			return;
		if (now - idle > s->timing->stop_slow_client_ms ||
		    now - start > s->timing->stop_requests_ms)
			break;
		tick();
	}
	log_event(LOG_EV_SERVER_LATE, "pending=%zu connections=%zu busy=%zu",
	    http_pending(s->http), http_connections(s->http), busy(s));
}

/* Waits until busy() is 0, so that no other thread has a request, and returns
 * true.  Returns false if that takes longer than stop_answers; if the server
 * stops for a new epoch, the limit is stop_away instead. */
static bool
wait_answers(struct server *s)
{
	int64_t start = clk_mono_ms(s->clk);
	int64_t most = atomic_load(&s->anew) ? s->timing->stop_away_ms
					     : s->timing->stop_answers_ms;

	while (busy(s) > 0) {
		if (clk_mono_ms(s->clk) - start > most)
			return (false);
		tick();
	}
	return (true);
}

/* Ends everything that serves requests. */
static void
stop_serving(struct server *s)
{

	atomic_store(&s->ready, false);
	if (s->http != NULL)
		http_drain(s->http);
	if (s->push != NULL)
		push_drain(s->push);
	if (s->federation != NULL)
		federation_drain(s->federation);
	if (s->http != NULL)
		wait_requests(s);
	if (s->http != NULL)
		http_refuse(s->http);
	control_stop(s->control);
	if (s->admin != NULL)
		admin_stop(s->admin);
	if (s->rest != NULL)
		rest_stop(s->rest);
	if (s->relay != NULL)
		relay_stop(s->relay);
	if (s->writer != NULL)
		writer_stop(s->writer);
	upkeep_stop(s->upkeep);
	cluster_stop(s->cluster);
	if (s->http != NULL && !wait_answers(s)) {
		/* Other threads still use these requests, so memory cannot be
		 * freed: end the process. */
		log_event(LOG_EV_SERVER_FAIL, "requests=%zu", busy(s));
		log_stop();
		_exit(rc_exit_code(RC_INTERNAL));
	}
	http_stop(s->http);
}

void
server_stop(struct server *s)
{
	struct db_checkpoint checkpoint;
	struct err err = ERR_INIT;

	arm(s->config.drain_deadline_ms +
	    (atomic_load(&s->anew) ? s->timing->stop_away_ms : 0));
	stop_serving(s);
	/* Readers return jobs to push, and push submits jobs to readers.  So
	 * push's thread ends first, then the readers, and only then push is
	 * freed. */
	push_end(s->push);
	readers_stop(s->readers);
	push_stop(s->push);
	api_free(s->api);
	admin_free(s->admin);
	rest_free(s->rest);
	send_gate_free(s->gate);
	relay_free(s->relay);
#ifdef TWINBOX_FAULTS
	carrier_fault_free(s->fault);
#endif
	federation_free(s->federation);
	upkeep_free(s->upkeep);
	cluster_free(s->cluster);
	writer_free(s->writer);
	txn_env_free(s->env);
	if (s->db != NULL &&
	    db_checkpoint(s->db, true, &checkpoint, &err) != RC_OK)
		log_error_bare(LOG_EV_STORE_FAIL, &err);
	db_close(s->db);
	auth_free(s->auth);
	metrics_free(s->metrics);
	data_close(&s->data);
	arm(0);
}

void
server_again(struct server *s, const char *listen)
{

	(void)snprintf(
	    s->config.listen, sizeof(s->config.listen), "%s", listen);
	/* The operator has accepted the rollback that happened before the
	 * process began, not a rollback that happens while the server runs. */
	s->config.accept_rollback = false;
	memset((char *)s + offsetof(struct server, data), 0,
	    sizeof(*s) - offsetof(struct server, data));
	s->data = (struct data)DATA_INIT;
}
