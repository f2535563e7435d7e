/* SPDX-License-Identifier: MIT */
/*
 * Several servers that deliver to each other.
 *
 * Each server is a struct sim of its own: database, relay core, people,
 * operator, weather and clock.  What the relay core hands to its carrier
 * becomes a signed request as bytes (fed_send.c); a link carries the bytes, and
 * loses, doubles, delays and reorders them; the other server verifies and reads
 * them and runs its unit `receive` (fed_receive.c); the answer goes back as
 * bytes on the link in the other direction, which may be cut alone.
 *
 * A hostile peer has a key of its own and sees all requests: it replays them,
 * speaks for people of other servers, and sends receipts for what it never got
 * (fed_hostile.c).
 *
 * A peer is called by its slot: each server counts the others from 0, and the
 * hostile peer is SIM_HOSTILE.
 */
#ifndef SIM_FED_H
#define SIM_FED_H

#include "sim/peer.h"
#include "sim/sim.h"

struct addressing;
struct message_draft;

/* ---- fed.c: the servers and their links ---- */

/* Makes the servers of ${w} several: names, keys and clocks. */
void fed_begin(struct world *w);

/* Frees what the federation holds, if there is one; the servers are freed. */
void fed_end(struct world *w);

/* Changes the weather that the servers have drawn to what it is here. */
void fed_weather_draw(struct world *w);

/* ${s} and one of its peers do not reach each other for ${ms}, in one direction
 * or in both; or ${s} has another key. */
void fed_cuts(struct sim *s, int64_t ms);

/* Calm comes: links are whole, clocks agree about as far as they must. */
void fed_calms(struct world *w);

/* The addresses that the people of ${s} may write to; also for the only server
 * of a world. */
const struct addressing *fed_addressing(const struct sim *s);

/* The slot of the server ${domain}, of those that ${s} sends to. */
int fed_slot(const struct sim *s, const char *domain);

/* The domain of ${slot}, and its server; NULL: the hostile peer has none. */
const char *fed_domain(const struct sim *s, int slot);
struct sim *fed_peer(const struct sim *s, int slot);

/* Whether ${slot} is a server with a database, not a simulated peer. */
bool fed_is_real(const struct sim *s, int slot);

/* The server called ${domain}; NULL: none. */
struct sim *fed_named(struct world *w, const char *domain);

/* Gives ${m} a recipient on another server, or one who is not there. */
void fed_draw_recipient(struct sim *s, struct message *m);

/* Gives ${draft} of ${m} what a message may have beside its text. */
void fed_dress(const struct message *m, struct message_draft *draft);

/* Whether nobody has the address ${to}. */
bool fed_is_nobody(const char *to);

/* ---- fed_send.c: the carrier ---- */

/* The request of ${c} leaves; heart_answer() is called with ${c} once, or
 * never, when its server dies. */
void fed_send(struct sim *s, struct cargo *c);

/* ---- fed_foreign.c: the hostile peer as one that is sent something ---- */

/* The request of ${c} is on its way to it. */
void fed_foreign_hears(struct sim *s, struct cargo *c);

/* ---- fed_hostile.c ---- */

/* The hostile peer does one thing to ${victim}. */
void fed_hostile_acts(struct sim *victim);

/* ---- fed_restore.c: a server that goes back to a backup ---- */

/* Decides whether a server does so in this run, and when. */
void fed_restore_draw(struct world *w);

/* Before ${s} does something, with ${left} actions to come: it may keep a
 * backup or be put back now.  Returns ms for which it does nothing instead. */
int64_t fed_restore_acts(struct sim *s, int64_t left);

/* Whether the operator of ${s} keeps the destination ${name} paused. */
bool fed_restore_holds(const struct sim *s, const char *name);

/* Whether a server was stopped to be put back, now or before. */
bool fed_restore_is_under_way(const struct world *w);

/* An answer of ${cargo}'s peer names ${epoch}. */
void fed_restore_hears(
    struct sim *s, const struct cargo *cargo, const char *epoch);

/* Item ${i} of ${cargo}, which was offered again, is answered. */
void fed_restore_answered(struct sim *s, const struct cargo *cargo, size_t i);

/* Whether all that was lost has been offered again; when all else is settled.
 */
bool fed_restore_settled(struct world *w);

/* ---- fed_judge.c, fed_pair.c: the oracle ---- */

/* Whether all that was sent to other servers is acked there, or it is time to
 * look why not. */
bool fed_settled(struct world *w);

/* After a crash and at the end: what came from elsewhere is remembered. */
void fed_judge_kept(struct sim *s);

/* At the end: the servers against each other. */
void fed_judge(struct world *w);

/* How often the recipient of ${m} on another server has it, as ${s} sent it. */
size_t fed_has(struct sim *s, const struct message *m);

#endif
