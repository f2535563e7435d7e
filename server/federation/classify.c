/* SPDX-License-Identifier: MIT */
/*
 * This file has classify(), which decides from the outcome of a request what
 * happens to the sent envelopes and to the destination.  It also has the
 * parsers of the headers Date and Retry-After and of the problem document.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clk.h"
#include "federation/classify.h"
#include "model/retry.h"
#include "wire/wire.h"

#define PROBLEM_JSON "application/problem+json"

static const char *const transports[CLASSIFY_TRANSPORTS] = {
#define X(id, words) [id] = words,
    CLASSIFY_TRANSPORT_TABLE(X)
#undef X
};

static const char *const codes[CLASSIFY_PROBLEMS] = {
#define X(id, code) [id] = code,
    CLASSIFY_PROBLEM_TABLE(X)
#undef X
};

static const char *const classes[CLASSIFY_CLASSES] = {
#define X(id, word) [id] = word,
    CLASSIFY_TABLE(X)
#undef X
};

const char *
classify_transport_words(enum classify_transport transport)
{

	return (transports[transport]);
}

const char *classify_word(enum classify_class class)
{

	return (classes[class]);
}

/* ---- problems ---- */

/* Returns true if the media type is PROBLEM_JSON, with or without
 * parameters. */
static bool
is_problem_json(const char *type)
{
	size_t n = strlen(PROBLEM_JSON);

	return (type != NULL && strncasecmp(type, PROBLEM_JSON, n) == 0 &&
		(type[n] == '\0' || strchr("; \t", type[n]) != NULL));
}

/* Returns the code of a problem: the part of ${uri}, its `type`, behind the
 * last "/", or all of ${uri} if it has no "/".  The result points into ${uri}.
 * Returns "" if ${uri} is NULL. */
static const char *
code_of(const char *uri)
{
	const char *code;

	if (uri == NULL)
		return ("");
	code = strrchr(uri, '/');
	return (code != NULL ? code + 1 : uri);
}

static void
copy_printable(char *ret, size_t size, const char *text)
{
	size_t i;

	for (i = 0; text != NULL && text[i] != '\0' && i + 1 < size; i++)
		ret[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	ret[i] = '\0';
}

bool
classify_problem_said(
    const char *type, const char *body, size_t n, struct classify_said *ret)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	const json_t *root;

	if (!is_problem_json(type) || n > ENVELOPE_ANSWER_LEN ||
	    wire_parse(body, n, &doc, &r) != RC_OK)
		return (false);
	root = doc.root;
	copy_printable(ret->code, sizeof(ret->code),
	    code_of(json_string_value(json_object_get(root, "type"))));
	copy_printable(ret->detail, sizeof(ret->detail),
	    json_string_value(json_object_get(root, "detail")));
	wire_doc_fini(&doc);
	return (true);
}

enum classify_problem
classify_problem_read(const char *type, const char *body, size_t n)
{
	struct classify_said said;
	int i;

	if (!classify_problem_said(type, body, n, &said))
		return (CLASSIFY_NO_PROBLEM);
	for (i = CLASSIFY_NO_PROBLEM + 1; i < CLASSIFY_PROBLEMS; i++) {
		if (strcmp(codes[i], said.code) == 0)
			return ((enum classify_problem)i);
	}
	return (CLASSIFY_NO_PROBLEM);
}

/* ---- the table ---- */

static struct classify_verdict verdict(enum classify_class class)
{

	return ((struct classify_verdict){
	    .class = class, .reason = ENVELOPE_NO_REASON});
}

static struct classify_verdict
park(int64_t ms)
{
	struct classify_verdict v = verdict(CLASSIFY_PARK);

	v.park_ms = ms < RETRY_HINT_MAX_MS ? ms : RETRY_HINT_MAX_MS;
	if (v.park_ms < CLASSIFY_PARK_MIN_MS)
		v.park_ms = CLASSIFY_PARK_MIN_MS;
	return (v);
}

static struct classify_verdict
classify_taken(const struct classify_outcome *o)
{

	if (!o->read)
		return (verdict(CLASSIFY_CHARGE));
	if (o->reconnect)
		return (park(o->reconnect_after_ms));
	return (verdict(CLASSIFY_SETTLE));
}

/* The answer has status 400, 413 or 422.  Either the peer refuses one of the
 * envelopes, or another machine than the peer's server has answered.  With
 * several envelopes, returns CLASSIFY_HALVE to find the bad one.  A single
 * envelope is rejected if the problem code is bad-request, too-large or
 * body-too-large.  With another code, and for a heartbeat (no envelope),
 * returns CLASSIFY_CHARGE_ALERT: the answer counts as a failure of the
 * destination, and the operator is alerted. */
static struct classify_verdict
classify_refused(const struct classify_outcome *o)
{
	struct classify_verdict v = verdict(CLASSIFY_REJECT);

	if (o->envelopes > 1)
		return (verdict(CLASSIFY_HALVE));
	if (o->envelopes == 0)
		return (verdict(CLASSIFY_CHARGE_ALERT));
	switch (o->problem) {
	case CLASSIFY_BAD_REQUEST:
		v.reason = ENVELOPE_MALFORMED;
		return (v);
	case CLASSIFY_TOO_LARGE:
	case CLASSIFY_BODY_TOO_LARGE:
		v.reason = ENVELOPE_TOO_LARGE;
		return (v);
	case CLASSIFY_NO_PROBLEM:
	case CLASSIFY_NONCE_REPEATED:
	case CLASSIFY_KEY_UNKNOWN:
	case CLASSIFY_PEER_REFUSED:
	case CLASSIFY_PROBLEMS:
	default:
		return (verdict(CLASSIFY_CHARGE_ALERT));
	}
}

struct classify_verdict
classify(const struct classify_outcome *outcome)
{

	if (outcome->transport != CLASSIFY_ANSWERED)
		return (verdict(CLASSIFY_CHARGE));
	switch (outcome->status) {
	case 200:
	case 202:
		return (classify_taken(outcome));
	case 401:
		if (outcome->problem == CLASSIFY_NONCE_REPEATED &&
		    !outcome->signed_anew)
			return (verdict(CLASSIFY_SIGN_ANEW));
		return (verdict(CLASSIFY_CHARGE));
	case 403:
		return (verdict(CLASSIFY_CHARGE));
	case 400:
	case 413:
	case 422:
		return (classify_refused(outcome));
	case 408:
	case 425:
	case 429:
	case 503:
		if (outcome->retry_after_ms != CLASSIFY_NO_WAIT)
			return (park(outcome->retry_after_ms));
		return (verdict(CLASSIFY_CHARGE));
	default:
		if (outcome->status >= 500 && outcome->status <= 599)
			return (verdict(CLASSIFY_CHARGE));
		return (verdict(CLASSIFY_CHARGE_ALERT));
	}
}

/* ---- Retry-After ---- */

static int
month_of(const char *name)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int m;

	for (m = 0; m < 12; m++) {
		if (strncmp(names + (size_t)m * 3, name, 3) == 0)
			return (m + 1);
	}
	return (0);
}

/* Parses an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT".  Copies its fields
 * into the order of RFC 3339, "1994-11-06T08:49:37Z", because
 * clk_parse_rfc3339() then checks their ranges. */
bool
classify_date_read(const char *value, int64_t *ret_ms)
{
	static const char form[] = "aaa, 00 aaa 0000 00:00:00 GMT";
	/* 16 more bytes, since the compiler assumes that %02d may print any
	 * int. */
	char text[CLK_RFC3339_SIZE + 16];
	size_t i;

	if (strlen(value) != sizeof(form) - 1)
		return (false);
	for (i = 0; form[i] != '\0'; i++) {
		if (form[i] != 'a' && form[i] != '0' && form[i] != value[i])
			return (false);
	}
	(void)snprintf(text, sizeof(text), "%.4s-%02d-%.2sT%.8sZ", value + 12,
	    month_of(value + 8), value + 5, value + 17);
	return (clk_parse_rfc3339(text, ret_ms) == 0);
}

int64_t
classify_retry_after_ms(const char *value, int64_t now_ms)
{
	int64_t ms = 0;
	size_t n;

	if (value == NULL)
		return (CLASSIFY_NO_WAIT);
	n = strspn(value, "0123456789");
	if (n > 0 && value[n] == '\0') {
		for (; *value != '\0' && ms < RETRY_HINT_MAX_MS; value++)
			ms = ms * 10 + (int64_t)(*value - '0') * 1000;
	} else if (classify_date_read(value, &ms)) {
		ms = ms > now_ms ? ms - now_ms : 0;
	} else {
		return (CLASSIFY_NO_WAIT);
	}
	return (ms < RETRY_HINT_MAX_MS ? ms : RETRY_HINT_MAX_MS);
}
