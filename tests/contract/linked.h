/* SPDX-License-Identifier: MIT */
/*
 * Two rigs that deliver to each other: Ann is at a.example, Bob at b.example.
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
	int64_t origin_id; /* the other server's destination id here */

	struct parcel parcel;
	char from[PARCEL_ITEMS][LIMIT_ADDRESS_LEN + 1];
	struct envelope list[ENVELOPE_ITEMS];
	struct receive_unit unit;
	int nonces;
};

/* Opens both rigs.  ${other} (may be NULL) names the database of b, an SQLite
 * file, whatever database the other rigs use. */
void linked_open(struct linked *a, struct linked *b, const char *other);
void linked_close(struct linked *a, struct linked *b);

/* Sends from the person of ${of} to ${to}.  Returns the message's id. */
struct uuid linked_send(struct linked *of, const char *to);

/* Carries one request from ${from} to ${to} and the answers back.  Returns the
 * number of envelopes. */
size_t linked_carry(struct linked *from, struct linked *to);

/* Without a request, gives ${answer} to everything that ${from} has to send.
 * Returns the number of messages. */
size_t linked_answer(
    struct linked *from, const struct linked *to, enum answer answer);

/* The person of ${of} acks, or reads, up to message ${id}. */
void linked_ack(struct linked *of, const struct uuid *id);
void linked_read(struct linked *of, const struct uuid *id);

/* Returns a uuid as a literal in the SQL of ${of}'s database, in one of four
 * static buffers. */
const char *linked_literal(const struct linked *of, const struct uuid *id);

/* Returns the event id of message ${id}. */
struct uuid linked_event_id(struct linked *of, const struct uuid *id);

/* Keeps the rows of ${of}, and puts them back after a test has changed them
 * behind the server.  A new rig for each change would take minutes on
 * PostgreSQL. */
void linked_keep(struct linked *of);
void linked_put_back(struct linked *of);

/* Compares both databases with pair_run(), which calls ${found}. */
enum rc linked_compare(struct linked *a, struct linked *b, check_found_fn found,
    void *arg, struct pair_report *ret, struct err *err) MUST_USE;

#endif
