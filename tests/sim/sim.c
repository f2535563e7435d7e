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
#include "sim/peer.h"
#include "sim/rows.h"
#include "sim/server.h"

/* When calm has come, all must be settled within so long; a message lives no
 * longer than five days. */
#define PATIENCE_MS (8 * SIM_DAY_MS)
/* So many events are a world that turns for ever. */
#define EVENTS 500000

/* People look and ack, less and less often. */
static void
catch_up(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	clients_catch_up(s);
	sim_after(
	    s, n, catch_up, NULL, n < SIM_HOUR_MS ? n + n / 2 : SIM_HOUR_MS);
}

/* By now only what is for later, by a clock that was put back, may wait. */
static void
look_for_late(struct sim *s, void *arg, int64_t n)
{
	char what[300];

	(void)arg;
	(void)n;
	if (sim_late(s, what, sizeof(what)))
		sim_bad(s, "not settled half a day after all: %s", what);
}

void
calm_comes(struct sim *s)
{
	size_t i;

	sim_tell(s, "calm");
	s->calm = true;
	memset(&s->weather, 0, sizeof(s->weather));
	s->server->doom_at = 0;
	plvfs_fail(server_disk(s), NULL);
	mem_fail_at(0);
	for (i = 0; i < SIM_PEERS; i++)
		s->peers[i].gone_until = 0;
	/* Most clocks are put right soon; the others run behind for days. */
	if (sim_chance(s, 800) && s->clk.wall_ms < s->latest_ms) {
		s->clk.wall_ms = s->latest_ms;
		sim_disturb(s, SIM_MINUTE_MS);
		sim_tell(s, "clock: put right");
	}
	admin_resumes_all(s);
	sim_after(s, 1000, catch_up, NULL, 2000);
	sim_after(s, SIM_DAY_MS / 2, look_for_late, NULL, 0);
}

static void
begin(struct sim *s, const struct sim_options *options)
{
	uint8_t key[16] = {0};

	memset(s, 0, sizeof(*s));
	s->broken = options->broken;
	s->clients = clients_new();
	s->peers = peers_new();
	clk_fake_init(&s->clk, SIM_START_MS);
	rnd_seeded_init(&s->dice, 0);
	rnd_seeded_init(&s->secrets, 0);
	s->server = server_new(s);
	/* The first run has made the template, all others start here, too. */
	sim_events_free(s);
	memset(&s->counts, 0, sizeof(s->counts));
	s->seed = options->seed;
	s->tracing = options->trace;
	s->hash = UINT64_C(14695981039346656037);
	s->order = 0;
	s->bad[0] = '\0';
	/* Tables are walked in an order of the seed's, too. */
	memcpy(key, &s->seed, sizeof(s->seed));
	htab_key_set(key);
	clk_fake_init(&s->clk, SIM_START_MS + SIM_HOUR_MS);
	s->clk.mono_us = 1000; /* 0 stands for never */
	rnd_seeded_init(&s->dice, options->seed);
	rnd_seeded_init(&s->secrets, ~options->seed);
	uuid_gen_init(&s->ids, &s->clk.clk, &s->dice.rnd);
}

static void
play(struct sim *s)
{
	int64_t calm_at = 0;
	bool was_calm = false;
	char what[300];

	while (s->bad[0] == '\0' && sim_step(s)) {
		server_look_after(s);
		if (s->calm && !was_calm) {
			was_calm = true;
			calm_at = sim_now(s);
		}
		if (!was_calm || !sim_settled(s)) {
			if (s->counts.events < EVENTS &&
			    (!was_calm || sim_now(s) - calm_at < PATIENCE_MS))
				continue;
			sim_unsettled(s, what, sizeof(what));
			sim_bad(s, "not settled after all: %s", what);
		}
		return;
	}
}

void
sim_run(const struct sim_options *options, struct sim *ret)
{

	begin(ret, options);
	weather_draw(ret);
	rows_watch(ret);
	server_start(ret);
	weather_begin(ret);
	play(ret);
	if (ret->bad[0] == '\0')
		sim_judge(ret);
	ret->counts.days += (uint64_t)(sim_now(ret) / SIM_DAY_MS);
	rows_watch(NULL);
	sim_events_free(ret);
	server_free(ret);
	admin_free(ret);
	clients_free(ret);
	peers_free(ret);
	charges_free(ret);
}
