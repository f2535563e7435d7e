/* SPDX-License-Identifier: MIT */
/*
 * The routes for other servers, and the gate that admits their requests; see
 * inbound.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "federation/inbound_internal.h"

#define OFF_TEXT                                                               \
	"this server exchanges no messages with others; its setting "          \
	"federation turns that on"

/* ---- counting ---- */

void
inbound_count(struct inbound *in, const char *outcome)
{

	metrics_add_by(in->o.metrics, METRIC_BY_FEDERATION_IN, outcome, 1);
}

static const char *
outcome_of(const struct refusal *r)
{

	switch (problem_status(r->problem)) {
	case 400:
	case 413:
	case 422:
		return ("malformed");
	case 401:
		return (r->problem == PROBLEM_NONCE_REPEATED ? "repeated"
							     : "unsigned");
	case 403:
		return ("refused");
	case 429:
		return ("limited");
	case 503:
		return (r->problem == PROBLEM_KEY_UNKNOWN ? "key-unknown"
			: r->problem == PROBLEM_DRAINING  ? "draining"
							  : "busy");
	default:
		return ("other");
	}
}

void
inbound_refuse(struct inbound_call *call, const struct refusal *r)
{

	inbound_count(call->in, outcome_of(r));
	http_answer_refusal(call->req, r);
}

/* ---- the gate ---- */

static enum http_sender
on_head(struct http_request *req, void *arg)
{
	const struct inbound_call *call = inbound_call_new(arg, req);

	if (call == NULL)
		http_set_principal(req, arg); /* on_whole() refuses it */
	return (call != NULL && call->refusal.problem == PROBLEM_NONE
		    ? HTTP_SENDER_KNOWN
		    : HTTP_SENDER_STRANGER);
}

static void
on_piece(struct http_request *req, const char *p, size_t n, void *arg)
{
	struct inbound_call *call = http_principal(req);

	(void)arg;
	sign_sha256_update(&call->hash, p, n);
}

/* The function authorize of the gate: sends the refusal of a request, or passes
 * the request to its handler.  http calls this function when a request is
 * complete, or before the body is read if on_head() has returned
 * HTTP_SENDER_STRANGER.  http calls on_head() only for requests with a body, so
 * the head of a request without one is checked here.  If on_head() had no
 * memory (the principal is ${arg}), the request is refused even if there is
 * memory now, because its body is not read. */
static void
on_whole(struct http_request *req, void *arg)
{
	struct inbound_call *call = http_principal(req);
	struct refusal r = REFUSAL_INIT;

	if (http_principal(req) == arg)
		call = NULL;
	else if (call == NULL)
		call = inbound_call_new(arg, req);
	if (call == NULL) {
		refusal_of_rc(&r, RC_NO_MEMORY);
		http_answer_refusal(req, &r);
	} else if (call->refusal.problem != PROBLEM_NONE) {
		inbound_refuse(call, &call->refusal);
	} else {
		http_request_authorized(req);
	}
}

static void
deliver(struct http_request *req, void *arg)
{

	(void)arg;
	inbound_take(http_principal(req));
}

/* ---- the document ---- */

static void
refuse_document(struct http_request *req, enum problem p, const char *text)
{
	struct refusal r = REFUSAL_INIT;

	refusal_set(&r, p, "", "%s", text);
	http_answer_refusal(req, &r);
}

/* Returns the limit of requests under way that this server's document states
 * for each peer, from 1 to DOCUMENT_REQUESTS.  One sender may use
 * 1/HTTP_OWNER_PART of the memory for bodies (body_bytes; 0: no limit).  The
 * limit is such that the largest bodies of that many requests fit into this
 * part, because a peer that keeps to the document should not be refused for
 * lack of memory (503).  It is 1 even if not one such body fits. */
static int64_t
requests_offered(const struct inbound *in)
{
	const size_t share = in->o.body_bytes / HTTP_OWNER_PART;
	const int64_t fit = (int64_t)(share / ENVELOPE_REQUEST_LEN);

	if (in->o.body_bytes == 0 || fit >= DOCUMENT_REQUESTS)
		return (DOCUMENT_REQUESTS);
	return (fit > 0 ? fit : 1);
}

/* Fills ${d} with this server's document.  Returns false if no key is published
 * now, because a document without a key is not valid. */
static bool
fill_document(const struct inbound *in, struct document *d)
{

	memset(d, 0, sizeof(*d));
	(void)snprintf(d->domain, sizeof(d->domain), "%s", in->o.domain);
	(void)snprintf(d->epoch, sizeof(d->epoch), "%s", in->o.epoch);
	memcpy(d->deliver, in->deliver, sizeof(d->deliver));
	d->items = ENVELOPE_ITEMS;
	d->bytes = ENVELOPE_REQUEST_LEN;
	d->requests = requests_offered(in);
	keyring_refresh(in->o.keyring);
	d->nkeys = keyring_published(in->o.keyring, d->keys);
	return (d->nkeys > 0);
}

static void
get_document(struct http_request *req, void *arg)
{
	struct inbound *in = arg;
	struct buf b = BUF_INIT;
	struct document d;
	char age[48];

	if (in->o.directory == NULL) {
		refuse_document(req, PROBLEM_NOT_FOUND, OFF_TEXT);
		return;
	}
	if (!fill_document(in, &d)) {
		refuse_document(req, PROBLEM_BUSY,
		    "this server has no key now; see twinboxd keys");
		return;
	}
	document_write(&b, &d);
	(void)snprintf(
	    age, sizeof(age), "public, max-age=%d", DOCUMENT_LIFETIME_S);
	http_answer_header(req, "Cache-Control", age);
	http_answer(req, 200, HTTP_JSON, &b);
}

/* ---- routes ---- */

static const struct http_route routes[] = {
    {"GET", "/.well-known/twinbox", get_document, HTTP_PUBLIC | HTTP_NO_BODY},
    {"POST", DOCUMENT_DELIVER_PATH, deliver, HTTP_ANY_BODY | HTTP_PEER_BODY},
    {NULL, NULL, NULL, 0},
};

const struct http_route *
inbound_route_list(void)
{

	return (routes);
}

struct http_routes
inbound_routes(struct inbound *in)
{

	return ((struct http_routes){routes, in, &in->gate});
}

void
inbound_drain(struct inbound *in)
{

	atomic_store(&in->draining, true);
}

/* ---- making ---- */

enum rc
inbound_new(const struct inbound_options *options, struct inbound **ret,
    struct err *err)
{
	struct inbound *in;
	int n;

	if ((in = mem_zalloc(1, sizeof(*in))) == NULL ||
	    (in->limits = inbound_limits_new()) == NULL) {
		inbound_free(in);
		return (err_set(err, RC_NO_MEMORY, "inbound"));
	}
	in->o = *options;
	in->o.timing = timing_or_real(options->timing);
	in->gate = (struct http_gate){.authorize = on_whole,
	    .head = on_head,
	    .piece = on_piece,
	    .arg = in};
	n = snprintf(in->deliver, sizeof(in->deliver), "%s://%s%s",
	    in->o.url.https ? "https" : "http", in->o.url.authority,
	    DOCUMENT_DELIVER_PATH);
	if (n < 0 || (size_t)n >= sizeof(in->deliver)) {
		inbound_free(in);
		return (err_set(err, RC_INVALID, "federation-url is too long"));
	}
	*ret = in;
	return (RC_OK);
}

void
inbound_free(struct inbound *in)
{

	if (in == NULL)
		return;
	inbound_limits_free(in->limits);
	mem_free(in);
}
