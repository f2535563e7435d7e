/* SPDX-License-Identifier: MIT */
/*
 * Requests of another server on a rig, for the tests of `receive`: Ann and Ben
 * are here, Bob and Cat on the server that sends.
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
extern int nonces; /* how many were used */
extern int64_t origin_id, ann, ann_device, ben;
extern int64_t walk_most;            /* receive_unit.walk_most */
extern size_t new_most;              /* receive_unit.new_most */
extern const uint8_t *signer_public; /* receive_unit.public; NULL at first */

/* A fresh rig, and its end, with all promises kept. */
int open_rig(void **state);
int close_rig(void **state);

struct span span(const char *text);

/* The next envelope of the request: a message, or a receipt of ${kind}. */
struct envelope *add_message(
    const char *from, const char *to, int64_t sequence);
struct envelope *add_receipt(int kind, const char *from, const char *to,
    int64_t sequence, const struct uuid *upto);

/* The request with nonce ${nonce}; the envelopes stay for a repetition. */
void request(const char *nonce, bool full);

/* Makes the next request a unit that is to be handed to the writer. */
void prepare(const char *nonce, bool full);

/* What is said of the request with a fresh nonce: a word for each envelope, in
 * static storage; ${full}: there is no room for messages. */
const char *answers_of(bool full);
const char *answers(void);

/* The event id of the outbox row that ${where} names. */
void take_event_id(struct uuid *ret, const char *where);

/* The rows of ${table}. */
int64_t count(const char *table);

/* Ann writes to Bob; the ids of ${m} messages, all of them sent. */
void send_bob(struct uuid *ids, size_t m);

/* The states of what goes to other servers, in order. */
const char *states(void);

#endif
