/* SPDX-License-Identifier: MIT */
/*
 * See outbound.h.  The thread's loop, its start and its end.
 */
#include <poll.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/thr.h"
#include "federation/address.h"
#include "federation/outbound_internal.h"

/* The longest waits of the outbound thread in ms if nothing wakes it.  POLL_MS:
 * normally, so that it checks deadlines.  POLL_STOPPING_MS: while it is
 * stopping, so that it checks whether the look-ups have ended.  POLL_POOR_MS:
 * when curl_multi_poll() has failed for lack of memory. */
#define POLL_MS 1000
#define POLL_STOPPING_MS 10
#define POLL_POOR_MS 100
/* Limit of connections to all peers together that libcurl keeps for reuse. */
#define CONNECTIONS_MAX 256L

enum rc
outbound_post(struct outbound *o, struct outbound_job *job)
{

	return (mbox_put(o->box, &job->node));
}

const struct net_networks *
outbound_allowed(const struct outbound *o, const char *domain, bool *ret_http)
{
	const struct domain_peer *peer = directory_pinned(o->directory, domain);

	*ret_http = peer != NULL && !peer->url.https;
	return (peer != NULL ? &o->pinned : &o->o.networks);
}

/* ---- the thread ---- */

static void
run_jobs(struct outbound *o)
{
	struct mbox_node *list = mbox_take_all(o->box);
	struct outbound_job *job;

	while (list != NULL) {
		job = CONTAINER_OF(list, struct outbound_job, node);
		list = list->next;
		job->run(o, job);
	}
}

CURLM *
outbound_multi(struct outbound *o)
{

	if (o->multi != NULL)
		return (o->multi);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return (NULL);
	o->multi = curl_multi_init();
	if (o->multi == NULL ||
	    curl_multi_setopt(
		o->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX) != CURLM_OK) {
		(void)curl_multi_cleanup(o->multi);
		o->multi = NULL;
		curl_global_cleanup();
	}
	return (o->multi);
}

static void
run_transfers(struct outbound *o)
{
	CURLMsg *m;
	int n;

	if (o->multi == NULL)
		return;
	(void)curl_multi_perform(o->multi, &n);
	while ((m = curl_multi_info_read(o->multi, &n)) != NULL)
		if (m->msg == CURLMSG_DONE)
			transfer_finish(
			    o->multi, m->easy_handle, m->data.result);
}

static void
wait(struct outbound *o, int ms)
{
	struct curl_waitfd fd = {
	    .fd = mbox_fd(o->box), .events = CURL_WAIT_POLLIN};
	struct pollfd alone = {.fd = fd.fd, .events = POLLIN};

	/* If memory is short, curl_multi_poll() fails at once.  Then wait with
	 * poll() for the mailbox only, so that the loop does not spin.  If
	 * there is no multi handle yet, wait for the mailbox only, too. */
	if (o->multi == NULL ||
	    curl_multi_poll(o->multi, &fd, 1, ms, NULL) != CURLM_OK)
		(void)poll(&alone, 1,
		    o->multi == NULL || ms < POLL_POOR_MS ? ms : POLL_POOR_MS);
}

static void
loop(void *arg)
{
	struct outbound *o = arg;
	bool stopping;

	for (;;) {
		stopping = atomic_load(&o->stopping);
		run_jobs(o);
		run_transfers(o);
		if (stopping) {
			carry_stop(o);
			lookup_stop(o);
			/* Wait for look-ups that are with a reader or the
			 * writer. */
			if (o->nlookups == 0)
				break;
		} else {
			keyring_refresh(o->o.keyring);
			lookup_turn(o);
		}
		wait(o, stopping ? POLL_STOPPING_MS : POLL_MS);
	}
	/* From now on outbound_post() fails.  Run what was posted before. */
	mbox_close(o->box);
	run_jobs(o);
	carry_stop(o);
	lookup_stop(o);
}

/* ---- life ---- */

enum rc
outbound_new(const struct outbound_options *options, struct outbound **ret,
    struct err *err)
{
	struct directory_options directory = {.policy = options->policy,
	    .clk = options->clk,
	    .timing = options->timing,
	    .want = lookup_want};
	struct outbound *o;
	enum rc rc;

	if ((o = mem_zalloc(1, sizeof(*o))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "outbound"));
	o->o = *options;
	o->o.timing = timing_or_real(options->timing);
	o->pinned = options->networks;
	address_add_loopback(&o->pinned);
	o->fetches_left = LOOKUP_FETCHES_MINUTE;
	TAILQ_INIT(&o->carries);
	TAILQ_INIT(&o->lookups);
	directory.arg = o;
	rc = directory_new(&directory, &o->directory, err);
	if (rc == RC_OK && (o->box = mbox_new(0, true)) == NULL)
		rc = err_set(err, RC_NO_MEMORY, "outbound");
	if (rc != RC_OK) {
		outbound_free(o);
		return (rc);
	}
	*ret = o;
	return (RC_OK);
}

enum rc
outbound_start(struct outbound *o, struct err *err)
{

	return (thr_start(THR_OUTBOUND, 0, loop, o, &o->thread, err));
}

static void
do_nothing(struct outbound *o, struct outbound_job *job)
{

	(void)o;
	(void)job;
}

/* The function carrier_remote.stop. */
static void
stop(void *arg)
{
	struct outbound *o = arg;

	if (o->thread == NULL)
		return;
	atomic_store(&o->stopping, true);
	o->wake.run = do_nothing;
	(void)!outbound_post(o, &o->wake);
	thr_join(&o->thread);
}

void
outbound_free(struct outbound *o)
{

	if (o == NULL)
		return;
	stop(o);
	if (o->multi != NULL) {
		(void)curl_multi_cleanup(o->multi);
		curl_global_cleanup();
	}
	mbox_free(o->box);
	directory_free(o->directory);
	mem_free(o);
}

struct directory *
outbound_directory(struct outbound *o)
{

	return (o->directory);
}

static bool
reaches(void *arg, const char *domain)
{
	struct outbound *o = arg;

	return (directory_reaches(o->directory, domain));
}

struct carrier_remote
outbound_carrier(struct outbound *o)
{

	return ((struct carrier_remote){
	    .arg = o, .reaches = reaches, .send = carry_send, .stop = stop});
}
