/* SPDX-License-Identifier: MIT */
/*
 * The keys of this server in memory: which one signs, and which ones the
 * document publishes (docs/federation.md, "The document").
 *
 * The keys are rows (store/server_key.h), since several nodes share them and an
 * operator changes them while servers run.  So the rows are read again:
 * whoever uses the keyring calls keyring_refresh() first, which asks a reader
 * for it every few seconds at most.  A key begins to sign and stops being
 * published by the clock, without a reading.  A key whose time is over is
 * retired in its row with the next reading, so that its seed does not stay
 * there.
 *
 * Thread: any, in all of these but new and free.  Blocks: never, but for new.
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
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct rnd *rnd;
	struct readers *readers;
	/* Kept.  Its thread has not begun yet: keyring_new() runs it itself
	 * when there is no key and the first one has to be made. */
	struct writer *writer;
};

/* Reads the keys through ${db}, and makes the first one.  Thread: one. */
enum rc keyring_new(const struct keyring_options *options, struct db *db,
    struct keyring **ret, struct err *err) MUST_USE;

/* Frees it after its readers and the writer have stopped, and wipes the seeds.
 * NULL is allowed. */
void keyring_free(struct keyring *k);

/* The key that signs now. */
struct keyring_signer {
	char key_id[SIGNATURE_KEY_ID_MAX + 1];
	uint8_t seed[SIGN_SEED_SIZE]; /* secret: wiped by the caller */
};

/* False: no key signs now, and nothing can be signed.  ${ret} is untouched. */
bool keyring_signer(struct keyring *k, struct keyring_signer *ret);

/* Fills ${ret} with the keys that are published now, the newest first; returns
 * how many, at most DOCUMENT_KEYS. */
size_t keyring_published(
    struct keyring *k, struct document_key ret[DOCUMENT_KEYS]);

/* Asks for the rows to be read again, when the last time was keyring_refresh_ms
 * (base/timing.h) ago and no reading is under way.  If a reading fails, the
 * keys stay as they were until the next one. */
void keyring_refresh(struct keyring *k);

#endif
