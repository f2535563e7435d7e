/* SPDX-License-Identifier: MIT */
/*
 * What the files of the federation share: requests, links, answers, keys.
 */
#ifndef SIM_FED_INTERNAL_H
#define SIM_FED_INTERNAL_H

#include <sys/queue.h>

#include "delivery/receive.h"
#include "federation/classify.h"
#include "federation/signature.h"
#include "sim/fed.h"
#include "wire/envelope.h"

#define FED_HOSTILE_DOMAIN "m.example"
#define FED_PATH "/v1/federation/deliver"
#define FED_TYPE "application/json"
#define FED_PROBLEM_TYPE "application/problem+json"
#define FED_DOMAIN_SIZE 16

/* The key of a server; the hostile peer's is the last one. */
struct fed_key {
	char domain[FED_DOMAIN_SIZE];
	char id[16];
	unsigned rotated; /* how often */
	uint8_t seed[SIGN_SEED_SIZE];
	uint8_t public[SIGN_PUBLIC_SIZE];
};
#define FED_KEYS (SIM_SERVERS + 1)

/* A request: a head with a signature, and a body. */
struct post {
	struct post *next;
	char from[FED_DOMAIN_SIZE]; /* Twinbox-From */
	char to[FED_DOMAIN_SIZE];   /* Twinbox-To, and the authority */
	char digest[SIGNATURE_DIGEST_SIZE];
	char input[SIGNATURE_INPUT_SIZE];
	char value[SIGNATURE_VALUE_SIZE];
	struct buf body;
	unsigned taken; /* how often a server has taken it in */
};

/* A request that travels to a server, or that the server works on. */
struct hearing {
	LIST_ENTRY(hearing) entry;
	struct sim *s;       /* the receiver */
	struct cargo *cargo; /* to be answered; NULL: the answer goes nowhere */
	struct post *post;

	struct signature signature;
	int64_t origin_id; /* destination of the server that signed */
	bool parsed;
	struct wire_doc doc;
	struct envelope_request request;
	struct receive_unit unit;
	struct unit_kind kind; /* of a unit that is broken on purpose */
	char partner[LIMIT_ADDRESS_LEN + 1]; /* the same */
};

/* What comes back to the sender of a request. */
struct reply {
	LIST_ENTRY(reply) entry;
	struct cargo *cargo;
	enum classify_transport transport;
	int status;
	const char *type;        /* Content-Type */
	const char *retry_after; /* NULL: without one */
	struct buf body;
};

struct fed {
	struct fed_key keys[FED_KEYS];
	struct post *posts; /* all that were sent, the newest first */
	size_t nposts;
	LIST_HEAD(, hearing) hearings;
	LIST_HEAD(, reply) replies;
	/* Simulated ms: nothing arrives from one on the other until then. */
	int64_t cut_until[SIM_SERVERS][SIM_SERVERS];
	int64_t sequence; /* of what the hostile peer's people send */
	int64_t calm_at;  /* simulated ms */
};

/* ---- fed.c ---- */

/* An empty request, which the world keeps. */
struct post *fed_post_new(struct world *w, const char *from, const char *to);

/* The key of ${domain}; NULL: there is no such server. */
const struct fed_key *fed_key_of(const struct world *w, const char *domain);

/* Signs ${p}, whose body is written, by the clock of ${s}, with ${key} under
 * the name ${key_id}. */
void fed_post_sign(struct sim *s, struct post *p, const struct fed_key *key,
    const char *key_id);

/* Whether the link from ${from} to ${to} is cut. */
bool fed_is_cut(const struct sim *from, const struct sim *to);

/* ---- fed_send.c ---- */

/* An answer for ${cargo}, to be filled and sent. */
struct reply *fed_reply_new(struct cargo *cargo, int status);

/* It reaches the sender ${after_ms} from now. */
void fed_reply_send(struct reply *r, int64_t after_ms);
void fed_reply_free(struct reply *r);

/* ---- fed_receive.c ---- */

/* Answers the request of ${h} with what its unit says. */
void fed_answer(struct hearing *h);

/* ${post} arrives at ${to} ${after_ms} from now; the answer is that of ${cargo}
 * (NULL: it goes nowhere). */
void fed_arrives(
    struct sim *to, struct post *post, struct cargo *cargo, int64_t after_ms);
void fed_hearing_free(struct hearing *h);

/* ---- fed_judge.c ---- */

/* The receipt ${e} counts on ${s}: its sender has acked or read that far. */
void fed_judge_receipt(struct sim *s, const struct envelope *e);

#endif
