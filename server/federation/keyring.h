/* SPDX-License-Identifier: MIT */
/*
 * The keys of this server in memory: which one signs, and which ones the
 * document publishes (docs/federation.md, "The document").
 *
 * The keys are rows (store/server_key.h), because several nodes share them and
 * operators change them while servers run.  So the rows are read again: users
 * of the keyring call keyring_refresh() first, which starts a reading every few
 * seconds at most.  Only the clock decides when a key starts to sign and when
 * it is no longer published; that needs no reading.  The next reading retires a
 * key whose time is over in its row, so that its seed does not stay there.
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
	/* Borrowed.  The writer's thread must not run yet: to make the first
	 * key, keyring_new() runs the writer in the calling thread. */
	struct writer *writer;
};

/* Reads the keys from ${db}, and makes the first key if there is none.  Thread:
 * the only one that uses ${db} and the writer. */
enum rc keyring_new(const struct keyring_options *options, struct db *db,
    struct keyring **ret, struct err *err) MUST_USE;

/* Frees ${k} and wipes the seeds, after the readers and the writer have
 * stopped.  NULL is allowed. */
void keyring_free(struct keyring *k);

/* The key that signs now. */
struct keyring_signer {
	char key_id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t seed[SIGN_SEED_SIZE]; /* secret: the caller wipes it */
};

/* Copies the key that signs now.  False: there is none, so nothing can be
 * signed; ${ret} is unchanged. */
bool keyring_signer(struct keyring *k, struct keyring_signer *ret);

/* Fills ${ret} with the keys that are published now, newest first.  Returns
 * their number, at most DOCUMENT_KEYS. */
size_t keyring_published(
    struct keyring *k, struct document_key ret[DOCUMENT_KEYS]);

/* Starts a reading of the rows, if the last one was keyring_refresh_ms
 * (base/timing.h) ago and none is under way.  If it fails, the keys stay as
 * they are until the next one. */
void keyring_refresh(struct keyring *k);

#endif
