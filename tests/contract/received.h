/* SPDX-License-Identifier: MIT */
/*
 * Requests of another server on a rig, for the tests of `receive`: Ann and Ben
 * are users of this server, Bob and Cat of the server that sends.
 */
#ifndef CONTRACT_RECEIVED_H
#define CONTRACT_RECEIVED_H

#include "contract/far.h"
#include "delivery/receive.h"
#include "model/event.h"

#define HERE "b.example"
#define FAR "a.example"
#define ANN "ann@" HERE
#define BEN "ben@" HERE
#define BOB "bob@" FAR
#define CAT "cat@" FAR
#define STRANGER "eve@c.example"

extern struct rig rig;
extern struct receive_unit unit;             /* of the last request */
extern struct envelope list[ENVELOPE_ITEMS]; /* the next request */
extern size_t n;
extern int nonces; /* the number of nonces used */
extern int64_t origin_id, ann, ann_device, ben;
extern int64_t walk_most;            /* receive_unit.walk_most */
extern size_t new_most;              /* receive_unit.new_most */
extern const uint8_t *signer_public; /* receive_unit.public; NULL at first */

/* Fixtures: open a new rig, and close it after checking all promises.
 * open_impatient() opens one whose writer has the real times, so that it defers
 * requests whose rows another connection has locked. */
int open_rig(void **state);
int open_impatient(void **state);
int close_rig(void **state);

struct span span(const char *text);

/* Add an envelope to the next request: a message, or a receipt of ${kind}. */
struct envelope *add_message(
    const char *from, const char *to, int64_t sequence);
struct envelope *add_receipt(int kind, const char *from, const char *to,
    int64_t sequence, const struct uuid *upto);

/* Sends the request with nonce ${nonce}.  The envelopes stay, so that the test
 * can repeat the request. */
void request(const char *nonce, bool full);

/* Prepares the next request as a unit, which the test submits itself. */
void prepare(const char *nonce, bool full);

/* Sends the request with a new nonce and returns the answers: a word for each
 * envelope, in static storage.  ${full}: there is no room for messages. */
const char *answers_of(bool full);
const char *answers(void);

/* Reads the event id of the outbox row that ${where} selects. */
void take_event_id(struct uuid *ret, const char *where);

/* Returns the number of rows of ${table}. */
int64_t count(const char *table);

/* Ann sends ${m} messages to Bob, which the other server takes.  Their ids go
 * to ${ids}. */
void send_bob(struct uuid *ids, size_t m);

/* Returns the states of the messages to other servers, in order. */
const char *states(void);

#endif
