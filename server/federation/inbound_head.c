/* SPDX-License-Identifier: MIT */
/*
 * Checks a request by its head alone (docs/federation.md, "A request").
 * Strangers can cause this work, so it never waits and never reads the
 * database.  For each request it allocates a struct inbound_call.  It may also
 * add an entry to the directory and start a look-up of the peer; the numbers of
 * entries and of look-ups are limited.  If the signature is good, it charges
 * the request to the rate limits of the peer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "federation/inbound_internal.h"

void
inbound_fault(
    struct inbound_call *call, enum signature_fault fault, const char *fmt, ...)
{
	char detail[REFUSAL_DETAIL_SIZE];
	const char *word = signature_fault_word(fault);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	refusal_set(&call->refusal, problem_find(word), "", "%s", detail);
	metrics_add_by(
	    call->in->o.metrics, METRIC_BY_SIGNATURE_FAILURES, word, 1);
}

/* ---- the form ---- */

/* Headers that must appear exactly once, and the fault if one is repeated. */
static const struct {
	const char *name;
	enum signature_fault fault;
} once[] = {
    {"Signature-Input", SIGNATURE_MALFORMED},
    {"Signature", SIGNATURE_MALFORMED},
    {"Content-Digest", SIGNATURE_COMPONENTS},
    {"Content-Type", SIGNATURE_COMPONENTS},
    {"Twinbox-From", SIGNATURE_COMPONENTS},
    {"Twinbox-To", SIGNATURE_COMPONENTS},
};

/* Returns true if each header of the signature appears exactly once. */
static bool
headers_stand_once(struct inbound_call *call)
{
	size_t i, n;

	for (i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
		n = http_header_count(call->req, once[i].name);
		if (n == 1)
			continue;
		if (n > 1)
			inbound_fault(call, once[i].fault,
			    "there is more than one %s", once[i].name);
		else
			inbound_fault(call,
			    i < 2 ? SIGNATURE_MISSING : SIGNATURE_COMPONENTS,
			    "there is no header %s", once[i].name);
		return (false);
	}
	return (true);
}

/* Returns true if the target of the request is exactly DOCUMENT_DELIVER_PATH,
 * without a query, and the request has no Content-Encoding.  The signature
 * covers neither a query nor a Content-Encoding.  Otherwise sets the refusal of
 * ${call}. */
static bool
unsigned_parts_absent(struct inbound_call *call)
{

	if (strcmp(http_target(call->req), DOCUMENT_DELIVER_PATH) != 0) {
		inbound_fault(call, SIGNATURE_COMPONENTS,
		    "the target must be exactly " DOCUMENT_DELIVER_PATH);
		return (false);
	}
	if (http_header_count(call->req, "Content-Encoding") > 0) {
		inbound_fault(call, SIGNATURE_COMPONENTS,
		    "Content-Encoding is not allowed");
		return (false);
	}
	return (true);
}

/* ---- the values ---- */

static bool
is(const char *value, const char *wanted)
{

	return (value != NULL && strcmp(value, wanted) == 0);
}

static bool
values_fit(struct inbound_call *call, const struct signature_covered *covered)
{
	const char *domain = call->in->o.domain, *from = covered->from;
	const size_t n = from == NULL ? 0 : strlen(from);

	if (!is(covered->content_type, HTTP_JSON)) {
		inbound_fault(call, SIGNATURE_WRONG,
		    "the Content-Type must be exactly " HTTP_JSON);
		return (false);
	}
	if (!is(covered->to, domain)) {
		inbound_fault(call, SIGNATURE_WRONG,
		    "Twinbox-To is not this server, which is %.100s", domain);
		return (false);
	}
	if (!domain_valid(from, n)) {
		inbound_fault(
		    call, SIGNATURE_WRONG, "Twinbox-From is not a domain");
		return (false);
	}
	if (is(from, domain)) {
		inbound_fault(call, SIGNATURE_WRONG,
		    "Twinbox-From is this server itself");
		return (false);
	}
	memcpy(call->from, from, n + 1);
	return (true);
}

bool
inbound_timely(struct inbound_call *call)
{
	const struct signature *s = &call->signature;
	const int64_t now_ms = clk_wall_ms(call->in->o.clk);
	const enum signature_fault fault = signature_timely(s, now_ms / 1000);
	char ours[CLK_RFC3339_SIZE], theirs[CLK_RFC3339_SIZE];
	const bool early = fault == SIGNATURE_EARLY;

	if (fault == SIGNATURE_GOOD)
		return (true);
	clk_format_rfc3339(now_ms, ours);
	clk_format_rfc3339(
	    (early ? s->created_s : s->expires_s) * 1000, theirs);
	inbound_fault(call, fault,
	    "it %s at %s by the signer's clock, and it is %s here: one of the "
	    "clocks is off",
	    early ? "was made" : "expired", theirs, ours);
	return (false);
}

static bool
read_signature(
    struct inbound_call *call, const struct signature_covered *covered)
{
	enum signature_fault fault;

	fault = signature_read(http_header(call->req, "Signature-Input"),
	    http_header(call->req, "Signature"), &call->signature);
	if (fault != SIGNATURE_GOOD) {
		inbound_fault(call, fault, "%s",
		    "Signature-Input or Signature is not of the profile");
		return (false);
	}
	if (!inbound_timely(call))
		return (false);
	if (signature_digest_read(covered->content_digest, call->digest))
		return (true);
	inbound_fault(call, SIGNATURE_DIGEST,
	    "Content-Digest is not one sha-256 in base64");
	return (false);
}

/* ---- the key ---- */

void
inbound_unknown_key(struct inbound_call *call)
{

	refusal_set(&call->refusal, PROBLEM_KEY_UNKNOWN, "",
	    "key %s of %.120s is not known", call->signature.key_id,
	    call->from);
}

void
inbound_refuse_peer(struct inbound_call *call)
{

	refusal_set(&call->refusal, PROBLEM_PEER_REFUSED, "",
	    "%.150s is not served here", call->from);
}

static bool
verify(struct inbound_call *call, const struct signature_covered *covered)
{
	const struct inbound_options *o = &call->in->o;
	struct directory_signer signer;

	switch (directory_signer(
	    o->directory, call->from, call->signature.key_id, &signer)) {
	case DIRECTORY_KNOWN:
		break;
	case DIRECTORY_UNKNOWN:
		inbound_unknown_key(call);
		return (false);
	case DIRECTORY_REFUSED:
	default:
		inbound_refuse_peer(call);
		return (false);
	}
	memcpy(call->public, signer.public, sizeof(call->public));
	call->peer.destination_id = signer.destination_id;
	call->peer.pinned = signer.pinned;
	if (signature_verify(&call->signature, covered, signer.public) ==
	    SIGNATURE_GOOD)
		return (true);
	inbound_fault(call, SIGNATURE_WRONG,
	    "the key %s of %.60s does not verify it for %.60s",
	    call->signature.key_id, call->from, o->url.authority);
	return (false);
}

/* ---- all of it ---- */

static void
leave(void *arg)
{
	struct inbound_call *call = arg;

	inbound_limits_leave(call->in->limits, &call->peer);
}

/* Called when the signature is good.  Admits the request: counts it as under
 * way until the request is freed, which calls leave().  Sets the refusal of
 * ${call} instead if a limit of the peer or of all unpinned peers together is
 * used up, or memory is short. */
static void
enter(struct inbound_call *call)
{
	struct inbound *in = call->in;
	int wait_s;

	if (!inbound_limits_enter(
		in->limits, &call->peer, clk_mono_ms(in->o.clk), &wait_s)) {
		refusal_set(&call->refusal, PROBLEM_RATE_LIMITED, "",
		    "%.100s has used up what one server may do in a minute",
		    call->from);
		call->refusal.retry_after_s = wait_s;
		return;
	}
	if (http_on_free(call->req, leave, call) != RC_OK) {
		inbound_limits_leave(in->limits, &call->peer);
		refusal_of_rc(&call->refusal, RC_NO_MEMORY);
		return;
	}
	http_set_owner(call->req, owner_destination(call->peer.destination_id));
	sign_sha256_init(&call->hash);
}

static void
check(struct inbound_call *call)
{
	struct signature_covered covered;

	if (call->in->o.directory == NULL) {
		refusal_set(&call->refusal, PROBLEM_PEER_REFUSED, "",
		    "this server exchanges no messages with others: its "
		    "setting federation is off");
		return;
	}
	if (!headers_stand_once(call) || !unsigned_parts_absent(call))
		return;
	covered = (struct signature_covered){.method = http_method(call->req),
	    .authority = call->in->o.url.authority,
	    .path = http_target(call->req),
	    .content_digest = http_header(call->req, "Content-Digest"),
	    .content_type = http_header(call->req, "Content-Type"),
	    .from = http_header(call->req, "Twinbox-From"),
	    .to = http_header(call->req, "Twinbox-To")};
	if (values_fit(call, &covered) && read_signature(call, &covered) &&
	    verify(call, &covered))
		enter(call);
}

struct inbound_call *
inbound_call_new(struct inbound *in, struct http_request *req)
{
	struct inbound_call *call;

	if ((call = http_alloc(req, sizeof(*call))) == NULL)
		return (NULL);
	call->in = in;
	call->req = req;
	call->refusal = (struct refusal)REFUSAL_INIT;
	call->head_ms = clk_wall_ms(in->o.clk);
	http_set_principal(req, call);
	check(call);
	return (call);
}
