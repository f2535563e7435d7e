/* SPDX-License-Identifier: MIT */
/*
 * The requests of `twinboxd check-federation`, one after the other:
 * check_document() fetches the document (JSON with the URL and the public keys)
 * of the server that is checked; check_own() fetches the document of this
 * server from the place where other servers fetch it; check_request() sends a
 * signed request to the server that is checked, and after a pause sends it once
 * more if the answer is key-unknown.
 */
#include <sys/socket.h>

#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "federation/address.h"
#include "main/check_internal.h"
#include "wire/envelope.h"

#define DOCUMENT_URL_SIZE (BASE_SIZE + sizeof(DOCUMENT_PATH))
#define PING "check-federation"
/* The shortest and the longest wait, in milliseconds, before check_request()
 * sends its signed request a second and last time.  It does so only if the
 * first answer is a 503 with the code key-unknown: the other server may need
 * this time to fetch this server's key. */
#define AGAIN_MIN_MS 1000
#define AGAIN_MAX_MS 5000

/* A transfer that has ended, and the wall times around it. */
struct reply {
	struct transfer t;
	int64_t sent_ms, got_ms;
};

static int64_t
now_ms(void)
{

	return (clk_wall_ms(clk_system()));
}

/* ---- requests ---- */

static void
done(struct transfer *t)
{

	(void)t;
}

/* Runs ${a}->t, the only transfer, to its end. */
static enum rc
run(struct check *c, struct reply *a, struct err *err)
{
	CURLMsg *m;
	int running = 0, n;
	enum rc rc;

	a->t.done = done;
	a->sent_ms = now_ms();
	if ((rc = transfer_begin(&a->t, c->multi, err)) != RC_OK)
		return (rc);
	while (a->t.active) {
		if (curl_multi_perform(c->multi, &running) != CURLM_OK)
			return (err_set(err, RC_INTERNAL, "libcurl"));
		while ((m = curl_multi_info_read(c->multi, &n)) != NULL)
			if (m->msg == CURLMSG_DONE)
				transfer_finish(
				    c->multi, m->easy_handle, m->data.result);
		if (running > 0)
			(void)curl_multi_poll(c->multi, NULL, 0, 1000, NULL);
	}
	a->got_ms = now_ms();
	return (RC_OK);
}

static const struct buf *
authorities(const struct check *c)
{

	return (c->authorities.len > 0 ? &c->authorities : NULL);
}

/* Fetches the document of the server at ${base}. */
static enum rc
fetch(struct check *c, const char *base, const struct net_networks *allowed,
    struct reply *ret, struct err *err)
{
	struct transfer *t = &ret->t;
	char url[DOCUMENT_URL_SIZE];
	enum rc rc;

	(void)snprintf(url, sizeof(url), "%s%s", base, DOCUMENT_PATH);
	t->url = url;
	t->http = strncmp(base, "http:", strlen("http:")) == 0;
	t->allowed = allowed;
	t->authorities = authorities(c);
	t->timeout_ms = timing_process()->document_fetch_ms;
	t->limit = DOCUMENT_LEN;
	t->certificate = true;
	rc = transfer_header(t, "Accept", "application/json", err);
	if (rc == RC_OK)
		rc = run(c, ret, err);
	t->url = NULL;
	return (rc);
}

/* Returns the problem document of ${a}, read into ${room}; NULL if it has
 * none. */
static const struct classify_said *
read_said(const struct reply *a, struct classify_said *room)
{
	char type[TRANSFER_HEADER_SIZE];

	return (transfer_answer_header(&a->t, "Content-Type", type) &&
			classify_problem_said(
			    type, a->t.answer.data, a->t.answer.len, room)
		    ? room
		    : NULL);
}

/* Reads the document of the server ${domain} from the answer ${a} into
 * ${ret_document}.  ${pinned}: a base URL that the document may name although
 * it is not public (document_read()), or NULL.  Returns false if the status is
 * not 200 or document_read() fails: then sets ${ret} to a failed step with the
 * reason, and leaves ${ret_document} unchanged.  If it returns true, ${ret} is
 * not set. */
static bool
read_document(const struct reply *a, const char *domain, const char *pinned,
    struct document *ret_document, struct explain *ret)
{
	struct err err = ERR_INIT;
	struct classify_said said;

	if (a->t.status != 200) {
		explain_document_status(a->t.status, read_said(a, &said), ret);
		return (false);
	}
	if (document_read(a->t.answer.data, a->t.answer.len, domain, pinned,
		ret_document, &err) == RC_OK)
		return (true);
	explain_fault(ret, "%s", err.text);
	explain_cure(ret,
	    "The server there is not twinbox, is too old or too new, or a "
	    "setting of it is wrong (domain, federation-url). The rules are in "
	    "docs/federation.md, \"The document\".");
	return (false);
}

/* Returns the address that answered ${a}; "": not known. */
static const char *
address_of(const struct reply *a)
{
	char *text = NULL;

	(void)curl_easy_getinfo(a->t.easy, CURLINFO_PRIMARY_IP, &text);
	return (text != NULL ? text : "");
}

/* ---- 3 to 5: the document ---- */

/* Returns when the certificate of ${a} expires, as libcurl prints it; "": not
 * known. */
static const char *
expiry_of(const struct reply *a)
{
	static const char name[] = "Expire date:";
	const struct curl_certinfo *info = NULL;
	const struct curl_slist *line;

	if (curl_easy_getinfo(a->t.easy, CURLINFO_CERTINFO, &info) !=
		CURLE_OK ||
	    info == NULL || info->num_of_certs < 1)
		return ("");
	for (line = info->certinfo[0]; line != NULL; line = line->next)
		if (strncmp(line->data, name, strlen(name)) == 0)
			return (line->data + strlen(name));
	return ("");
}

static enum rc
say_connected(struct check *c, const struct reply *a, struct err *err)
{
	const char *expiry = expiry_of(a);
	struct explain e;
	long port = 0;

	(void)curl_easy_getinfo(a->t.easy, CURLINFO_PRIMARY_PORT, &port);
	if (a->t.http)
		explain_ok(&e,
		    "%s port %ld, without TLS, as federation-peer "
		    "says",
		    address_of(a), port);
	else
		explain_ok(&e,
		    "%s port %ld, TLS with a certificate that is valid for %s"
		    "%s%.60s",
		    address_of(a), port, check_host(c),
		    expiry[0] != '\0' ? " until " : "", expiry);
	return (check_say(c, "connection", &e, err));
}

static enum rc
say_clock(struct check *c, const struct reply *a, struct err *err)
{
	char date[TRANSFER_HEADER_SIZE];
	struct explain e;

	explain_clock(transfer_answer_header(&a->t, "Date", date) ? date : NULL,
	    a->sent_ms, a->got_ms, &e);
	return (check_say(c, "clock", &e, err));
}

static enum rc
judge_document(struct check *c, const struct reply *a, struct err *err)
{
	struct explain e;
	enum rc rc;

	if (a->t.transport != CLASSIFY_ANSWERED)
		explain_transport(
		    c->pinned != NULL ? c->pinned->url.authority : c->domain,
		    a->t.transport, a->t.error, &e);
	if (a->t.transport != CLASSIFY_ANSWERED &&
	    a->t.transport != CLASSIFY_TOO_LONG)
		return (check_say_or_end(c, "connection", &e, err));
	if ((rc = say_connected(c, a, err)) != RC_OK)
		return (rc);
	if (a->t.transport == CLASSIFY_TOO_LONG)
		c->over = true;
	else if (read_document(a, c->domain, c->pinned != NULL ? c->base : NULL,
		     &c->document, &e))
		explain_document(
		    &c->document, c->is_known ? &c->known : NULL, &e);
	else
		c->over = true;
	rc = check_say(c, "document", &e, err);
	return (rc == RC_OK ? say_clock(c, a, err) : rc);
}

enum rc
check_document(struct check *c, struct err *err)
{
	struct reply a = {.sent_ms = 0};
	enum rc rc;

	rc = fetch(c, c->base, &c->networks, &a, err);
	if (rc == RC_OK)
		rc = judge_document(c, &a, err);
	transfer_fini(&a.t, c->multi);
	return (rc);
}

/* ---- 7: the document of this server ---- */

/* Adds a note to ${e}, a step that went well, if the address that answered ${a}
 * is one that other servers do not contact.  On this host the name may resolve
 * to another address than elsewhere (a line of /etc/hosts, a private resolver).
 * That is not a fault, but then the step has not tested the address that other
 * servers use.  The networks of other servers are not known, so this function
 * assumes that they contact, besides public addresses, those in this server's
 * federation-networks, and loopback if federation-url is not ${public}. */
static void
note_address(const struct check *c, const struct reply *a, bool public,
    struct explain *e)
{
	const struct addrinfo hints = {
	    .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct net_networks networks =
	    server_networks(&c->config.federation_networks);
	struct addrinfo *list;
	const char *fault;

	if (!public)
		address_add_loopback(&networks);
	if (getaddrinfo(address_of(a), NULL, &hints, &list) != 0)
		return;
	fault = address_fault(list->ai_addr, &networks);
	freeaddrinfo(list);
	if (fault != NULL)
		explain_cure(e,
		    "It was read from %s, which is %s. Other servers do not "
		    "contact such an address: DNS must give them a public one.",
		    address_of(a), fault);
}

static void
judge_own(struct check *c, const struct reply *a, const char *pinned,
    struct explain *ret)
{
	const struct domain_url *url = &c->config.federation_url;
	struct document d;

	if (a->t.transport != CLASSIFY_ANSWERED) {
		explain_transport(
		    pinned == NULL ? c->policy.domain : url->authority,
		    a->t.transport, a->t.error, ret);
		return;
	}
	if (!read_document(a, c->policy.domain, pinned, &d, ret))
		return;
	explain_own(&d, &c->signer_public, url->authority, ret);
	if (ret->ok)
		note_address(c, a, pinned == NULL, ret);
}

/* Fetches this server's document as other servers do, and prints the result of
 * this step.  If federation-url is public (https on port 443 of DOMAIN or of a
 * subdomain), other servers fetch the document from https://DOMAIN, even if
 * federation-url names a subdomain.  If federation-url is not public, only
 * servers that have fixed this server's URL (their federation-peer) can fetch
 * the document, from the host of federation-url.  Any address is allowed,
 * because the server there is the operator's own. */
enum rc
check_own(struct check *c, struct err *err)
{
	static const struct net_networks all = {.n = 1};
	const struct domain_url *url = &c->config.federation_url;
	const bool public = domain_url_public(url, c->policy.domain);
	struct reply a = {.sent_ms = 0};
	char base[BASE_SIZE];
	struct explain e;
	enum rc rc;

	(void)snprintf(base, sizeof(base), "%s://%s",
	    url->https ? "https" : "http",
	    public ? c->policy.domain : url->authority);
	rc = fetch(c, base, &all, &a, err);
	if (rc == RC_OK) {
		judge_own(c, &a, public ? NULL : base, &e);
		rc = check_say(c, "own document", &e, err);
	}
	transfer_fini(&a.t, c->multi);
	return (rc);
}

/* ---- 8: a signed request ---- */

static enum rc
write_ping(const struct check *c, struct buf *body, struct err *err)
{
	const struct envelope_control control = {.ping = {PING, strlen(PING)}};
	struct wire_request q;

	wire_request_begin(&q, body, (size_t)c->document.items,
	    (size_t)c->document.bytes, &control);
	if (wire_request_end(&q) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "a request"));
	return (RC_OK);
}

static enum rc
ask(struct check *c, const struct buf *body, struct reply *ret, struct err *err)
{
	const struct transfer_signed s = {.from = c->policy.domain,
	    .to = c->domain,
	    .authority = c->document.authority,
	    .now_s = now_ms() / 1000,
	    .rnd = rnd_system()};
	struct transfer *t = &ret->t;
	enum rc rc;

	t->url = c->document.deliver;
	t->http = c->pinned != NULL && !c->pinned->url.https;
	t->allowed = &c->networks;
	t->authorities = authorities(c);
	t->body = body;
	t->timeout_ms = c->config.delivery_timeout_ms;
	t->limit = ENVELOPE_ANSWER_LEN;
	rc = transfer_sign(t, &s, &c->signer, err);
	return (rc == RC_OK ? run(c, ret, err) : rc);
}

/* Returns how many milliseconds check_request() waits before it sends the
 * request a second and last time: the time of the header Retry-After, but at
 * least AGAIN_MIN_MS (also without the header) and at most AGAIN_MAX_MS.
 * Returns 0 if ${a} is not a 503 with the code key-unknown: then the request is
 * not sent again. */
static int
wait_again_ms(const struct reply *a)
{
	char value[TRANSFER_HEADER_SIZE];
	struct classify_said room;
	const struct classify_said *said = read_said(a, &room);
	int64_t ms = CLASSIFY_NO_WAIT;

	if (a->t.status != 503 || said == NULL ||
	    strcmp(said->code, "key-unknown") != 0)
		return (0);
	if (transfer_answer_header(&a->t, "Retry-After", value))
		ms = classify_retry_after_ms(value, now_ms());
	return (ms < AGAIN_MIN_MS   ? AGAIN_MIN_MS
		: ms > AGAIN_MAX_MS ? AGAIN_MAX_MS
				    : (int)ms);
}

static void
judge_answer(const struct check *c, const struct reply *a, struct explain *ret)
{
	struct refusal refusal = REFUSAL_INIT;
	struct envelope_answer answer;
	struct classify_said said;
	struct explain_answer is = {.status = a->t.status,
	    .ping = PING,
	    .took_ms = a->got_ms - a->sent_ms};

	if (a->t.transport != CLASSIFY_ANSWERED) {
		explain_transport(
		    c->document.authority, a->t.transport, a->t.error, ret);
		return;
	}
	is.said = read_said(a, &said);
	if (wire_answer_read(a->t.answer.data, a->t.answer.len, NULL, 0,
		&answer, &refusal) == RC_OK)
		is.answer = &answer;
	explain_answer(&is, ret);
}

enum rc
check_request(struct check *c, struct err *err)
{
	struct reply a = {.sent_ms = 0};
	struct buf body = BUF_INIT;
	struct explain e;
	enum rc rc;
	int ms;

	rc = write_ping(c, &body, err);
	if (rc == RC_OK)
		rc = ask(c, &body, &a, err);
	if (rc == RC_OK && (ms = wait_again_ms(&a)) > 0) {
		transfer_fini(&a.t, c->multi);
		(void)poll(NULL, 0, ms);
		rc = ask(c, &body, &a, err);
	}
	if (rc == RC_OK) {
		judge_answer(c, &a, &e);
		rc = check_say(c, "signed request", &e, err);
	}
	transfer_fini(&a.t, c->multi);
	buf_fini(&body);
	return (rc);
}
