/* SPDX-License-Identifier: MIT */
/*
 * Several servers that deliver to each other.
 *
 * Each server is a struct sim of its own: database, relay core, people,
 * operator, weather and clock.  The relay core hands a parcel to its carrier.
 * The carrier makes a signed request of it, as bytes (fed_send.c).  A link
 * carries the bytes, and loses, doubles, delays and reorders them.  The other
 * server verifies and reads them and runs its unit `receive` (fed_receive.c).
 * The answer goes back as bytes on the link in the other direction, which can
 * be cut separately.
 *
 * A hostile peer has a key of its own and sees all requests.  It replays them,
 * writes in the name of people of other servers, and sends receipts for
 * messages that it never received (fed_hostile.c).
 *
 * A peer is identified by its slot: each server counts the others from 0, and
 * the hostile peer is SIM_HOSTILE.
 */
#ifndef SIM_FED_H
#define SIM_FED_H

#include "sim/peer.h"
#include "sim/sim.h"

struct addressing;
struct message_draft;

/* ---- fed.c: the servers and their links ---- */

/* Makes ${w} a world of several servers: names, keys and clocks. */
void fed_begin(struct world *w);

/* Frees what belongs to the federation, if there is one.  The servers are
 * already freed. */
void fed_end(struct world *w);

/* Adapts the weather that the servers have drawn to a run of several
 * servers. */
void fed_weather_draw(struct world *w);

/* ${s} and one of its peers do not reach each other for ${ms}, in one direction
 * or in both; or ${s} gets another key. */
void fed_cuts(struct sim *s, int64_t ms);

/* Calm comes: links work, and clocks agree as far as signatures require. */
void fed_calms(struct world *w);

/* Returns the rules for the addresses to which the people of ${s} may write.
 * Works also for the only server of a world. */
const struct addressing *fed_addressing(const struct sim *s);

/* Returns the slot of the server ${domain} among the peers of ${s}. */
int fed_slot(const struct sim *s, const char *domain);

/* The domain of ${slot}, and its server.  The hostile peer has none: NULL. */
const char *fed_domain(const struct sim *s, int slot);
struct sim *fed_peer(const struct sim *s, int slot);

/* Returns true if ${slot} is a server with a database, not a simulated peer. */
bool fed_is_real(const struct sim *s, int slot);

/* Returns the server called ${domain}, or NULL if there is none. */
struct sim *fed_named(struct world *w, const char *domain);

/* Gives ${m} a recipient on another server, who may not exist. */
void fed_draw_recipient(struct sim *s, struct message *m);

/* Gives ${draft} of ${m} the optional parts of a message, such as metadata. */
void fed_dress(const struct message *m, struct message_draft *draft);

/* Returns true if the address ${to} belongs to no user. */
bool fed_is_nobody(const char *to);

/* ---- fed_send.c: the carrier ---- */

/* Sends the request of ${c}.  Then heart_answer() is called with ${c} once, or
 * never, if the sending server dies. */
void fed_send(struct sim *s, struct cargo *c);

/* ---- fed_foreign.c: the hostile peer as a recipient ---- */

/* The request of ${c} is on its way to the hostile peer. */
void fed_foreign_hears(struct sim *s, struct cargo *c);

/* ---- fed_hostile.c ---- */

/* The hostile peer does one thing to ${victim}. */
void fed_hostile_acts(struct sim *victim);

/* ---- fed_restore.c: a server that is restored from a backup ---- */

/* Decides whether a server is restored in this run, and when. */
void fed_restore_draw(struct world *w);

/* Called before each action of ${s}, with ${left} actions to come.  May make a
 * backup of ${s} or restore it now.  Returns for how many ms ${s} does nothing
 * instead of its action; 0: it acts. */
int64_t fed_restore_acts(struct sim *s, int64_t left);

/* Returns true if the operator of ${s} keeps the destination ${name} paused. */
bool fed_restore_holds(const struct sim *s, const char *name);

/* Returns true if a server was stopped to be restored, now or earlier. */
bool fed_restore_is_under_way(const struct world *w);

/* An answer of ${cargo}'s peer names ${epoch}. */
void fed_restore_hears(
    struct sim *s, const struct cargo *cargo, const char *epoch);

/* Item ${i} of ${cargo}, which was offered again, is answered. */
void fed_restore_answered(struct sim *s, const struct cargo *cargo, size_t i);

/* Returns true if all that was lost has been offered again.  Called when all
 * else is settled. */
bool fed_restore_settled(struct world *w);

/* ---- fed_judge.c, fed_pair.c: the oracle ---- */

/* Returns true if all messages to other servers are acked there, or if the time
 * for that is over. */
bool fed_settled(struct world *w);

/* After a crash and at the end: checks that a server remembers all that it
 * received from others. */
void fed_judge_kept(struct sim *s);

/* At the end: compares the servers with each other. */
void fed_judge(struct world *w);

/* Returns how many times the recipient of ${m} on another server has it, as
 * ${s} sent it. */
size_t fed_has(struct sim *s, const struct message *m);

#endif
