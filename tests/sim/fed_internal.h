/* SPDX-License-Identifier: MIT */
/*
 * Structures and functions that the files of the federation share: requests,
 * links, answers, keys.
 */
#ifndef SIM_FED_INTERNAL_H
#define SIM_FED_INTERNAL_H

#include <sqlite3.h>
#include <sys/queue.h>

#include "delivery/peers.h"
#include "delivery/promise.h"
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

/* The key of a server.  The hostile peer's is the last one. */
struct fed_key {
	char domain[FED_DOMAIN_SIZE];
	char id[16];
	unsigned rotated; /* times */
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
	unsigned taken; /* how many times a server took it in */
	unsigned kept;  /* the same, in the backup of that server */
};

/* A request on its way to a server, or in the server's work. */
struct hearing {
	LIST_ENTRY(hearing) entry;
	struct sim *s;       /* the receiver */
	struct cargo *cargo; /* to be answered; NULL: the answer is lost */
	struct post *post;

	struct signature signature;
	int64_t origin_id; /* destination of the server that signed */
	bool parsed;
	struct wire_doc doc;
	struct envelope_request request;
	struct receive_unit unit;
	struct unit_kind kind; /* of a unit with a defect on purpose */
	/* Acks of events that were answered with "later"; the rows that wait
	 * for them, and the attempts of these rows. */
	struct promise_unit promise;
	struct unit_kind promise_kind;
	int64_t waiting[ENVELOPE_ACKS], attempts[ENVELOPE_ACKS];
	char partner[LIMIT_ADDRESS_LEN + 1]; /* for defects */
};

/* The answer on its way to the sender of a request. */
struct reply {
	LIST_ENTRY(reply) entry;
	struct cargo *cargo;
	enum classify_transport transport;
	int status;
	const char *type;        /* Content-Type */
	const char *retry_after; /* NULL: no such header */
	struct buf body;
};

/* The work of one server's operator on a restored peer. */
struct mending {
	struct sim *s;
	bool hold; /* the peer stays paused until all is offered again */
	int64_t paused_at;    /* simulated ms: paused since; 0: not yet */
	bool due;             /* the lanes there are to be offered again */
	bool done;            /* they were, at least once */
	uint64_t incarnation; /* whose rewinds were submitted; 0: none */
	size_t left;          /* rewinds without an answer */
	bool failed;
	/* The peer's epoch, as this incarnation of the server has learned it;
	 * "": not yet. */
	char known[ENVELOPE_EPOCH_LEN + 1];
	uint64_t known_by;
};

enum restore_stage {
	RESTORE_NONE,
	RESTORE_KEPT, /* there is a backup */
	RESTORE_DOWN, /* stopped */
	RESTORE_BACK  /* started from the backup */
};

/* A server that is restored from a backup. */
struct restore {
	struct sim *victim; /* NULL: no server is restored in this run */
	enum restore_stage stage;
	bool told; /* operators agree on pauses before it is back */
	int64_t keep_at, begin_at; /* as numbers of actions to come */
	int64_t down_at;           /* simulated ms */
	int64_t down_ms;
	int64_t final_at; /* all is offered again at the end; 0: not yet */
	struct plvfs *backup, *replaced;
	sqlite3 *past;                  /* the replaced database */
	int64_t back_wall[SIM_SERVERS]; /* when it was back, by their clocks */
	struct mending mendings[SIM_SERVERS];

	/* The state of the clients and the judge when the backup was made. */
	struct client *clients;
	size_t nmessages;
	bool promised[SIM_MESSAGES], canceled[SIM_MESSAGES];
	size_t nconfirmed, ncharges;
	size_t ntaken; /* by the hostile peer */

	/* Messages that people offer again, in their order. */
	size_t offers[SIM_MESSAGES], noffers, offered;
};

struct fed {
	struct fed_key keys[FED_KEYS];
	struct post *posts; /* all requests of the run, the newest first */
	size_t nposts;
	LIST_HEAD(, hearing) hearings;
	LIST_HEAD(, reply) replies;
	/* Simulated ms: until then nothing from the first server arrives on the
	 * second. */
	int64_t cut_until[SIM_SERVERS][SIM_SERVERS];
	int64_t sequence; /* of envelopes from the hostile peer's people */
	int64_t calm_at;  /* simulated ms */
	struct restore restore;
};

/* ---- fed.c ---- */

/* Makes an empty request, which the world keeps. */
struct post *fed_post_new(struct world *w, const char *from, const char *to);

/* Returns the key of ${domain}, or NULL if there is no such server. */
const struct fed_key *fed_key_of(const struct world *w, const char *domain);

/* Signs ${p}, whose body is written, at the time of ${s}'s clock, with ${key}
 * under the name ${key_id}. */
void fed_post_sign(struct sim *s, struct post *p, const struct fed_key *key,
    const char *key_id);

/* Returns true if the link from ${from} to ${to} is cut. */
bool fed_is_cut(const struct sim *from, const struct sim *to);

/* ---- fed_send.c ---- */

/* Makes an answer for ${cargo}, which the caller fills and sends. */
struct reply *fed_reply_new(struct cargo *cargo, int status);

/* The answer reaches the sender in ${after_ms}. */
void fed_reply_send(struct reply *r, int64_t after_ms);
void fed_reply_free(struct reply *r);

/* ---- fed_receive.c ---- */

/* Refuses the request of ${h}. */
void fed_refuse(struct hearing *h, int status, const char *problem);

/* Answers the request of ${h} with the results of its unit. */
void fed_answer(struct hearing *h);

/* ${post} arrives at ${to} in ${after_ms}.  The answer goes to ${cargo}, or is
 * lost if ${cargo} is NULL. */
void fed_arrives(
    struct sim *to, struct post *post, struct cargo *cargo, int64_t after_ms);
void fed_hearing_free(struct hearing *h);

/* ${s} reads the document of ${domain}, if there is such a server. */
void fed_learn(struct sim *s, const char *domain);

/* ---- fed_promise.c ---- */

/* Settles the acks of ${h}, whose envelopes are already taken, before it is
 * answered.  Returns false if it has no acks. */
bool fed_promise_settle(struct hearing *h);

/* ---- fed_restore.c ---- */

/* The document of ${domain} was read.  ${u} says what was new. */
void fed_restore_learned(struct sim *s, const struct peer_unit *u);

/* ---- fed_past.c: the database that was replaced ---- */

/* Returns the restored server of ${w}, or NULL if there is none. */
struct restore *fed_restored(const struct world *w);
void fed_restore_end(struct fed *f);

/* Prepares a statement on the database that ${s} had before it was restored.
 * Returns NULL if it was not restored. past_asked() ends the use of the
 * statement. */
sqlite3_stmt *past_ask(const struct sim *s, const char *sql);
void past_asked(sqlite3_stmt *st);

/* Checks that the restored server has again all that ${s} calls sent to it. */
void past_judge_mended(struct sim *s);

/* Returns true if ${s} had message ${id} before it was restored. */
bool past_has_message(const struct sim *s, const struct uuid *id);

/* Returns true if fsck --with-peer may report ${what} at ${place} between ${a}
 * and ${b}, because one of them was restored. */
bool past_explains(const struct sim *a, const struct sim *b, const char *what,
    const char *place);

/* ---- fed_pair.c ---- */

/* Checks that twinboxd fsck --with-peer reports nothing between ${a} and ${b}
 * that a restore does not explain. */
void fed_pair_judge(struct sim *a, struct sim *b);

/* ---- fed_judge.c ---- */

/* Checks that the receipt ${e} is true, which ${s} has accepted: its sender has
 * acked or read that far. */
void fed_judge_receipt(struct sim *s, const struct envelope *e);

#endif
