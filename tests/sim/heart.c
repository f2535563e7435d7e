/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in the simulated server.  See heart.h.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "domain/deliver.h"
#include "domain/release.h"
#include "schema/sql.h"
#include "sim/heart.h"
#include "sim/server.h"
#include "store/outbox.h"

struct heart {
	struct db *db;
	struct deliver_unit deliver;
	struct release_unit release;
	bool delivering, releasing;
	bool turning;
	int64_t turn_at;
	uint64_t turns;
};

static void turn_in(struct sim *s, int64_t ms);

static void
deliver_done(struct deliver_unit *u)
{
	struct sim *s = u->arg;

	s->server->heart->delivering = false;
	if (!s->server->dying)
		turn_in(s, 0);
}

static void
release_done(struct release_unit *u)
{
	struct sim *s = u->arg;

	s->server->heart->releasing = false;
	if (!s->server->dying)
		turn_in(s, 0);
}

static void
take_lane(void *arg, int64_t lane_id)
{
	struct deliver_unit *u = arg;

	if (u->nlanes < DELIVER_LANES)
		u->lanes[u->nlanes++] = lane_id;
}

static void
turn(struct sim *s, void *arg, int64_t n)
{
	struct server *v = s->server;
	struct heart *h = v->heart;
	struct err err = ERR_INIT;
	int64_t last, due, now = s->clk.wall_ms;

	(void)arg;
	if (!v->up || h == NULL || (uint64_t)n != h->turns)
		return;
	h->turning = false;
	if (!h->delivering) {
		deliver_unit_init(&h->deliver);
		h->deliver.finish = deliver_done;
		h->deliver.arg = s;
		if (store_lanes_owing(h->db, now, 0, DELIVER_LANES, take_lane,
			&h->deliver, &last, &err) == RC_OK &&
		    h->deliver.nlanes > 0 &&
		    writer_submit(v->writer, &h->deliver.unit) == RC_OK) {
			h->delivering = true;
			server_turn_soon(s);
		}
	}
	if (!h->releasing &&
	    store_outbox_next_due(h->db, now, &due, &err) == RC_OK &&
	    due != 0 && due <= now) {
		release_unit_init(&h->release);
		h->release.finish = release_done;
		h->release.arg = s;
		if (writer_submit(v->writer, &h->release.unit) == RC_OK) {
			h->releasing = true;
			server_turn_soon(s);
		}
	}
	turn_in(s, 60000);
}

static void
turn_in(struct sim *s, int64_t ms)
{
	struct heart *h = s->server->heart;

	if (h->turning && h->turn_at <= sim_now(s) + ms)
		return;
	h->turning = true;
	h->turn_at = sim_now(s) + ms;
	sim_after(s, ms, turn, NULL, (int64_t)++h->turns);
}

enum rc
heart_new(struct sim *s, const char *url, struct err *err)
{
	static uint64_t turns;
	struct db_options o = {
	    .url = url, .mode = DB_READER, .schema = sim_schema(s)};
	struct heart *h;
	enum rc rc;

	h = mem_zalloc(1, sizeof(*h));
	assert(h != NULL);
	h->turns = turns += 1 << 20;
	s->server->heart = h;
	rc = db_open(&o, &h->db, err);
	if (rc == RC_OK)
		turn_in(s, 0);
	return (rc);
}

void
heart_die(struct sim *s)
{

	(void)s;
}

void
heart_free(struct sim *s)
{
	struct heart *h = s->server->heart;

	if (h == NULL)
		return;
	s->server->heart = NULL;
	db_close(h->db);
	mem_free(h);
}

void
heart_wake(struct sim *s, struct wake *wake)
{

	wake_free(wake);
	if (!s->server->dying)
		turn_in(s, (int64_t)sim_dice(s, 3));
}

void
heart_answer(struct sim *s, struct parcel *parcel)
{

	(void)s;
	(void)parcel;
}
