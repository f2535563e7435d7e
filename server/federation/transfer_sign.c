/* SPDX-License-Identifier: MIT */
/*
 * See transfer_sign.h.
 */
#include <stdio.h>

#include "federation/document.h"
#include "federation/signature.h"
#include "federation/transfer_sign.h"

/* Random bytes of a nonce, and the length of its text. */
#define NONCE_BYTES 16
#define NONCE_LEN (NONCE_BYTES * 2)
/* The lifetime in seconds of the signatures that this server makes.  It begins
 * when the request is signed, by this server's clock (now_s of struct
 * transfer_signed); a receiver whose clock differs by up to SIGNATURE_SKEW_S
 * accepts the signature as well. */
#define SIGNED_FOR_S SIGNATURE_LIFE_S
#define JSON "application/json"

static void
make_nonce(struct rnd *rnd, char ret[SIGNATURE_NONCE_MAX + 1])
{
	uint8_t bytes[NONCE_BYTES];
	size_t i;

	rnd_fill(rnd, bytes, sizeof(bytes));
	for (i = 0; i < sizeof(bytes); i++)
		(void)snprintf(
		    ret + 2 * i, NONCE_LEN + 1 - 2 * i, "%02x", bytes[i]);
}

static void
write_digest(const struct buf *body, char ret[SIGNATURE_DIGEST_SIZE])
{
	uint8_t hash[SIGN_SHA256_SIZE];
	struct sign_sha256 h;

	sign_sha256_init(&h);
	sign_sha256_update(&h, body->data, body->len);
	sign_sha256_final(&h, hash);
	signature_digest_write(hash, ret);
}

static enum rc
add_headers(struct transfer *t, const struct transfer_signed *s,
    const struct signature *signature, const char *digest, struct err *err)
{
	char input[SIGNATURE_INPUT_SIZE], value[SIGNATURE_VALUE_SIZE];
	const struct {
		const char *name, *value;
	} rows[] = {
	    {"Content-Type", JSON},
	    {"Content-Digest", digest},
	    {"Twinbox-From", s->from},
	    {"Twinbox-To", s->to},
	    {"Signature-Input", input},
	    {"Signature", value},
	    /* Without this libcurl may wait for "100 Continue". */
	    {"Expect", ""},
	};
	enum rc rc = RC_OK;
	size_t i;

	signature_write(signature, input, value);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == RC_OK; i++)
		rc = transfer_header(t, rows[i].name, rows[i].value, err);
	return (rc);
}

enum rc
transfer_sign(struct transfer *t, const struct transfer_signed *s,
    const struct keyring_signer *key, struct err *err)
{
	struct signature signature = {
	    .created_s = s->now_s, .expires_s = s->now_s + SIGNED_FOR_S};
	char digest[SIGNATURE_DIGEST_SIZE];
	const struct signature_covered covered = {.method = "POST",
	    .authority = s->authority,
	    .path = DOCUMENT_DELIVER_PATH,
	    .content_digest = digest,
	    .content_type = JSON,
	    .from = s->from,
	    .to = s->to};

	write_digest(t->body, digest);
	make_nonce(s->rnd, signature.nonce);
	(void)snprintf(
	    signature.key_id, sizeof(signature.key_id), "%s", key->key_id);
	if (!signature_make(&signature, &covered, key->seed))
		return (
		    err_set(err, RC_INVALID, "the request cannot be signed"));
	return (add_headers(t, s, &signature, digest, err));
}
