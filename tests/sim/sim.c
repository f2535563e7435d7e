/* SPDX-License-Identifier: MIT */
/*
 * A run: weather, calm, judgement.  See sim.h.
 */
#include <assert.h>
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "sim/admin.h"
#include "sim/charges.h"
#include "sim/client.h"
#include "sim/fed.h"
#include "sim/peer.h"
#include "sim/rows.h"
#include "sim/server.h"

/* Everything must be settled this long after calm has come.  A message lives
 * for at most five days. */
#define PATIENCE_MS (8 * SIM_DAY_MS)
/* A server with more events is in an endless loop. */
#define EVENTS 500000

/* People look and ack, at longer and longer intervals. */
static void
catch_up(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	clients_catch_up(s);
	sim_after(
	    s, n, catch_up, NULL, n < SIM_HOUR_MS ? n + n / 2 : SIM_HOUR_MS);
}

/* By now only messages that are scheduled by a clock which was put back may
 * wait. */
static void
look_for_late(struct sim *s, void *arg, int64_t n)
{
	char what[300];

	(void)arg;
	(void)n;
	if (sim_late(s, what, sizeof(what)))
		sim_bad(s, "not settled half a day after all: %s", what);
}

static void
calm_comes(struct sim *s)
{
	size_t i;

	sim_tell(s, "calm");
	s->calm = true;
	memset(&s->weather, 0, sizeof(s->weather));
	s->server->doom_at = 0;
	s->server->starve = 0;
	plvfs_fail(server_disk(s), NULL);
	mem_fail_at(0);
	for (i = 0; i < SIM_PEERS; i++)
		s->peers[i].gone_until = 0;
	/* Most clocks are put right soon; the others stay behind for days.  The
	 * clocks of several servers have to agree (fed_calms). */
	if (s->w->fed == NULL && sim_chance(s, 800) &&
	    s->clk.wall_ms < s->latest_ms) {
		s->clk.wall_ms = s->latest_ms;
		sim_disturb(s, SIM_MINUTE_MS);
		sim_tell(s, "clock: put right");
	}
	admin_resumes_all(s);
	sim_after(s, 1000, catch_up, NULL, 2000);
	sim_after(s, SIM_DAY_MS / 2, look_for_late, NULL, 0);
}

void
sim_rests(struct sim *s)
{
	struct world *w = s->w;
	size_t i;

	s->rests = true;
	for (i = 0; i < w->nsims; i++)
		if (!w->sims[i].rests)
			return;
	if (w->fed != NULL)
		fed_calms(w);
	for (i = 0; i < w->nsims; i++)
		calm_comes(&w->sims[i]);
}

/* ---- a run ---- */

/* Makes servers on new disks, at the time at which all runs begin.  The first
 * run of the process makes the template of their databases. */
static void
begin_servers(struct world *w)
{
	struct sim *s;
	size_t i;

	rnd_seeded_init(&w->dice, 0);
	for (i = 0; i < w->nsims; i++) {
		s = &w->sims[i];
		s->w = w;
		s->number = (int)i;
		s->clients = clients_new();
		s->peers = peers_new();
		clk_fake_init(&s->clk, SIM_START_MS);
		rnd_seeded_init(&s->secrets, 0);
		s->server = server_new(s);
		memset(&s->counts, 0, sizeof(s->counts));
	}
	sim_events_free(w);
}

static void
begin(struct world *w, const struct sim_options *options)
{
	uint8_t key[16] = {0};
	struct sim *s;
	size_t i;

	memset(w, 0, sizeof(*w));
	w->broken = options->broken;
	w->nsims = !options->several ? 1 : options->seed % 4 == 0 ? 2 : 3;
	begin_servers(w);
	w->seed = options->seed;
	w->tracing = options->trace;
	w->hash = UINT64_C(14695981039346656037);
	w->order = 0;
	w->bad[0] = '\0';
	/* The seed also decides the order in which hash tables are walked. */
	memcpy(key, &w->seed, sizeof(w->seed));
	htab_key_set(key);
	rnd_seeded_init(&w->dice, options->seed);
	for (i = 0; i < w->nsims; i++) {
		s = &w->sims[i];
		clk_fake_init(&s->clk, SIM_START_MS + SIM_HOUR_MS);
		s->clk.mono_us = 1000; /* 0 stands for never */
		rnd_seeded_init(&s->secrets, ~options->seed - i);
		uuid_gen_init(&s->ids, &s->clk.clk, &w->dice.rnd);
	}
	if (options->several)
		fed_begin(w);
}

static bool
settled(struct world *w)
{
	size_t i;

	/* Checked only now and then, because it costs more than an event. */
	if (w->steps % 16 != 0)
		return (false);
	for (i = 0; i < w->nsims; i++)
		if (!sim_settled(&w->sims[i]))
			return (false);
	return (w->fed == NULL || fed_settled(w));
}

static void
unsettled(struct world *w)
{
	char what[300] = "";
	size_t i;

	for (i = 0; i < w->nsims; i++)
		if (!sim_settled(&w->sims[i]))
			break;
	i = i < w->nsims ? i : 0;
	sim_unsettled(&w->sims[i], what, sizeof(what));
	sim_bad(&w->sims[i], "not settled after all: %s", what);
}

static void
play(struct world *w)
{
	const struct sim *s = &w->sims[0];
	int64_t calm_at = 0;
	bool was_calm = false;
	size_t i;

	while (w->bad[0] == '\0' && sim_step(w)) {
		for (i = 0; i < w->nsims; i++)
			server_look_after(&w->sims[i]);
		if (s->calm && !was_calm) {
			was_calm = true;
			calm_at = sim_now(s);
		}
		if (was_calm && settled(w))
			return;
		if (w->steps < EVENTS * w->nsims &&
		    (!was_calm || sim_now(s) - calm_at < PATIENCE_MS))
			continue;
		unsettled(w);
	}
}

static void
judge(struct world *w)
{
	size_t i;

	for (i = 0; i < w->nsims && w->bad[0] == '\0'; i++)
		sim_judge(&w->sims[i]);
	if (w->fed != NULL && w->bad[0] == '\0')
		fed_judge(w);
}

static void
end(struct world *w)
{
	struct sim *s;
	size_t i;

	rows_watch(NULL);
	sim_events_free(w);
	for (i = 0; i < w->nsims; i++) {
		s = &w->sims[i];
		server_free(s);
		admin_free(s);
		clients_free(s);
		peers_free(s);
		charges_free(s);
	}
	fed_end(w);
}

void
sim_run(const struct sim_options *options, struct world *ret)
{
	struct sim *s;
	size_t i;

	begin(ret, options);
	for (i = 0; i < ret->nsims; i++)
		weather_draw(&ret->sims[i]);
	if (ret->fed != NULL)
		fed_weather_draw(ret);
	for (i = 0; i < ret->nsims; i++) {
		s = &ret->sims[i];
		rows_watch(s);
		server_start(s);
		weather_begin(s);
	}
	play(ret);
	if (ret->bad[0] == '\0')
		judge(ret);
	s = &ret->sims[0];
	s->counts.days += (uint64_t)(sim_now(s) / SIM_DAY_MS);
	end(ret);
}
