/* SPDX-License-Identifier: MIT */
/*
 * The weather of a run: the actions of people and the faults, one after
 * another.  Each run has only a few kinds of faults, each with a high or low
 * rate: with all kinds at once, faults would hide each other and a run would
 * reach less.
 */
#include "delivery/deliver.h"
#include "sim/admin.h"
#include "sim/client.h"
#include "sim/fed.h"
#include "sim/peer.h"
#include "sim/server.h"

/* How long a fault of the disk lasts, with its repair and the time in which the
 * relay notices; and the same for a jump of the clock. */
#define FAULT_MS 30000
#define JUMP_MS 60000

/* Returns 0 in half of all runs, otherwise a number up to ${most}. */
static unsigned
some(struct sim *s, unsigned most)
{

	return (sim_chance(s, 500) ? 0 : 1 + (unsigned)sim_dice(s, most));
}

void
weather_draw(struct sim *s)
{
	struct weather *w = &s->weather;
	struct setup *u = &s->setup;

	w->lost = some(s, 250);
	w->crash = some(s, 60);
	w->disk = some(s, 40);
	w->memory = some(s, 40);
	w->jump = some(s, 30);
	w->outage = some(s, 60);
	w->slow = some(s, 200);
	w->refuse = some(s, 400);
	w->later = some(s, 200);
	w->poison = sim_chance(s, 300) ? 30 : 0;
	w->peer_crash = some(s, 200);
	w->twice = some(s, 300);
	w->operator_acts = some(s, 200);
	w->remote = sim_chance(s, 200) ? 0 : (unsigned)sim_dice(s, 1000);
	w->paced = sim_chance(s, 250);
	/* With a low rate and some refusals, lanes have to wait for each
	 * other. */
	if (w->paced) {
		w->remote = 600 + (unsigned)sim_dice(s, 400);
		w->refuse = 100 + (unsigned)sim_dice(s, 300);
	}
	w->gap_ms = sim_chance(s, 500) ? 20 : 2000;
	w->actions = 30 + (int)sim_dice(s, 170);
	if (s->w->fed == NULL && sim_chance(s, 20))
		*w = (struct weather){.piled = true};
	/* With jumps of the clock some runs last for days, and a fast poll
	 * would cost too much. */
	u->poll_ms = w->jump == 0 && sim_chance(s, 250) ? 1000 : 30000;
	u->lease_ms = sim_chance(s, 500) ? 0 : 5000;
	u->expiry_ms = sim_chance(s, 500)
			   ? 5 * SIM_DAY_MS
			   : (5 + (int64_t)sim_dice(s, 60)) * SIM_MINUTE_MS;
	u->pending_most = sim_chance(s, 300) && !w->piled ? 10 : 0;
	u->retry = sim_chance(s, 700) ? RETRY_CHAT : RETRY_RELAY;
	u->at_once = sim_chance(s, 600);
}

/* ---- the clock ---- */

static void
jump_clock(struct sim *s)
{
	int64_t ms =
	    sim_chance(s, 500) ? SIM_DAY_MS : (int64_t)sim_dice(s, SIM_HOUR_MS);

	if (sim_chance(s, 500))
		ms = -ms;
	sim_note_time(s);
	s->clk.wall_ms += ms;
	/* Times from before the jump say nothing about the time after it. */
	s->quiet_from = s->clk.wall_ms + JUMP_MS;
	s->counts.jumps++;
	sim_tell(s, "clock: jumps by %lld ms", (long long)ms);
}

/* ---- the disk ---- */

static void
disk_recovers(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	if (s->server->up && (uint64_t)n == s->server->incarnation)
		plvfs_fail(server_disk(s), NULL);
}

static void
disk_fails(struct sim *s)
{
	struct plvfs_fault f = {0};

	f.at = 1 + sim_dice(s, 40);
	switch (sim_dice(s, 4)) {
	case 0:
		f.calls = PLVFS_WRITE;
		f.code = SQLITE_FULL;
		f.stays = true;
		f.partly = sim_chance(s, 500);
		break;
	case 1:
		f.calls = PLVFS_SYNC;
		f.code = SQLITE_IOERR_FSYNC;
		break;
	case 2:
		f.calls = PLVFS_WRITE;
		f.code = SQLITE_IOERR_WRITE;
		f.partly = sim_chance(s, 500);
		break;
	default:
		f.calls = PLVFS_READ;
		f.code = SQLITE_IOERR_READ;
	}
	sim_tell(s, "disk: call %llu of kind %u will fail with %d",
	    (unsigned long long)f.at, f.calls, f.code);
	plvfs_fail(server_disk(s), &f);
	sim_disturb(s, FAULT_MS);
	sim_after(s, 500 + sim_delay(s), disk_recovers, NULL,
	    (int64_t)s->server->incarnation);
}

/* ---- one action after another ---- */

static void
crash(struct sim *s)
{
	bool by_power = sim_chance(s, 500);

	if (!s->server->up)
		return;
	if (s->w->fed != NULL && sim_chance(s, 300))
		server_drain(s);
	else if (sim_chance(s, 600))
		server_doom(s, 1 + sim_dice(s, 60), by_power);
	else
		server_die(s, by_power);
}

static void
outage(struct sim *s)
{
	int64_t ms;

	if (sim_chance(s, 200))
		ms = (int64_t)sim_dice(s, 4 * SIM_HOUR_MS);
	else
		ms = (int64_t)sim_dice(s, 5 * SIM_MINUTE_MS);
	if (s->w->fed != NULL)
		fed_cuts(s, ms);
	else
		peer_goes(s, (size_t)sim_dice(s, SIM_PEERS), ms);
}

static void
act(struct sim *s, void *arg, int64_t n)
{
	const struct weather *w = &s->weather;
	int64_t rest = s->w->fed != NULL ? fed_restore_acts(s, n) : 0;

	(void)arg;
	if (rest > 0) {
		sim_after(s, rest, act, NULL, n);
		return;
	}
	if (sim_chance(s, w->crash))
		crash(s);
	else if (s->server->up && sim_chance(s, w->disk))
		disk_fails(s);
	else if (sim_chance(s, w->memory))
		server_starve(s);
	else if (sim_chance(s, w->jump))
		jump_clock(s);
	else if (sim_chance(s, w->outage))
		outage(s);
	else if (w->hostile > 0 && sim_chance(s, w->hostile))
		fed_hostile_acts(s);
	else if (w->paced && n % 8 == 0)
		admin_paces(s);
	else if (sim_chance(s, w->operator_acts))
		admin_acts(s);
	else
		client_acts(s, (size_t)sim_dice(s, SIM_CLIENTS));
	if (n > 1)
		sim_after(s,
		    sim_chance(s, 400)
			? 0
			: (int64_t)sim_dice(s, (uint64_t)w->gap_ms * 2),
		    act, NULL, n - 1);
	else
		sim_rests(s);
}

/* One person sends to another one on this server, where deliveries are paused,
 * more messages than one turn delivers from a lane.  No other action takes
 * place. */
static void
pile_up(struct sim *s, void *arg, int64_t n)
{

	(void)arg;
	if (n == 0)
		sim_rests(s);
	else
		client_piles_up(s, n);
}

void
weather_begin(struct sim *s)
{
	size_t i;

	for (i = 0; i < SIM_PEERS; i++)
		s->peers[i].careless = sim_chance(s, 300);
	if (!s->weather.piled) {
		sim_after(s, 0, act, NULL, s->weather.actions);
		return;
	}
	admin_pauses_here(s);
	sim_after(s, 1000, pile_up, NULL,
	    DELIVER_ROWS + (sim_chance(s, 700) ? 1 : (int64_t)sim_dice(s, 4)));
	sim_after(s, SIM_MINUTE_MS, pile_up, NULL, 0);
}
