/* SPDX-License-Identifier: MIT */
/*
 * Two rigs that deliver to each other: ann is at a.example, bob at b.example.
 */
#ifndef CONTRACT_LINKED_H
#define CONTRACT_LINKED_H

#include "contract/far.h"
#include "delivery/receive.h"
#include "upkeep/pair.h"

struct linked {
	struct rig rig;
	const char *name; /* of its person */
	const char *domain;
	char address[LIMIT_ADDRESS_LEN + 1];
	int64_t person, device;
	int64_t origin_id; /* of the other one's destination here */

	struct parcel parcel;
	char from[PARCEL_ITEMS][LIMIT_ADDRESS_LEN + 1];
	struct envelope list[ENVELOPE_ITEMS];
	struct receive_unit unit;
	int nonces;
};

/* Makes both.  ${other} (may be NULL): the database of b, which is an SQLite
 * file whatever the rigs are on. */
void linked_open(struct linked *a, struct linked *b, const char *other);
void linked_close(struct linked *a, struct linked *b);

/* Sends from ${of} to ${to}; the message's id. */
struct uuid linked_send(struct linked *of, const char *to);

/* Takes a request of ${from} to ${to} and brings the answers back; how many
 * envelopes there were. */
size_t linked_carry(struct linked *from, struct linked *to);

/* The same without the request: ${answer} to what ${from} has to send. */
size_t linked_answer(
    struct linked *from, const struct linked *to, enum answer answer);

/* The person of ${of} has message ${id}, or has read it. */
void linked_ack(struct linked *of, const struct uuid *id);
void linked_read(struct linked *of, const struct uuid *id);

/* A uuid as ${of}'s dialect writes it; static storage, of each of 4 calls. */
const char *linked_literal(const struct linked *of, const struct uuid *id);

/* The event id of message ${id}. */
struct uuid linked_event_id(struct linked *of, const struct uuid *id);

/* Keeps the rows of ${of}, and puts them back after changes past its server: to
 * make a rig for each change would take minutes on PostgreSQL. */
void linked_keep(struct linked *of);
void linked_put_back(struct linked *of);

/* Compares both; ${found} as of pair_run(). */
enum rc linked_compare(struct linked *a, struct linked *b, check_found_fn found,
    void *arg, struct pair_report *ret, struct err *err) MUST_USE;

#endif
