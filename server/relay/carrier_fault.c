/* SPDX-License-Identifier: MIT */
/*
 * See carrier_fault.h.  One thread plays all destinations.  The lock protects
 * the queue and ${stopping}; peers belong to the thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>

#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "relay/carrier_fault.h"

/* X(word) */
#define WORDS(X)                                                               \
	X(down)                                                                \
	X(silent)                                                              \
	X(latency)                                                             \
	X(status)                                                              \
	X(retry)                                                               \
	X(reject)                                                              \
	X(none)                                                                \
	X(later)                                                               \
	X(lost)                                                                \
	X(double)                                                              \
	X(wait)                                                                \
	X(large)                                                               \
	X(forget)

struct wishes {
#define X(word) long long word##_;
	WORDS(X)
#undef X
};

/* A destination that is played, and the messages that it has taken in. */
struct peer {
	char name[LIMIT_DOMAIN_LEN + 1];
	FILE *log;
	struct htab *has; /* by message id */
	LIST_ENTRY(peer) entry;
};

struct waiting {
	struct parcel *parcel;
	int64_t at_ms; /* monotonic */
	struct wishes wishes;
	TAILQ_ENTRY(waiting) entry;
};

TAILQ_HEAD(waiting_queue, waiting);

struct carrier_fault {
	char dir[256];
	struct carrier_remote other; /* to servers that are not played */
	const struct clk *clk;
	struct rnd *rnd;
	struct thr *thread;
	struct lock lock;
	pthread_cond_t cond;
	struct waiting_queue queue; /* by time */
	bool stopping;
	LIST_HEAD(peers, peer) peers; /* used by the thread only */
};

static bool
percent(struct carrier_fault *f, long long n)
{

	return (n > 0 && (long long)rnd_below(f->rnd, 100) < n);
}

/* ---- its files ---- */

static void
read_wishes(struct carrier_fault *f, const char *name, struct wishes *ret)
{
	char path[640], line[80], *value;
	FILE *file;

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	if ((file = fopen(path, "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		if ((value = strchr(line, ' ')) == NULL)
			continue;
		*value++ = '\0';
#define X(w)                                                                   \
	if (strcmp(line, #w) == 0)                                             \
		ret->w##_ = strtoll(value, NULL, 10);
		WORDS(X)
#undef X
	}
	(void)fclose(file);
}

static void
remember(struct peer *p, const struct uuid *id)
{

	if (htab_set(p->has, id, p) != RC_OK)
		abort(); /* tests do not run out of memory */
}

/* Reads which messages the peer took in before this process started. */
static void
read_log(struct peer *p, const char *path)
{
	struct uuid id;
	char line[1024];
	FILE *file;

	if ((file = fopen(path, "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strlen(line) > UUID_TEXT_LEN &&
		    uuid_parse(line, UUID_TEXT_LEN, &id))
			remember(p, &id);
	}
	(void)fclose(file);
}

static struct peer *
peer_of(struct carrier_fault *f, const char *name)
{
	char path[640];
	struct peer *p;

	LIST_FOREACH(p, &f->peers, entry)
	if (strcmp(p->name, name) == 0)
		return (p);
	if ((p = mem_zalloc(1, sizeof(*p))) == NULL ||
	    (p->has = htab_new(sizeof(struct uuid))) == NULL)
		abort();
	(void)snprintf(p->name, sizeof(p->name), "%s", name);
	(void)snprintf(path, sizeof(path), "%s/%s.log", f->dir, name);
	read_log(p, path);
	if ((p->log = fopen(path, "ae")) == NULL)
		abort();
	LIST_INSERT_HEAD(&f->peers, p, entry);
	return (p);
}

/* ---- receiving ---- */

/* Decides the answer to one message.  A message that is accepted, and is not
 * answered as a duplicate, gets a line in the log. */
static void
receive(struct carrier_fault *f, struct peer *peer, struct parcel *p,
    struct parcel_item *item, const struct wishes *w)
{
	char text[UUID_TEXT_LEN + 1];

	item->duplicate = false;
	item->retry_after_ms = w->wait_;
	item->error[0] = '\0';
	if (w->forget_ == 0 &&
	    htab_find(peer->has, &item->message_id) != NULL) {
		item->answer = ANSWER_ACCEPTED;
		item->duplicate = true;
		return;
	}
	if (percent(f, w->retry_)) {
		item->answer = ANSWER_RETRYABLE;
		(void)snprintf(item->error, sizeof(item->error), "inbox_full");
		return;
	}
	if (w->large_ > 0 && (long long)item->body_len >= w->large_) {
		item->answer = ANSWER_TOO_LARGE;
		(void)snprintf(
		    item->error, sizeof(item->error), "body_too_large");
		return;
	}
	if (percent(f, w->reject_)) {
		item->answer = ANSWER_REJECTED;
		(void)snprintf(
		    item->error, sizeof(item->error), "unknown_recipient");
		return;
	}
	item->answer = percent(f, w->none_)    ? ANSWER_NONE
		       : percent(f, w->later_) ? ANSWER_LATER
					       : ANSWER_ACCEPTED;
	if (item->answer != ANSWER_ACCEPTED)
		return;
	uuid_format(&item->message_id, text);
	(void)fprintf(peer->log, "%s %s %s %lld %d\n", text,
	    parcel_text(p, item->to), parcel_text(p, item->from),
	    (long long)item->row.lane_seq, item->row.attempts);
	remember(peer, &item->message_id);
}

/* Answers the items in order.  After an item with ANSWER_RETRYABLE or
 * ANSWER_NONE, the later items of its lane get ANSWER_PREDECESSOR, so that they
 * are sent again as well and the lane keeps its order. */
static void
receive_all(struct carrier_fault *f, struct parcel *p, const struct wishes *w)
{
	struct peer *peer = peer_of(f, p->name);
	int64_t held = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (held == p->items[i].row.lane_id) {
			p->items[i].answer = ANSWER_PREDECESSOR;
			continue;
		}
		receive(f, peer, p, &p->items[i], w);
		if (p->items[i].answer == ANSWER_RETRYABLE ||
		    p->items[i].answer == ANSWER_NONE)
			held = p->items[i].row.lane_id;
	}
	/* Flush the log before the answer leaves: if the process is killed in
	 * between, the line is in the file. */
	(void)fflush(peer->log);
}

static void
unreached(struct parcel *p, const char *why)
{

	p->reached = false;
	(void)snprintf(p->error, sizeof(p->error), "%s", why);
	p->finish(p);
}

static void
play(struct carrier_fault *f, struct parcel *p, const struct wishes *w)
{

	p->retry_after_ms = w->wait_;
	if (w->down_ != 0) {
		unreached(p, "connection refused");
	} else if (w->silent_ != 0) {
		unreached(p, "no answer in time");
	} else if (w->status_ != 0 && w->status_ != 200) {
		p->status = (int)w->status_;
		unreached(p, "");
	} else {
		p->status = 200;
		receive_all(f, p, w);
		if (percent(f, w->double_))
			receive_all(f, p, w);
		p->reached = !percent(f, w->lost_);
		if (!p->reached) {
			p->status = 0;
			unreached(p, "the answer was lost");
			return;
		}
		p->finish(p);
	}
}

/* ---- the thread ---- */

/* Returns true if this carrier plays the server ${domain}. */
static bool
is_ours(const char *domain)
{
	static const char suffix[] = ".fault.test";
	const size_t n = strlen(domain);

	return (n > sizeof(suffix) - 1 &&
		strcmp(domain + n - (sizeof(suffix) - 1), suffix) == 0);
}

static void
fault_send(void *arg, struct parcel *parcel)
{
	struct carrier_fault *f = arg;
	struct waiting *w, *at;
	bool stopping;

	if (!is_ours(parcel->name) && f->other.send != NULL) {
		f->other.send(f->other.arg, parcel);
		return;
	}
	if ((w = mem_zalloc(1, sizeof(*w))) == NULL) {
		unreached(parcel, "out of memory");
		return;
	}
	w->parcel = parcel;
	read_wishes(f, parcel->name, &w->wishes);
	w->at_ms =
	    clk_mono_ms(f->clk) +
	    (w->wishes.silent_ != 0 ? parcel->timeout_ms : w->wishes.latency_);
	lock_take(&f->lock);
	stopping = f->stopping;
	TAILQ_FOREACH_REVERSE(at, &f->queue, waiting_queue, entry)
	if (at->at_ms <= w->at_ms)
		break;
	if (!stopping && at != NULL)
		TAILQ_INSERT_AFTER(&f->queue, at, w, entry);
	else if (!stopping)
		TAILQ_INSERT_HEAD(&f->queue, w, entry);
	(void)pthread_cond_broadcast(&f->cond);
	lock_drop(&f->lock);
	if (!stopping)
		return;
	mem_free(w);
	unreached(parcel, "we are stopping");
}

/* Waits until the first element of the queue, which is ordered by time, is due,
 * and removes it from the queue; the caller frees it.  Once fault_stop() was
 * called, removes the first element without waiting, or returns NULL if the
 * queue is empty.  *ret_stopping: whether fault_stop() was called. */
static struct waiting *
next(struct carrier_fault *f, bool *ret_stopping)
{
	struct waiting *w;
	struct timespec ts;

	lock_take(&f->lock);
	for (;;) {
		w = TAILQ_FIRST(&f->queue);
		if (f->stopping ||
		    (w != NULL && w->at_ms <= clk_mono_ms(f->clk)))
			break;
		if (w == NULL) {
			lock_wait(&f->lock, &f->cond);
			continue;
		}
		ts.tv_sec = (time_t)(w->at_ms / 1000);
		ts.tv_nsec = (long)(w->at_ms % 1000) * 1000000;
		(void)lock_wait_until(&f->lock, &f->cond, &ts);
	}
	if (w != NULL)
		TAILQ_REMOVE(&f->queue, w, entry);
	*ret_stopping = f->stopping;
	lock_drop(&f->lock);
	return (w);
}

static void
loop(void *arg)
{
	struct carrier_fault *f = arg;
	struct waiting *w;
	bool stopping;

	while ((w = next(f, &stopping)) != NULL) {
		if (stopping)
			unreached(w->parcel, "we are stopping");
		else
			play(f, w->parcel, &w->wishes);
		mem_free(w);
	}
}

static void
fault_stop(void *arg)
{
	struct carrier_fault *f = arg;

	lock_take(&f->lock);
	f->stopping = true;
	(void)pthread_cond_broadcast(&f->cond);
	lock_drop(&f->lock);
	if (f->thread != NULL)
		thr_join(&f->thread);
	if (f->other.stop != NULL)
		f->other.stop(f->other.arg);
}

/* ---- life ---- */

enum rc
carrier_fault_start(const char *dir, const struct carrier_remote *other,
    const struct clk *clk, struct rnd *rnd, struct carrier_fault **ret,
    struct err *err)
{
	struct carrier_fault *f;
	enum rc rc;

	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return (
		    err_set_sys(err, RC_IO, errno, "fault carrier: %s", dir));
	if ((f = mem_zalloc(1, sizeof(*f))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "fault carrier"));
	(void)snprintf(f->dir, sizeof(f->dir), "%s", dir);
	f->other = *other;
	f->clk = clk;
	f->rnd = rnd;
	TAILQ_INIT(&f->queue);
	LIST_INIT(&f->peers);
	lock_init(&f->lock, LOCK_CARRIER);
	lock_cond_init(&f->cond);
	rc = thr_start(THR_OTHER, 0, loop, f, &f->thread, err);
	if (rc != RC_OK) {
		carrier_fault_free(f);
		return (rc);
	}
	*ret = f;
	return (RC_OK);
}

void
carrier_fault_free(struct carrier_fault *f)
{
	struct peer *p;

	if (f == NULL)
		return;
	fault_stop(f);
	while ((p = LIST_FIRST(&f->peers)) != NULL) {
		LIST_REMOVE(p, entry);
		(void)fclose(p->log);
		htab_free(p->has);
		mem_free(p);
	}
	(void)pthread_cond_destroy(&f->cond);
	lock_fini(&f->lock);
	mem_free(f);
}

static bool
fault_reaches(void *arg, const char *domain)
{
	struct carrier_fault *f = arg;

	return (is_ours(domain) || (f->other.reaches != NULL &&
				       f->other.reaches(f->other.arg, domain)));
}

struct carrier_remote
carrier_fault(struct carrier_fault *f)
{

	return ((struct carrier_remote){.arg = f,
	    .reaches = fault_reaches,
	    .send = fault_send,
	    .stop = fault_stop});
}
