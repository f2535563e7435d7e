/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays of what a transaction has to tell.
 */
#include <string.h>

#include "base/mem.h"
#include "txn/effects.h"

/* Room for one more item in ${*list}; false: no memory. */
static bool
grow(void **list, size_t n, size_t *cap, size_t size)
{
	size_t want;
	void *p;

	if (n < *cap)
		return (true);
	want = *cap == 0 ? 32 : *cap * 2;
	p = mem_realloc(*list, want * size);
	if (p == NULL)
		return (false);
	*list = p;
	*cap = want;
	return (true);
}

struct news *
news_new(void)
{

	return (mem_zalloc(1, sizeof(struct news)));
}

static void
release(const struct domain_event *e)
{

	text_unref(e->from);
	text_unref(e->to);
	text_unref(e->message);
}

void
news_shed(struct news *news)
{
	size_t i;

	for (i = 0; i < news->nevents; i++)
		release(&news->events[i]);
	mem_free(news->events);
	mem_free(news->changes);
	mem_free(news->acked);
	news->events = NULL;
	news->changes = NULL;
	news->acked = NULL;
	news->nevents = news->events_cap = 0;
	news->nchanges = news->changes_cap = 0;
	news->nacked = news->acked_cap = 0;
}

void
news_free(struct news *news)
{

	if (news == NULL)
		return;
	news_shed(news);
	mem_free(news->revoked);
	mem_free(news);
}

size_t
news_size(const struct news *news)
{
	size_t i, n;

	n = sizeof(*news) + news->events_cap * sizeof(news->events[0]) +
	    news->changes_cap * sizeof(news->changes[0]) +
	    news->acked_cap * sizeof(news->acked[0]) +
	    news->revoked_cap * sizeof(news->revoked[0]);
	for (i = 0; i < news->nevents; i++)
		if (news->events[i].message != NULL)
			n += news->events[i].message->len;
	return (n);
}

enum rc
news_add_event(
    struct news *news, const struct domain_event *event, struct err *err)
{
	void *list;

	list = news->events;
	if (!grow(&list, news->nevents, &news->events_cap, sizeof(*event))) {
		release(event);
		return (err_set(err, RC_NO_MEMORY, "news"));
	}
	news->events = list;
	news->events[news->nevents++] = *event;
	return (RC_OK);
}

static const char *const event_names[OUTBOX_EVENTS] = {
#define X(id, name) name,
    OUTBOX_EVENT_TABLE(X)
#undef X
};

const char *
outbox_event_name(enum outbox_event event)
{

	return (event_names[event]);
}

enum rc
news_add_change(
    struct news *news, const struct domain_change *change, struct err *err)
{
	void *list;

	list = news->changes;
	if (!grow(&list, news->nchanges, &news->changes_cap, sizeof(*change)))
		return (err_set(err, RC_NO_MEMORY, "news"));
	news->changes = list;
	news->changes[news->nchanges++] = *change;
	return (RC_OK);
}

enum rc
news_add_acked(
    struct news *news, const struct domain_acked *acked, struct err *err)
{
	void *list;

	list = news->acked;
	if (!grow(&list, news->nacked, &news->acked_cap, sizeof(*acked)))
		return (err_set(err, RC_NO_MEMORY, "news"));
	news->acked = list;
	news->acked[news->nacked++] = *acked;
	return (RC_OK);
}

enum rc
news_add_revoked(struct news *news, int64_t device_id,
    const uint8_t token_hash[32], struct err *err)
{
	struct domain_revoked *r;
	void *list;

	list = news->revoked;
	if (!grow(&list, news->nrevoked, &news->revoked_cap,
		sizeof(struct domain_revoked)))
		return (err_set(err, RC_NO_MEMORY, "news"));
	news->revoked = list;
	r = &news->revoked[news->nrevoked++];
	r->device_id = device_id;
	memcpy(r->token_hash, token_hash, sizeof(r->token_hash));
	return (RC_OK);
}

bool
news_empty(const struct news *news)
{

	return (news->nevents == 0 && news->nchanges == 0 &&
		news->nacked == 0 && news->nrevoked == 0 &&
		news->accepted == 0 && news->replayed == 0);
}

struct wake *
wake_new(void)
{

	return (mem_zalloc(1, sizeof(struct wake)));
}

void
wake_free(struct wake *wake)
{

	if (wake == NULL)
		return;
	mem_free(wake->lanes);
	mem_free(wake->destinations);
	mem_free(wake);
}

enum rc
wake_add(struct wake *wake, int64_t lane_id, int priority, struct err *err)
{
	struct wake_lane *last;
	void *list;

	last = wake->nlanes > 0 ? &wake->lanes[wake->nlanes - 1] : NULL;
	if (last != NULL && last->lane_id == lane_id) {
		if (last->priority < priority)
			last->priority = priority;
		return (RC_OK);
	}
	list = wake->lanes;
	if (!grow(&list, wake->nlanes, &wake->cap, sizeof(*last)))
		return (err_set(err, RC_NO_MEMORY, "wake"));
	wake->lanes = list;
	wake->lanes[wake->nlanes++] = (struct wake_lane){lane_id, priority};
	return (RC_OK);
}

enum rc
wake_add_destination(struct wake *wake, int64_t destination_id, struct err *err)
{
	void *list = wake->destinations;

	if (wake->ndestinations > 0 &&
	    wake->destinations[wake->ndestinations - 1] == destination_id)
		return (RC_OK);
	if (!grow(&list, wake->ndestinations, &wake->destinations_cap,
		sizeof(int64_t)))
		return (err_set(err, RC_NO_MEMORY, "wake"));
	wake->destinations = list;
	wake->destinations[wake->ndestinations++] = destination_id;
	return (RC_OK);
}

bool
wake_empty(const struct wake *wake)
{

	return (wake->nlanes == 0 && wake->ndestinations == 0 && !wake->desk);
}
