/* SPDX-License-Identifier: MIT */
/*
 * The signing keys of this server in memory.  The keyring knows which key signs
 * now, and which keys the document of this server publishes
 * (docs/federation.md, "The document").
 *
 * The keys are database rows (store/server_key.h), because several nodes share
 * them and operators change them while servers run.  So the rows are read again
 * and again: callers of this module call keyring_refresh(), which starts a
 * reading at most every few seconds.  No reading is needed for a key to start
 * to sign or to leave the document: each key has its times, and only the clock
 * decides.  A key that has left the document is retired after the next reading,
 * so that its secret seed is erased from the database.
 *
 * Thread: any, in all of these but new and free.  Never blocks, except new.
 */
#ifndef FEDERATION_KEYRING_H
#define FEDERATION_KEYRING_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "base/timing.h"
#include "crypt/sign.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "federation/document.h"
#include "federation/signature.h"

struct keyring;

struct keyring_options {
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct rnd *rnd;
	struct readers *readers;
	/* Borrowed.  The writer's thread must not run yet when keyring_new() is
	 * called: if no key is published, that function runs the writer in the
	 * calling thread to make one. */
	struct writer *writer;
};

/* Creates ${ret} with the keys that are in ${db}.  If none of them is published
 * now, first makes a new key in the database.  After an error ${ret} is not
 * set.  Thread: the only one that uses ${db} and the writer during this
 * call. */
enum rc keyring_new(const struct keyring_options *options, struct db *db,
    struct keyring **ret, struct err *err) MUST_USE;

/* Frees ${k} and wipes the seeds in it.  Call it when the readers and the
 * writer have stopped, because both use ${k}.  NULL is allowed. */
void keyring_free(struct keyring *k);

/* The key that signs now. */
struct keyring_signer {
	char key_id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t seed[SIGN_SEED_SIZE]; /* secret: the caller wipes it */
};

/* Copies the key that signs now to ${ret}, whose seed the caller must wipe.
 * Returns false, with ${ret} unchanged, if no key is published; then this
 * server cannot sign requests. */
bool keyring_signer(struct keyring *k, struct keyring_signer *ret);

/* Fills ${ret} with the keys that the document publishes now, in the order of
 * the times at which they begin to sign, the latest first.  Returns their
 * number, at most DOCUMENT_KEYS. */
size_t keyring_published(
    struct keyring *k, struct document_key ret[DOCUMENT_KEYS]);

/* Lets a reader thread read the rows of the keys again, unless the last reading
 * was started less than keyring_refresh_ms (base/timing.h) ago or is still
 * under way.  Does not wait for it.  If the reading fails, the keys in memory
 * stay as they are. */
void keyring_refresh(struct keyring *k);

#endif
