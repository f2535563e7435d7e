/* SPDX-License-Identifier: MIT */
/*
 * The routes for other servers on a real port, with a directory that knows two
 * keys and a writer that the test plays; and a peer that signs requests as the
 * test wants, correctly or not.
 */
#ifndef TESTS_INBOUND_FIXTURE_H
#define TESTS_INBOUND_FIXTURE_H

#include "http_fixture.h"

#include "delivery/receive.h"
#include "federation/inbound.h"

#define HERE "b.example"
#define FAR "a.example"
#define FAR_ID 17 /* destination_id of FAR */
#define BLOCKED "blocked.example"
#define KEY "k7f3a9c2"
#define EPOCH "01890a5d-ac96-774b-bcce-b302099a8057"
#define NOW_S 1700000010
#define CREATED_S 1700000000
#define PATH "/v1/federation/deliver"

/* A signed request that is correct.  The members under "Sent" change it after
 * it was signed. */
struct signed_request {
	/* The signed values. */
	const char *authority, *path, *type, *from, *to, *key_id, *nonce;
	int64_t created_s, expires_s;
	const char *body;
	/* The sent values, where they differ. */
	const char *target;    /* NULL: path */
	const char *sent_type; /* NULL: type; likewise the next six: */
	const char *sent_from, *sent_to, *sent_digest, *sent_input, *sent_value;
	const char *leave_out; /* a header that is not sent */
	const char *extra;     /* header lines that are added */
	const char *sent_body; /* NULL: body */
	size_t announced;      /* Content-Length; 0: the true length */
};

extern const struct signed_request right;

/* Returns the request ${r} as text, head and body; static storage. */
const char *request_text(const struct signed_request *r);

/* Returns the head of the request alone. */
const char *request_head(const struct signed_request *r);

/* The server. */
struct played_inbound {
	struct fixture f; /* first, for the client's functions */
	struct inbound *in;
	struct metrics *metrics;
	atomic_llong now_s;
	atomic_bool disk_low;
	enum rc submit_rc; /* of writer_submit() */
	bool at_once;      /* each unit finishes when it is submitted */
	_Atomic(struct receive_unit *)
	    waiting; /* the unit that the writer has */
	atomic_int submitted;
	atomic_bool pinned; /* is the signer's key? then FAR_ID + 1 */
	atomic_int contacts;
	atomic_bool contact_alone; /* argument ${alone} of the last contact */
};

extern struct played_inbound played;

/* The number of times that the directory was asked to forget FAR. */
extern atomic_int played_forgotten;

/* The public key of FAR, SIGN_PUBLIC_SIZE bytes. */
const uint8_t *played_public(void);

/* Adds keys to those that the directory knows for ${right}; NULL: none.  Writes
 * the key to ${ret}, or returns false if the key is unknown. */
extern bool (*played_key)(
    const char *domain, const char *key_id, uint8_t ret[SIGN_PUBLIC_SIZE]);

/* The option body_bytes of the servers that are opened from now on. */
extern size_t inbound_body_bytes;

/* For cmocka; inbound_open_off() has federation off. */
int inbound_open(void **state);
int inbound_open_off(void **state);
int inbound_close(void **state);

/* Waits for the next unit that is submitted to the writer. */
struct receive_unit *unit_awaited(void);

/* Finishes the unit with ${rc}. */
void unit_finished(struct receive_unit *u, enum rc rc);

#endif
