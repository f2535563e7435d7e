/* SPDX-License-Identifier: MIT */
/*
 * The servers and their links.  See fed.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/send.h"
#include "contract/rig.h"
#include "sim/client.h"
#include "sim/fed_internal.h"
#include "wire/wire.h"

/* The clocks of two servers differ by at most 120 s, of the 300 s that a
 * signature allows, and seldom by much more. */
#define APART_MS 120000
#define FAR_APART_MS (2 * SIM_HOUR_MS)
#define SIGNED_FOR_S 300

static const char *const domains[FED_KEYS] = {
    "a.example", "b.example", "c.example", FED_HOSTILE_DOMAIN};

/* ---- names ---- */

static bool
reaches(void *arg, const char *domain)
{
	size_t i;

	(void)arg;
	for (i = 0; i < FED_KEYS; i++)
		if (strcmp(domains[i], domain) == 0)
			return (true);
	return (false);
}

const struct addressing *
fed_addressing(const struct sim *s)
{
	static const struct addressing of[SIM_SERVERS] = {
	    {.domain = "a.example", .reaches = reaches},
	    {.domain = "b.example", .reaches = reaches},
	    {.domain = "c.example", .reaches = reaches}};

	return (s->w->fed != NULL ? &of[s->number] : &rig_addressing);
}

struct sim *
fed_peer(const struct sim *s, int slot)
{
	struct world *w = s->w;

	if (slot == SIM_HOSTILE || (size_t)slot + 1 >= w->nsims)
		return (NULL);
	return (&w->sims[((size_t)s->number + 1 + (size_t)slot) % w->nsims]);
}

const char *
fed_domain(const struct sim *s, int slot)
{
	const struct sim *peer = fed_peer(s, slot);

	return (peer != NULL ? peer->domain : FED_HOSTILE_DOMAIN);
}

bool
fed_is_real(const struct sim *s, int slot)
{

	return (s->w->fed != NULL && fed_peer(s, slot) != NULL);
}

int
fed_slot(const struct sim *s, const char *domain)
{
	const struct sim *peer;
	int slot;

	if (s->w->fed == NULL)
		return (domain[0] == 'a' ? 0 : 1);
	for (slot = 0; slot < SIM_HOSTILE; slot++) {
		peer = fed_peer(s, slot);
		if (peer != NULL && strcmp(peer->domain, domain) == 0)
			return (slot);
	}
	assert(strcmp(domain, FED_HOSTILE_DOMAIN) == 0);
	return (SIM_HOSTILE);
}

struct sim *
fed_named(struct world *w, const char *domain)
{
	size_t i;

	for (i = 0; i < w->nsims; i++)
		if (strcmp(w->sims[i].domain, domain) == 0)
			return (&w->sims[i]);
	return (NULL);
}

void
fed_dress(const struct message *m, struct message_draft *draft)
{
	static const char type[] = "text/markdown", order[] = "order-17",
			  metadata[] = "{\"colour\":\"blue\"}";

	draft->content_type = (struct span){type, sizeof(type) - 1};
	draft->correlation_id = (struct span){order, sizeof(order) - 1};
	draft->metadata = (struct span){metadata, sizeof(metadata) - 1};
	draft->has_reply_to = true;
	draft->reply_to = m->id;
}

static const char nobody[] = "nobody@";

bool
fed_is_nobody(const char *to)
{

	return (strncmp(to, nobody, sizeof(nobody) - 1) == 0);
}

void
fed_draw_recipient(struct sim *s, struct message *m)
{
	const char *domain;

	m->peer = s->w->nsims == 2 || sim_chance(s, 650) ? 0 : 1;
	if (sim_chance(s, 100 + s->weather.later / 2))
		m->peer = SIM_HOSTILE;
	domain = fed_domain(s, m->peer);
	m->dressed = sim_chance(s, 300);
	/* Some pairs talk more, so that their messages meet in a lane. */
	if (sim_chance(s, 40))
		(void)snprintf(m->to, sizeof(m->to), "%s%s", nobody, domain);
	else
		(void)snprintf(m->to, sizeof(m->to), "%s@%s",
		    client_names[sim_chance(s, 600)
				     ? 0
				     : (size_t)sim_dice(s, SIM_CLIENTS)],
		    domain);
}

/* ---- requests ---- */

struct post *
fed_post_new(struct world *w, const char *from, const char *to)
{
	struct post *p = calloc(1, sizeof(*p));

	assert(p != NULL);
	(void)snprintf(p->from, sizeof(p->from), "%s", from);
	(void)snprintf(p->to, sizeof(p->to), "%s", to);
	buf_init(&p->body, 0);
	p->next = w->fed->posts;
	w->fed->posts = p;
	w->fed->nposts++;
	return (p);
}

void
fed_post_sign(struct sim *s, struct post *p, const struct fed_key *key,
    const char *key_id)
{
	uint8_t hash[SIGN_SHA256_SIZE], nonce[16];
	struct signature_covered covered;
	struct sign_sha256 sha;
	struct signature sig;
	size_t i;

	sign_sha256_init(&sha);
	sign_sha256_update(&sha, p->body.data, p->body.len);
	sign_sha256_final(&sha, hash);
	signature_digest_write(hash, p->digest);
	covered = (struct signature_covered){.method = "POST",
	    .authority = p->to,
	    .path = FED_PATH,
	    .content_digest = p->digest,
	    .content_type = FED_TYPE,
	    .from = p->from,
	    .to = p->to};
	memset(&sig, 0, sizeof(sig));
	sig.created_s = s->clk.wall_ms / 1000;
	sig.expires_s = sig.created_s + SIGNED_FOR_S;
	(void)snprintf(sig.key_id, sizeof(sig.key_id), "%s", key_id);
	rnd_fill(&s->secrets.rnd, nonce, sizeof(nonce));
	for (i = 0; i < sizeof(nonce); i++)
		(void)snprintf(sig.nonce + 2 * i, 3, "%02x", nonce[i]);
	if (!signature_make(&sig, &covered, key->seed))
		abort();
	signature_write(&sig, p->input, p->value);
}

/* ---- keys ---- */

const struct fed_key *
fed_key_of(const struct world *w, const char *domain)
{
	size_t i;

	for (i = 0; i < FED_KEYS; i++)
		if (strcmp(w->fed->keys[i].domain, domain) == 0)
			return (&w->fed->keys[i]);
	return (NULL);
}

static void
make_key(struct world *w, size_t i)
{
	struct fed_key *key = &w->fed->keys[i];
	struct rnd_seeded rnd;

	rnd_seeded_init(&rnd, 1000 * (key->rotated + 1) + i);
	rnd_fill(&rnd.rnd, key->seed, sizeof(key->seed));
	sign_public(key->seed, key->public);
	(void)snprintf(key->domain, sizeof(key->domain), "%s", domains[i]);
	(void)snprintf(
	    key->id, sizeof(key->id), "key-%c-%u", domains[i][0], key->rotated);
}

/* ${s} signs with a new key from now on, which its peers have to learn. */
static void
rotate(struct sim *s)
{
	const size_t i = (size_t)s->number;

	s->w->fed->keys[i].rotated++;
	make_key(s->w, i);
	s->counts.rotations++;
	sim_tell(s, "key: another one");
}

/* ---- links ---- */

bool
fed_is_cut(const struct sim *from, const struct sim *to)
{

	return (
	    sim_now(from) < from->w->fed->cut_until[from->number][to->number]);
}

void
fed_cuts(struct sim *s, int64_t ms)
{
	struct fed *f = s->w->fed;
	int slot = s->w->nsims == 2 ? 0 : (int)sim_dice(s, SIM_PEERS);
	const struct sim *peer = fed_peer(s, slot);
	uint64_t ways = 1 + sim_dice(s, 3);

	if (sim_chance(s, 200)) {
		rotate(s);
		return;
	}
	if ((ways & 1) != 0)
		f->cut_until[s->number][peer->number] = sim_now(s) + ms;
	if ((ways & 2) != 0)
		f->cut_until[peer->number][s->number] = sim_now(s) + ms;
	sim_tell(s, "link: to and from %s is cut (%d) for %lld ms",
	    peer->domain, (int)ways, (long long)ms);
}

/* ---- weather and calm ---- */

void
fed_weather_draw(struct world *w)
{
	struct weather *r;
	struct sim *s;
	size_t i;

	for (i = 0; i < w->nsims; i++) {
		s = &w->sims[i];
		r = &s->weather;
		r->memory /= 2;
		r->poison = 0;
		if (r->later > 0)
			r->later = 100 + 2 * r->later;
		r->refuse /= 4;
		r->garble = sim_chance(s, 500) ? 0 : (unsigned)sim_dice(s, 200);
		r->hostile =
		    sim_chance(s, 300) ? 0 : 50 + (unsigned)sim_dice(s, 250);
		if (!sim_chance(s, 250))
			r->jump = 0;
		if (r->remote < 300)
			r->remote += 300;
		r->actions = 15 + (int)sim_dice(s, 60);
		/* A lease lasts longer than the carrier waits for an answer, as
		 * in the product. */
		s->setup.lease_ms = 0;
	}
	fed_restore_draw(w);
}

/* Clocks that have jumped are set right, only forward. */
static void
agree(struct world *w)
{
	int64_t latest = 0;
	bool leapt = false;
	struct sim *s;
	size_t i;

	for (i = 0; i < w->nsims; i++) {
		s = &w->sims[i];
		leapt = leapt || s->counts.jumps > 0;
		sim_note_time(s);
		if (latest < s->latest_ms)
			latest = s->latest_ms;
	}
	for (i = 0; i < w->nsims && leapt; i++) {
		s = &w->sims[i];
		s->clk.wall_ms = latest + (int64_t)sim_dice(s, APART_MS);
		s->counts.jumps++;
		sim_disturb(s, SIM_MINUTE_MS);
		sim_tell(s, "clock: put right");
	}
}

void
fed_calms(struct world *w)
{

	memset(w->fed->cut_until, 0, sizeof(w->fed->cut_until));
	w->fed->calm_at = sim_now(&w->sims[0]);
	agree(w);
}

/* ---- life ---- */

/* Sets the clocks apart, in few runs one of them further than signatures
 * allow. */
static void
set_clock(struct sim *s)
{

	s->clk.wall_ms += (int64_t)sim_dice(s, APART_MS);
	if (!sim_chance(s, 30))
		return;
	s->clk.wall_ms += (int64_t)sim_dice(s, FAR_APART_MS);
	s->counts.jumps++;
}

void
fed_begin(struct world *w)
{
	static bool ready;
	size_t i;

	if (!ready)
		wire_init();
	ready = true;
	w->fed = calloc(1, sizeof(*w->fed));
	assert(w->fed != NULL);
	LIST_INIT(&w->fed->hearings);
	LIST_INIT(&w->fed->replies);
	for (i = 0; i < FED_KEYS; i++)
		make_key(w, i);
	for (i = 0; i < w->nsims; i++) {
		(void)snprintf(w->sims[i].domain, sizeof(w->sims[i].domain),
		    "%s", domains[i]);
		set_clock(&w->sims[i]);
	}
}

void
fed_end(struct world *w)
{
	struct fed *f = w->fed;
	struct hearing *h;
	struct reply *r;
	struct post *p;

	if (f == NULL)
		return;
	while ((h = LIST_FIRST(&f->hearings)) != NULL)
		fed_hearing_free(h);
	while ((r = LIST_FIRST(&f->replies)) != NULL)
		fed_reply_free(r);
	fed_restore_end(f);
	while ((p = f->posts) != NULL) {
		f->posts = p->next;
		buf_fini(&p->body);
		free(p);
	}
	free(f);
	w->fed = NULL;
}
