/* SPDX-License-Identifier: MIT */
/*
 * See inbound_fixture.h.  Functions of this file play the directory and the
 * keyring, and also writer_submit() (--wrap).
 */
#include "inbound_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/signature.h"
#include "http_leap.h"

static const uint8_t seed[SIGN_SEED_SIZE] = {1, 2, 3};
static uint8_t public[SIGN_PUBLIC_SIZE];

struct played_inbound played;
atomic_int played_forgotten;
bool (*played_key)(
    const char *domain, const char *key_id, uint8_t ret[SIGN_PUBLIC_SIZE]);

#define BODY "{\"envelopes\":[],\"control\":{\"ping\":\"abc\"}}"

const struct signed_request right = {
    .authority = "b.example",
    .path = PATH,
    .type = "application/json",
    .from = FAR,
    .to = HERE,
    .key_id = KEY,
    .nonce = "x8Jq3kP0vT2mW5yZ",
    .created_s = CREATED_S,
    .expires_s = CREATED_S + SIGNATURE_LIFE_S,
    .body = BODY,
};

/* ---- the peer ---- */

static const char * or (const char *a, const char *b)
{

	return (a != NULL ? a : b);
}

static void
add_header(struct buf *b, const struct signed_request *r, const char *name,
    const char *value)
{

	if (r->leave_out == NULL || strcmp(r->leave_out, name) != 0)
		buf_addf(b, "%s: %s\r\n", name, value);
}

static void
digest_of(const char *body, char ret[SIGNATURE_DIGEST_SIZE])
{
	uint8_t hash[SIGN_SHA256_SIZE];
	struct sign_sha256 h;

	sign_sha256_init(&h);
	sign_sha256_update(&h, body, strlen(body));
	sign_sha256_final(&h, hash);
	signature_digest_write(hash, ret);
}

static void
add_head(struct buf *b, const struct signed_request *r)
{
	char digest[SIGNATURE_DIGEST_SIZE], input[SIGNATURE_INPUT_SIZE];
	char value[SIGNATURE_VALUE_SIZE];
	struct signature s = {
	    .created_s = r->created_s, .expires_s = r->expires_s};
	struct signature_covered covered = {.method = "POST",
	    .authority = r->authority,
	    .path = r->path,
	    .content_digest = digest,
	    .content_type = r->type,
	    .from = r->from,
	    .to = r->to};
	const char *body = or (r->sent_body, r->body);

	digest_of(r->body, digest);
	(void)snprintf(s.nonce, sizeof(s.nonce), "%s", r->nonce);
	(void)snprintf(s.key_id, sizeof(s.key_id), "%s", r->key_id);
	assert_true(signature_make(&s, &covered, seed));
	signature_write(&s, input, value);
	buf_addf(b, "POST %s HTTP/1.1\r\n" HOST, or (r->target, r->path));
	add_header(b, r, "Content-Type", or (r->sent_type, r->type));
	add_header(b, r, "Content-Digest", or (r->sent_digest, digest));
	add_header(b, r, "Twinbox-From", or (r->sent_from, r->from));
	add_header(b, r, "Twinbox-To", or (r->sent_to, r->to));
	add_header(b, r, "Signature-Input", or (r->sent_input, input));
	add_header(b, r, "Signature", or (r->sent_value, value));
	buf_adds(b, or (r->extra, ""));
	if (r->announced != 0 || body[0] != '\0')
		buf_addf(b, "Content-Length: %zu\r\n",
		    r->announced != 0 ? r->announced : strlen(body));
	buf_adds(b, "\r\n");
}

static const char *
kept(struct buf *b)
{
	static char text[400000];

	assert_true(buf_ok(b) && b->len < sizeof(text));
	memcpy(text, b->data, b->len);
	text[b->len] = '\0';
	buf_fini(b);
	return (text);
}

const char *
request_head(const struct signed_request *r)
{
	struct buf b = BUF_INIT;

	add_head(&b, r);
	return (kept(&b));
}

const char *
request_text(const struct signed_request *r)
{
	struct buf b = BUF_INIT;

	add_head(&b, r);
	buf_adds(&b, or (r->sent_body, r->body));
	return (kept(&b));
}

/* ---- the directory, the keyring and the writer ---- */

const uint8_t *
played_public(void)
{

	return (public);
}

enum directory_answer
directory_signer(struct directory *d, const char *domain, const char *key_id,
    struct directory_signer *ret)
{

	assert_ptr_equal(d, &played);
	if (strcmp(domain, BLOCKED) == 0)
		return (DIRECTORY_REFUSED);
	ret->pinned = atomic_load(&played.pinned);
	ret->destination_id = ret->pinned ? FAR_ID + 1 : FAR_ID;
	if (played_key != NULL)
		return (played_key(domain, key_id, ret->public)
			    ? DIRECTORY_KNOWN
			    : DIRECTORY_UNKNOWN);
	if (strcmp(domain, FAR) != 0 || strcmp(key_id, KEY) != 0)
		return (DIRECTORY_UNKNOWN);
	memcpy(ret->public, public, sizeof(public));
	return (DIRECTORY_KNOWN);
}

void
directory_unknown(struct directory *d, const char *domain)
{

	assert_ptr_equal(d, &played);
	assert_string_equal(domain, FAR);
	played_forgotten++;
}

void
keyring_refresh(struct keyring *k)
{

	assert_ptr_equal(k, &played);
}

size_t
keyring_published(struct keyring *k, struct document_key ret[DOCUMENT_KEYS])
{

	assert_ptr_equal(k, &played);
	if (atomic_load(&played.disk_low))
		return (0);
	(void)snprintf(ret[0].id, sizeof(ret[0].id), "ours");
	memcpy(ret[0].public, public, sizeof(public));
	return (1);
}

enum rc __wrap_writer_submit(struct writer *w, struct unit *unit);

enum rc
__wrap_writer_submit(struct writer *w, struct unit *unit)
{

	assert_ptr_equal(w, &played);
	if (played.submit_rc != RC_OK)
		return (played.submit_rc);
	atomic_fetch_add(&played.submitted, 1);
	if (played.at_once) {
		unit->finish(unit);
		return (RC_OK);
	}
	atomic_store(
	    &played.waiting, CONTAINER_OF(unit, struct receive_unit, unit));
	return (RC_OK);
}

static void
on_contact(void *arg, int64_t destination_id, bool alone)
{

	assert_ptr_equal(arg, &played);
	assert_int_equal(
	    destination_id, atomic_load(&played.pinned) ? FAR_ID + 1 : FAR_ID);
	atomic_fetch_add(&played.contacts, 1);
	atomic_store(&played.contact_alone, alone);
}

static int64_t
wall_ms(const struct clk *clk)
{

	(void)clk;
	return (1000 * atomic_load(&played.now_s));
}

static int64_t
mono_us(const struct clk *clk)
{

	(void)clk;
	return (0);
}

static const struct clk still = {wall_ms, mono_us};

/* ---- the server ---- */

size_t inbound_body_bytes;

static int
open_with(bool on)
{
	struct inbound_options options = {.clk = &still,
	    .writer = (struct writer *)(void *)&played,
	    .directory = on ? (struct directory *)(void *)&played : NULL,
	    .keyring = on ? (struct keyring *)(void *)&played : NULL,
	    .domain = HERE,
	    .epoch = EPOCH,
	    .body_bytes = inbound_body_bytes,
	    .disk_low = &played.disk_low,
	    .contact = on_contact,
	    .contact_arg = &played};
	struct http_options http = {.listen = "127.0.0.1:0",
	    .loops = 1,
	    .request_deadline_ms = HOUR_MS,
	    .idle_deadline_ms = HOUR_MS,
	    .connection_limit = 200,
	    .clk = leap_clk()};
	struct http_routes routes[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
	struct err err = ERR_INIT;

	memset(&played, 0, sizeof(played));
	played_key = NULL;
	played_forgotten = 0;
	atomic_store(&played.now_s, NOW_S);
	sign_public(seed, public);
	assert_int_equal(
	    domain_url_parse("https://b.example", &options.url, &err), RC_OK);
	played.metrics = metrics_new();
	assert_non_null(played.metrics);
	options.metrics = http.metrics = played.metrics;
	assert_int_equal(inbound_new(&options, &played.in, &err), RC_OK);
	routes[0] = inbound_routes(played.in);
	http.routes = routes;
	assert_int_equal(http_new(&http, &played.f.http, &err), RC_OK);
	assert_int_equal(http_start(played.f.http, &err), RC_OK);
	played.f.port = http_port(played.f.http);
	return (0);
}

int
inbound_open(void **state)
{

	(void)state;
	return (open_with(true));
}

int
inbound_open_off(void **state)
{

	(void)state;
	return (open_with(false));
}

int
inbound_close(void **state)
{

	(void)state;
	client_close_left();
	http_stop(played.f.http);
	inbound_free(played.in);
	inbound_free(NULL);
	metrics_free(played.metrics);
	return (0);
}

struct receive_unit *
unit_awaited(void)
{

	AWAIT(atomic_load(&played.waiting) != NULL);
	return (atomic_exchange(&played.waiting, NULL));
}

void
unit_finished(struct receive_unit *u, enum rc rc)
{

	u->unit.rc = rc;
	u->unit.finish(&u->unit);
}
