/* SPDX-License-Identifier: MIT */
/*
 * The routes for other servers on a real port, with a directory that knows two
 * keys and a writer that the test plays; and a peer that signs what the test
 * wants, rightly or wrongly.
 */
#ifndef TESTS_INBOUND_FIXTURE_H
#define TESTS_INBOUND_FIXTURE_H

#include "http_fixture.h"

#include "delivery/receive.h"
#include "federation/inbound.h"

#define HERE "b.example"
#define FAR "a.example"
#define FAR_ID 17 /* of its destination */
#define BLOCKED "blocked.example"
#define KEY "k7f3a9c2"
#define EPOCH "01890a5d-ac96-774b-bcce-b302099a8057"
#define NOW_S 1700000010
#define CREATED_S 1700000000
#define PATH "/v1/federation/deliver"

/* A signed request, as it is right; what a test changes is changed after it was
 * signed. */
struct signed_request {
	/* Signed. */
	const char *authority, *path, *type, *from, *to, *key_id, *nonce;
	int64_t created_s, expires_s;
	const char *body;
	/* Sent. */
	const char *target;    /* NULL: path */
	const char *sent_type; /* NULL: type; the same for these: */
	const char *sent_from, *sent_to, *sent_digest, *sent_input, *sent_value;
	const char *leave_out; /* a header */
	const char *extra;     /* header lines */
	const char *sent_body; /* NULL: body */
	size_t announced;      /* 0: the length of what is sent */
};

extern const struct signed_request right;

/* The request ${r} as text: head and body; static storage. */
const char *request_text(const struct signed_request *r);

/* Its head alone. */
const char *request_head(const struct signed_request *r);

/* The server. */
struct played_inbound {
	struct fixture f; /* for the client's functions */
	struct inbound *in;
	struct metrics *metrics;
	atomic_llong now_s;
	atomic_bool disk_low;
	enum rc submit_rc; /* of writer_submit() */
	bool at_once;      /* each unit is done when it comes */
	_Atomic(struct receive_unit *) waiting; /* with the writer */
	atomic_int submitted;
	atomic_bool pinned; /* the signer is: then it is FAR_ID + 1 */
	atomic_int contacts;
	atomic_bool contact_alone; /* the last one */
};

extern struct played_inbound played;

/* How often the directory was told to forget FAR. */
extern atomic_int played_forgotten;

/* The public key of FAR, SIGN_PUBLIC_SIZE bytes. */
const uint8_t *played_public(void);

/* A key that the directory knows beside those of ${right}; NULL: none.  False:
 * it does not know it. */
extern bool (*played_key)(
    const char *domain, const char *key_id, uint8_t ret[SIGN_PUBLIC_SIZE]);

/* inbound_options.body_bytes of the servers that are opened from now on. */
extern size_t inbound_body_bytes;

/* For cmocka; _off: with federation off. */
int inbound_open(void **state);
int inbound_open_off(void **state);
int inbound_close(void **state);

/* The unit that comes to the writer. */
struct receive_unit *unit_awaited(void);

/* Ends it with ${rc}. */
void unit_finished(struct receive_unit *u, enum rc rc);

#endif
