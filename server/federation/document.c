/* SPDX-License-Identifier: MIT */
/*
 * Writes and parses the document in which a server describes itself (see
 * document.h).  twinboxd check-federation also parses this server's own
 * document with document_read(), to check what others see.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "federation/document.h"
#include "net/domain.h"
#include "wire/json.h"
#include "wire/wire.h"

#define ALGORITHM "ed25519"
#define PROTOCOL "1"
#define HTTPS "https://"
#define MAX_AGE "max-age="
/* Size of a peer's text in an error message. */
#define SHOWN_SIZE 80

/* ---- writing ---- */

static void
write_keys(struct buf *b, const struct document *d)
{
	char public[SIGN_BASE64_SIZE(SIGN_PUBLIC_SIZE)];
	size_t i;

	jw_member(b, "keys");
	buf_addc(b, '[');
	for (i = 0; i < d->nkeys; i++) {
		sign_base64_write(d->keys[i].public, SIGN_PUBLIC_SIZE, public,
		    sizeof(public));
		jw_comma(b);
		buf_addc(b, '{');
		jw_str(b, "id", d->keys[i].id);
		jw_str(b, "alg", ALGORITHM);
		jw_str(b, "public", public);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
}

static void
write_ack_statuses(struct buf *b)
{
	static const enum envelope_status statuses[] = {
	    ENVELOPE_ACCEPTED, ENVELOPE_RETRYABLE, ENVELOPE_REJECTED};
	const char *word;
	size_t i;

	jw_member(b, "ack_statuses");
	buf_addc(b, '[');
	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		word = envelope_status_word(statuses[i]);
		jw_comma(b);
		jw_string(b, word, strlen(word));
	}
	buf_addc(b, ']');
}

void
document_write(struct buf *b, const struct document *d)
{

	buf_addc(b, '{');
	jw_str(b, "domain", d->domain);
	write_keys(b, d);
	jw_str(b, "deliver", d->deliver);
	write_ack_statuses(b);
	jw_member(b, "limits");
	buf_addc(b, '{');
	jw_int(b, "items", d->items);
	jw_int(b, "bytes", d->bytes);
	jw_int(b, "requests", d->requests);
	buf_addc(b, '}');
	jw_raw(b, "versions", "[\"" PROTOCOL "\"]", strlen(PROTOCOL) + 4);
	if (d->epoch[0] != '\0')
		jw_str(b, "epoch", d->epoch);
	buf_addc(b, '}');
}

/* ---- reading ---- */

/* Returns member ${name}, borrowed; NULL: absent or null. */
static const json_t *
member_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return (json_is_null(value) ? NULL : value);
}

/* Returns the text of member ${name}; NULL: absent or not a text. */
static const char *
text_of(const json_t *object, const char *name)
{

	return (json_string_value(json_object_get(object, name)));
}

static enum rc
read_domain(const json_t *root, const char *domain, struct document *ret,
    struct err *err)
{
	const char *text = text_of(root, "domain");
	char shown[SHOWN_SIZE];

	if (text == NULL)
		return (err_set(err, RC_INVALID,
		    "the document does not say its \"domain\""));
	if (strcmp(text, domain) != 0 || strlen(text) >= sizeof(ret->domain))
		return (err_set(err, RC_INVALID,
		    "the document is that of \"%s\", not of the domain that "
		    "was asked",
		    escape_text(text, shown, sizeof(shown))));
	memcpy(ret->domain, text, strlen(text) + 1);
	return (RC_OK);
}

/* ---- keys ---- */

static bool
is_key_id(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789-_");

	return (n >= 1 && n <= SIGNATURE_KEY_ID_MAX && text[n] == '\0');
}

/* Parses one key, whose "alg" the caller has checked, and appends it to ${ret}.
 * Returns RC_INVALID, which makes the whole document invalid, if the key is
 * malformed or ${ret} already has a key with the same id: a signature names its
 * key by the id, so it would be undefined which of the two keys verifies it. */
static enum rc
read_key(const json_t *object, struct document *ret, struct err *err)
{
	struct document_key *key = &ret->keys[ret->nkeys];
	const char *id = text_of(object, "id");
	const char *public = text_of(object, "public");
	size_t i;

	if (id == NULL || !is_key_id(id))
		return (err_set(err, RC_INVALID,
		    "a key has no \"id\" of 1 to %d letters, digits, '-' and "
		    "'_'",
		    SIGNATURE_KEY_ID_MAX));
	for (i = 0; i < ret->nkeys; i++) {
		if (strcmp(ret->keys[i].id, id) == 0)
			return (err_set(err, RC_INVALID,
			    "two keys have the same id \"%s\"", id));
	}
	if (public == NULL || !sign_base64_read(public, strlen(public),
				  key->public, SIGN_PUBLIC_SIZE))
		return (err_set(err, RC_INVALID,
		    "\"public\" of key \"%s\" is not base64 of %d bytes", id,
		    SIGN_PUBLIC_SIZE));
	memcpy(key->id, id, strlen(id) + 1);
	ret->nkeys++;
	return (RC_OK);
}

static enum rc
read_keys(const json_t *root, struct document *ret, struct err *err)
{
	const json_t *keys = json_object_get(root, "keys"), *object;
	const char *alg;
	size_t i;
	enum rc rc;

	if (json_array_size(keys) < 1 || json_array_size(keys) > DOCUMENT_KEYS)
		return (err_set(err, RC_INVALID,
		    "\"keys\" is not an array of 1 to %d keys", DOCUMENT_KEYS));
	ret->nkeys = 0;
	json_array_foreach (keys, i, object) {
		if ((alg = text_of(object, "alg")) == NULL)
			return (err_set(
			    err, RC_INVALID, "a key does not say its \"alg\""));
		if (strcmp(alg, ALGORITHM) != 0)
			continue;
		if ((rc = read_key(object, ret, err)) != RC_OK)
			return (rc);
	}
	if (ret->nkeys == 0)
		return (err_set(err, RC_INVALID,
		    "the document has no key with \"alg\" \"" ALGORITHM "\""));
	return (RC_OK);
}

/* ---- the URL of deliver ---- */

/* Copies the host of a URL, which begins at ${*at} and ends before the next
 * delimiter (such as ':' or '/') or the NUL, and moves ${*at} to this delimiter
 * or NUL.  Returns false, with ${*at} unchanged, if the host is empty or longer
 * than a domain may be. */
static bool
take_host(const char **at, char ret[LIMIT_DOMAIN_LEN + 1])
{
	size_t n = strcspn(*at, "/:?#@[]\\");

	if (n < 1 || n > LIMIT_DOMAIN_LEN)
		return (false);
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at += n;
	return (true);
}

/* Returns what is wrong with ${url}; NULL: nothing, and ${ret_host} is set. */
static const char *
url_fault(
    const char *url, const char *domain, char ret_host[LIMIT_DOMAIN_LEN + 1])
{
	const char *at = url + strlen(HTTPS);

	if (strncmp(url, HTTPS, strlen(HTTPS)) != 0)
		return ("does not begin with https://");
	if (!take_host(&at, ret_host) ||
	    !domain_host_valid(ret_host, strlen(ret_host)))
		return ("does not name its host as a DNS name in lower case");
	if (*at == ':') {
		if (strncmp(at, ":443", 4) != 0 || (at[4] != '/' && at[4]))
			return ("is not on port 443");
		at += 4;
	}
	if (strcmp(at, DOCUMENT_DELIVER_PATH) != 0)
		return ("does not have exactly the path "
			"" DOCUMENT_DELIVER_PATH);
	if (!domain_within(ret_host, domain))
		return ("is neither on the domain nor on a subdomain of it");
	return (NULL);
}

/* Accepts the pinned URL with the path.  For tests and closed networks. */
static bool
take_pinned(const char *url, const char *pinned, struct document *ret)
{
	const char *authority;
	size_t n;

	if (pinned == NULL || strlen(url) >= sizeof(ret->deliver))
		return (false);
	n = strlen(pinned);
	authority = strstr(pinned, "://");
	if (strncmp(url, pinned, n) != 0 || authority == NULL ||
	    strcmp(url + n, DOCUMENT_DELIVER_PATH) != 0)
		return (false);
	authority += 3;
	n -= (size_t)(authority - pinned);
	/* A signature covers the component @authority of RFC 9421, which leaves
	 * the default port of https out. */
	if (strncmp(pinned, HTTPS, strlen(HTTPS)) == 0 && n > strlen(":443") &&
	    strcmp(authority + n - strlen(":443"), ":443") == 0)
		n -= strlen(":443");
	if (n >= sizeof(ret->authority))
		return (false);
	memcpy(ret->deliver, url, strlen(url) + 1);
	memcpy(ret->authority, authority, n);
	ret->authority[n] = '\0';
	return (true);
}

static enum rc
read_deliver(const json_t *root, const char *pinned, struct document *ret,
    struct err *err)
{
	const char *fault, *url = text_of(root, "deliver");
	char host[LIMIT_DOMAIN_LEN + 1], shown[SHOWN_SIZE];

	if (url == NULL)
		return (err_set(err, RC_INVALID,
		    "the document does not say where to \"deliver\""));
	if (take_pinned(url, pinned, ret))
		return (RC_OK);
	if ((fault = url_fault(url, ret->domain, host)) != NULL)
		return (err_set(err, RC_INVALID, "\"deliver\" (%s) %s",
		    escape_text(url, shown, sizeof(shown)), fault));
	(void)snprintf(ret->deliver, sizeof(ret->deliver),
	    HTTPS "%s" DOCUMENT_DELIVER_PATH, host);
	memcpy(ret->authority, host, strlen(host) + 1);
	return (RC_OK);
}

/* ---- the rest ---- */

static enum rc
read_limits(const json_t *root, struct document *ret, struct err *err)
{
	const struct {
		const char *name;
		int64_t most, unsaid;
		int64_t *ret;
	} rows[] = {
	    {"items", ENVELOPE_ITEMS, ENVELOPE_ITEMS, &ret->items},
	    {"bytes", ENVELOPE_REQUEST_LEN, ENVELOPE_REQUEST_LEN, &ret->bytes},
	    {"requests", DOCUMENT_REQUESTS, DOCUMENT_REQUESTS_UNSAID,
		&ret->requests},
	};
	const json_t *limits = member_of(root, "limits"), *value;
	int64_t limit;
	size_t i;

	if (limits != NULL && !json_is_object(limits))
		return (
		    err_set(err, RC_INVALID, "\"limits\" is not an object"));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*rows[i].ret = rows[i].unsaid;
		value = member_of(limits, rows[i].name);
		if (value == NULL)
			continue;
		limit = json_integer_value(value);
		if (limit < 1)
			return (err_set(err, RC_INVALID,
			    "\"%s\" of \"limits\" is not a whole number from "
			    "1",
			    rows[i].name));
		*rows[i].ret = rows[i].most;
		if (limit < rows[i].most)
			*rows[i].ret = limit;
	}
	return (RC_OK);
}

static enum rc
read_versions(const json_t *root, struct err *err)
{
	const json_t *value;
	size_t i;

	json_array_foreach (json_object_get(root, "versions"), i, value) {
		if (json_is_string(value) &&
		    strcmp(json_string_value(value), PROTOCOL) == 0)
			return (RC_OK);
	}
	return (err_set(err, RC_INVALID,
	    "\"versions\" does not have \"" PROTOCOL "\", the only version of "
	    "the protocol that this server speaks"));
}

static enum rc
read_epoch(const json_t *root, struct document *ret, struct err *err)
{
	const json_t *value = member_of(root, "epoch");

	ret->epoch[0] = '\0';
	if (value == NULL)
		return (RC_OK);
	if (!json_is_string(value) ||
	    !envelope_epoch_valid(
		json_string_value(value), json_string_length(value)))
		return (err_set(err, RC_INVALID,
		    "\"epoch\" is not a text of 1 to %d letters, digits and "
		    "'-'",
		    ENVELOPE_EPOCH_LEN));
	memcpy(ret->epoch, json_string_value(value),
	    json_string_length(value) + 1);
	return (RC_OK);
}

static enum rc
read_root(const json_t *root, const char *domain, const char *pinned,
    struct document *ret, struct err *err)
{
	enum rc rc;

	if (!json_is_object(root))
		return (err_set(
		    err, RC_INVALID, "the document is not a JSON object"));
	if ((rc = read_versions(root, err)) != RC_OK ||
	    (rc = read_domain(root, domain, ret, err)) != RC_OK ||
	    (rc = read_keys(root, ret, err)) != RC_OK ||
	    (rc = read_deliver(root, pinned, ret, err)) != RC_OK ||
	    (rc = read_limits(root, ret, err)) != RC_OK)
		return (rc);
	return (read_epoch(root, ret, err));
}

enum rc
document_read(const char *text, size_t n, const char *domain,
    const char *pinned, struct document *ret, struct err *err)
{
	struct refusal r = REFUSAL_INIT;
	struct document d;
	struct wire_doc doc;
	enum rc rc;

	if (n > DOCUMENT_LEN)
		return (err_set(err, RC_INVALID,
		    "the document is longer than %d bytes", DOCUMENT_LEN));
	rc = wire_parse(text, n, &doc, &r);
	if (rc != RC_OK)
		return (err_set(
		    err, rc, "the document cannot be read: %s", r.detail));
	rc = read_root(doc.root, domain, pinned, &d, err);
	if (rc == RC_OK)
		*ret = d;
	wire_doc_fini(&doc);
	return (rc);
}

/* ---- how long it is kept ---- */

/* Parses the value of max-age, with or without quotes, as seconds, and clamps
 * it to DOCUMENT_LIFETIME_MIN_S to DOCUMENT_LIFETIME_MAX_S.  Returns false if
 * the value is not a whole number. */
static bool
take_seconds(const char *text, int64_t *ret)
{
	bool quoted = *text == '"';
	int64_t s = 0;
	size_t n;

	text += quoted;
	for (n = 0; text[n] >= '0' && text[n] <= '9'; n++) {
		if (s <= DOCUMENT_LIFETIME_MAX_S)
			s = s * 10 + (text[n] - '0');
	}
	if (n == 0 || (quoted && text[n++] != '"') ||
	    (text[n] != '\0' && strchr(", \t", text[n]) == NULL))
		return (false);
	if (s < DOCUMENT_LIFETIME_MIN_S)
		s = DOCUMENT_LIFETIME_MIN_S;
	*ret = s < DOCUMENT_LIFETIME_MAX_S ? s : DOCUMENT_LIFETIME_MAX_S;
	return (true);
}

/* Returns the next directive of Cache-Control.  Commas in quotes do not
 * separate directives. */
static const char *
next_directive(const char *text)
{
	bool quoted = false;

	for (; *text != '\0' && (quoted || *text != ','); text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (quoted && *text == '\\' && text[1] != '\0')
			text++;
	}
	return (text + strspn(text, ", \t"));
}

int64_t
document_lifetime_s(const char *value)
{
	int64_t seconds;

	if (value == NULL)
		return (DOCUMENT_LIFETIME_S);
	for (value += strspn(value, ", \t"); *value != '\0';
	     value = next_directive(value)) {
		if (strncasecmp(value, MAX_AGE, strlen(MAX_AGE)) == 0)
			return (take_seconds(value + strlen(MAX_AGE), &seconds)
				    ? seconds
				    : DOCUMENT_LIFETIME_S);
	}
	return (DOCUMENT_LIFETIME_S);
}
