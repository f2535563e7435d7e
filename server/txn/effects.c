/* SPDX-License-Identifier: MIT */
/*
 * See effects.h.  Each kind of effect is a growing array.
 */
#include <string.h>

#include "base/mem.h"
#include "txn/effects.h"

bool
effects_grow(void **list, size_t n, size_t *cap, size_t size)
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

struct effects *
effects_new(void)
{

	return (mem_zalloc(1, sizeof(struct effects)));
}

static void
release(const struct effect_event *e)
{

	text_unref(e->from);
	text_unref(e->to);
	text_unref(e->message);
}

void
effects_shed(struct effects *effects)
{
	size_t i;

	for (i = 0; i < effects->nevents; i++)
		release(&effects->events[i]);
	mem_free(effects->events);
	mem_free(effects->changes);
	mem_free(effects->acked);
	effects->events = NULL;
	effects->changes = NULL;
	effects->acked = NULL;
	effects->nevents = effects->events_cap = 0;
	effects->nchanges = effects->changes_cap = 0;
	effects->nacked = effects->acked_cap = 0;
}

void
effects_free(struct effects *effects)
{

	if (effects == NULL)
		return;
	effects_shed(effects);
	mem_free(effects->revoked);
	mem_free(effects);
}

size_t
effects_size(const struct effects *effects)
{
	size_t i, n;

	n = sizeof(*effects) +
	    effects->events_cap * sizeof(effects->events[0]) +
	    effects->changes_cap * sizeof(effects->changes[0]) +
	    effects->acked_cap * sizeof(effects->acked[0]) +
	    effects->revoked_cap * sizeof(effects->revoked[0]);
	for (i = 0; i < effects->nevents; i++)
		if (effects->events[i].message != NULL)
			n += effects->events[i].message->len;
	return (n);
}

enum rc
effects_add_event(
    struct effects *effects, const struct effect_event *event, struct err *err)
{
	void *list;

	list = effects->events;
	if (!effects_grow(&list, effects->nevents, &effects->events_cap,
		sizeof(*event))) {
		release(event);
		return (err_set(err, RC_NO_MEMORY, "effects"));
	}
	effects->events = list;
	effects->events[effects->nevents++] = *event;
	return (RC_OK);
}

static const char *const event_names[OUTBOX_EVENTS] = {
#define X(id, name) name,
    OUTBOX_EVENT_TABLE(X)
#undef X
};

const char *
effects_outbox_event_name(enum outbox_event event)
{

	return (event_names[event]);
}

enum rc
effects_add_change(struct effects *effects, const struct effect_change *change,
    struct err *err)
{
	void *list;

	list = effects->changes;
	if (!effects_grow(&list, effects->nchanges, &effects->changes_cap,
		sizeof(*change)))
		return (err_set(err, RC_NO_MEMORY, "effects"));
	effects->changes = list;
	effects->changes[effects->nchanges++] = *change;
	return (RC_OK);
}

enum rc
effects_add_acked(
    struct effects *effects, const struct effect_acked *acked, struct err *err)
{
	void *list;

	list = effects->acked;
	if (!effects_grow(
		&list, effects->nacked, &effects->acked_cap, sizeof(*acked)))
		return (err_set(err, RC_NO_MEMORY, "effects"));
	effects->acked = list;
	effects->acked[effects->nacked++] = *acked;
	return (RC_OK);
}

static enum rc
add_token(struct effects *effects, int64_t device_id,
    const uint8_t token_hash[32], bool kept, struct err *err)
{
	struct effect_revoked *r;
	void *list;

	list = effects->revoked;
	if (!effects_grow(&list, effects->nrevoked, &effects->revoked_cap,
		sizeof(struct effect_revoked)))
		return (err_set(err, RC_NO_MEMORY, "effects"));
	effects->revoked = list;
	r = &effects->revoked[effects->nrevoked++];
	r->device_id = device_id;
	memcpy(r->token_hash, token_hash, sizeof(r->token_hash));
	r->kept = kept;
	return (RC_OK);
}

enum rc
effects_add_revoked(struct effects *effects, int64_t device_id,
    const uint8_t token_hash[32], struct err *err)
{

	return (add_token(effects, device_id, token_hash, false, err));
}

enum rc
effects_add_kept(struct effects *effects, int64_t device_id,
    const uint8_t token_hash[32], struct err *err)
{

	return (add_token(effects, device_id, token_hash, true, err));
}

bool
effects_empty(const struct effects *effects)
{

	return (effects->nevents == 0 && effects->nchanges == 0 &&
		effects->nacked == 0 && effects->nrevoked == 0 &&
		effects->accepted == 0 && effects->replayed == 0);
}
