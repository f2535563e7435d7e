/* SPDX-License-Identifier: MIT */
/*
 * The life of the kit, and the count of requests under way.
 */
#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "rest/rest_internal.h"

enum rc
rest_new(const struct rest_options *options, struct rest **ret, struct err *err)
{
	const double rate = options->rate_limit;
	struct rest *rest;
	enum rc rc;

	if ((rest = mem_zalloc(1, sizeof(*rest))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "rest"));
	rest->o = *options;
	rest->o.timing = timing_or_real(options->timing);
	lock_init(&rest->poll_lock, LOCK_POLL);
	/* The burst is 2 * rate requests, the requests of two seconds, so that
	 * a client that was away can catch up.  If the rate is below 1 request
	 * a second, the burst is 1 request. */
	if (rate > 0)
		rest->requests = limiter_new(rate, rate < 1 ? 1 : 2 * rate);
	rest->streams = htab_new(sizeof(int64_t));
	if ((rate > 0 && rest->requests == NULL) || rest->streams == NULL)
		rc = err_set(err, RC_NO_MEMORY, "rest");
	else
		rc = pool_new(options->argon2_threads, &rest->pool, err);
	if (rc != RC_OK) {
		rest_free(rest);
		return (rc);
	}
	*ret = rest;
	return (RC_OK);
}

void
rest_stop(struct rest *rest)
{

	atomic_store(&rest->stopped, true);
	pool_stop(rest->pool);
}

bool
rest_stopped(const struct rest *rest)
{

	return (atomic_load(&rest->stopped));
}

size_t
rest_busy(const struct rest *rest)
{

	return (atomic_load(&rest->busy));
}

void
rest_free(struct rest *rest)
{

	if (rest == NULL)
		return;
	if (rest->pool != NULL && !atomic_load(&rest->stopped))
		pool_stop(rest->pool);
	pool_free(rest->pool);
	limiter_free(rest->requests);
	htab_free(rest->streams);
	lock_fini(&rest->poll_lock);
	mem_free(rest);
}

/* ---- requests ---- */

bool
rest_enter(struct rest *rest, struct http_request *req)
{
	struct refusal r = REFUSAL_INIT;

	/* Count the request first, then check stopped.  The thread that stops
	 * the server does the reverse: it sets stopped, then reads busy.  So a
	 * request that passes the check below is in the count which that thread
	 * reads. */
	atomic_fetch_add(&rest->busy, 1);
	if (!atomic_load(&rest->stopped))
		return (true);
	refusal_set(&r, PROBLEM_DRAINING, "", "the server is stopping");
	http_answer_refusal(req, &r);
	atomic_fetch_sub(&rest->busy, 1);
	return (false);
}

void
rest_leave(struct rest *rest)
{

	atomic_fetch_sub(&rest->busy, 1);
}
