/* SPDX-License-Identifier: MIT */
/*
 * See explain.h.  Explains the answers of servers, this one included.
 */
#include <stdio.h>
#include <string.h>

#include "federation/explain.h"
#include "federation/signature.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- answers that nobody wants ---- */

/* The meaning of an answer, with a cure.  A row matches if the status is in its
 * range and, if the row has a code, the answer is a problem document with this
 * code, which shows that twinbox itself has answered.  The first row of a table
 * that matches counts; if none does, the last row counts. */
struct row {
	int from, to; /* range of HTTP statuses */
	const char *code;
	const char *what, *cure;
};

/* Returns the first row that matches, or the last row. */
static const struct row *
find_row(const struct row *rows, size_t n, int status,
    const struct classify_said *said)
{
	const char *code = said != NULL ? said->code : "";
	size_t i;

	for (i = 0; i + 1 < n; i++) {
		if (status < rows[i].from || status > rows[i].to)
			continue;
		if (rows[i].code == NULL || strcmp(rows[i].code, code) == 0)
			break;
	}
	return (&rows[i]);
}

static void
explain_row(const struct row *row, int status, const struct classify_said *said,
    struct explain *ret)
{
	const bool quotes = said != NULL && said->detail[0] != '\0';

	explain_fault(ret, "HTTP %d%s%s, %s%s%s%s", status,
	    said != NULL ? " " : "", said != NULL ? said->code : "", row->what,
	    quotes ? ". It says: \"" : "", quotes ? said->detail : "",
	    quotes ? "\"" : "");
	explain_cure(ret, "%s", row->cure);
}

#define UNREACHED                                                              \
	"twinboxd must run there; the log of the proxy in front of it says "   \
	"more."

void
explain_document_status(
    int status, const struct classify_said *said, struct explain *ret)
{
	static const struct row rows[] = {
	    {300, 399, NULL, "a redirect, which is not followed",
		"The proxy of the domain must answer for " DOCUMENT_PATH
		" itself, and not send to another host."},
	    {401, 403, NULL, "it lets nobody read its document",
		"The proxy of the domain must pass " DOCUMENT_PATH
		" to twinboxd without asking for a password."},
	    {404, 410, NULL, "there is no document",
		"The proxy of the domain must pass " DOCUMENT_PATH
		" to twinboxd, and the setting federation there must not be "
		"off."},
	    {502, 504, NULL, "its proxy does not reach twinboxd", UNREACHED},
	    {0, 999, NULL, "not the answer to a request for its document",
		"The logs of the proxy and of twinboxd there say more."},
	};

	explain_row(
	    find_row(rows, ARRAY_LEN(rows), status, said), status, said, ret);
}

/* ---- the document ---- */

static bool
has_key(const struct document *d, const char *id,
    const uint8_t public[SIGN_PUBLIC_SIZE])
{
	size_t i;

	for (i = 0; i < d->nkeys; i++)
		if (strcmp(d->keys[i].id, id) == 0 &&
		    memcmp(d->keys[i].public, public, SIGN_PUBLIC_SIZE) == 0)
			return (true);
	return (false);
}

/* Returns true if operators have pinned keys of a server and its document ${d}
 * has none of them.  Only pinned keys verify then, so this server accepts no
 * signature by a key of the document.  Returns false if ${known}, the database
 * row of the server, is NULL. */
static bool
lacks_pinned(const struct document *d, const struct store_peer_known *known)
{
	bool pinned = false;
	size_t i;

	_Static_assert(STORE_PEER_PUBLIC_SIZE == SIGN_PUBLIC_SIZE, "Ed25519");
	for (i = 0; known != NULL && i < known->nkeys; i++) {
		if (known->keys[i].pinned_by[0] == '\0')
			continue;
		pinned = true;
		if (has_key(d, known->keys[i].key_id, known->keys[i].public))
			return (false);
	}
	return (pinned);
}

static void
write_key_ids(const struct document *d, char *ret, size_t size)
{
	size_t i, n = 0;

	*ret = '\0';
	for (i = 0; i < d->nkeys && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s",
		    i > 0 ? ", " : "", d->keys[i].id);
}

void
explain_document(const struct document *d, const struct store_peer_known *known,
    struct explain *ret)
{
	char ids[DOCUMENT_KEYS * (SIGNATURE_KEY_ID_MAX + 2) + 1];

	write_key_ids(d, ids, sizeof(ids));
	if (lacks_pinned(d, known)) {
		explain_fault(ret,
		    "it has the key%s %.200s, and none of those that are pinned "
		    "here: what the other server signs is not believed",
		    d->nkeys == 1 ? "" : "s", ids);
		explain_cure(ret,
		    "Ask its operator, on another way than this one, which key "
		    "is right, and pin that: \"twinbox admin peers pin %s "
		    "KEY-ID PUBLIC-KEY\".",
		    d->domain);
		return;
	}
	explain_ok(ret,
	    "key%s %.200s; at most %lld envelopes and %lld bytes in a request, "
	    "%lld requests at once; messages go to %s",
	    d->nkeys == 1 ? "" : "s", ids, (long long)d->items,
	    (long long)d->bytes, (long long)d->requests, d->deliver);
}

/* ---- the clock ---- */

void
explain_clock(
    const char *date, int64_t sent_ms, int64_t got_ms, struct explain *ret)
{
	int64_t date_ms, ahead, apart;

	if (date == NULL || !classify_date_read(date, &date_ms)) {
		explain_ok(ret, "not compared: the answer has no Date that can "
				"be read");
		return;
	}
	ahead = peer_clocks_ahead_ms(date_ms, sent_ms, got_ms);
	apart = ahead < 0 ? -ahead : ahead;
	if (apart < 1000) {
		explain_ok(ret, "the clocks agree to the second");
	} else if (apart <= EXPLAIN_SKEW_MS) {
		explain_ok(ret, "the other server's clock is %lld s %s",
		    (long long)(apart / 1000), ahead > 0 ? "ahead" : "behind");
	} else {
		explain_fault(ret,
		    "the other server's clock is %lld s %s this one's",
		    (long long)(apart / 1000),
		    ahead > 0 ? "ahead of" : "behind");
		explain_cure(ret,
		    "Which of the two is wrong cannot be known from here: both "
		    "operators compare theirs with the time (timedatectl). "
		    "From %d s on, each refuses what the other one signs.",
		    SIGNATURE_SKEW_S);
	}
}

/* ---- this server's document ---- */

void
explain_own(const struct document *d, const struct document_key *signer,
    const char *authority, struct explain *ret)
{

	if (!has_key(d, signer->id, signer->public)) {
		explain_fault(ret,
		    "it does not have the key %s, with which this server signs: "
		    "others will refuse what it sends",
		    signer->id);
		explain_cure(ret,
		    "The document is that of another server or database, or an "
		    "old one that a cache has kept. The proxy must pass " DOCUMENT_PATH
		    " to this server, and must not keep the "
		    "answer.");
	} else if (strcmp(d->authority, authority) != 0) {
		explain_fault(ret,
		    "it sends others to %s, and the settings say %s",
		    d->authority, authority);
		explain_cure(ret,
		    "Restart the server, if its settings have changed, and "
		    "call this command with the same settings.");
	} else {
		explain_ok(ret,
		    "others find the key %s, with which this server signs, and "
		    "are sent to %s",
		    signer->id, authority);
	}
}

/* ---- the signed request ---- */

#define PROXY_CHANGES                                                          \
	"A proxy in front of the other server changes the request; its "       \
	"operator lets path, headers and body through as they are."
#define UPDATE "The older one of the two programs must be updated."
#define CLOCKS                                                                 \
	"One of the two clocks is wrong by more than 5 minutes: both "         \
	"operators compare theirs with the time (timedatectl)."
#define NO_ENVELOPES "it does not take a request without envelopes"
#define LATER "Run this command again in a minute."

static const struct row answer_rows[] = {
    {401, 401, "signature-missing", "the signature did not arrive",
	PROXY_CHANGES},
    {401, 401, "signature-malformed",
	"the signature that arrived is not of the protocol",
	PROXY_CHANGES " Otherwise: " UPDATE},
    {401, 401, "signature-components",
	"what arrived is not what the protocol signs", PROXY_CHANGES},
    {401, 401, "signature-parameters",
	"the signature has other parameters than it knows", UPDATE},
    {401, 401, "signature-expired", "by its clock the signature has expired",
	CLOCKS},
    {401, 401, "signature-early",
	"by its clock the signature comes from the future", CLOCKS},
    {401, 401, "signature-wrong", "the signature does not verify there",
	"Mostly the settings domain and federation-url of the other server are "
	"not those of its document, or it knows another key of this server "
	"under the same id (its operator compares: \"twinbox admin peers "
	"show\" there, \"twinboxd keys list\" here)."},
    {401, 401, "digest-wrong", "the body that arrived is not the one signed",
	PROXY_CHANGES},
    {401, 401, "nonce-repeated", "the request arrived there twice",
	"A proxy on the way repeats requests. Run this command again; if it "
	"says the same, its operator ends that for " DOCUMENT_DELIVER_PATH "."},
    {401, 401, NULL, "something in front of it asks for a password",
	"The proxy of the other server must pass " DOCUMENT_DELIVER_PATH
	" to twinboxd as it is."},
    {403, 403, "peer-refused", "it is set not to talk to this server",
	"Its operator sets federation to open, or to list with this server in "
	"federation-allow, and looks at federation-deny and, for a block, at "
	"\"twinbox admin peers\"."},
    {403, 403, NULL, "something in front of it refuses",
	"A proxy or firewall of the other server refuses this machine, or "
	"the path " DOCUMENT_DELIVER_PATH ": its operator lets both through."},
    {404, 405, NULL, "the request does not reach twinboxd there",
	"The proxy of the other server must pass POST " DOCUMENT_DELIVER_PATH
	" to twinboxd."},
    {300, 399, NULL, "a redirect, which is not followed",
	"The proxy of the other server must pass " DOCUMENT_DELIVER_PATH
	" to twinboxd, and not send to another host."},
    {429, 429, NULL, "this server has sent too much there", LATER},
    {503, 503, "key-unknown",
	"it does not know the key of this server, and did not get it in time",
	"It must be able to read the document of this server: the step \"own "
	"document\" must be ok here, and from there, too. Its operator runs "
	"this command there. After a failure it may take ten minutes until it "
	"tries again."},
    {503, 503, "draining", "it is stopping", LATER},
    {503, 503, "busy", "it is busy, or its database is away", LATER},
    {502, 504, NULL, "its proxy does not reach twinboxd", UNREACHED},
    {400, 400, NULL, NO_ENVELOPES, UPDATE},
    {413, 413, NULL, NO_ENVELOPES, UPDATE},
    {422, 422, NULL, NO_ENVELOPES, UPDATE},
    {0, 999, NULL, "not an answer of the protocol",
	"The operator of the other server looks at the log of the proxy and "
	"of twinboxd there."},
};

/* Explains an answer with status 200. */
static void
explain_taken(const struct explain_answer *a, struct explain *ret)
{

	if (a->answer == NULL) {
		explain_fault(
		    ret, "HTTP 200, but not an answer of the protocol");
		explain_cure(ret,
		    "Something else than twinboxd answers there: the proxy of "
		    "the other server must pass " DOCUMENT_DELIVER_PATH
		    " to it.");
	} else if (a->answer->reconnect) {
		explain_fault(ret, "it is stopping, and takes nothing now");
		explain_cure(ret, LATER);
	} else if (strcmp(a->answer->pong, a->ping) != 0) {
		explain_fault(
		    ret, "HTTP 200, but without an answer to the ping in it");
		explain_cure(ret, UPDATE);
	} else {
		explain_ok(ret,
		    "the signature is good there, and the ping came back after "
		    "%lld ms",
		    (long long)a->took_ms);
	}
}

void
explain_answer(const struct explain_answer *a, struct explain *ret)
{

	if (a->status == 200)
		explain_taken(a, ret);
	else
		explain_row(find_row(answer_rows, ARRAY_LEN(answer_rows),
				a->status, a->said),
		    a->status, a->said, ret);
}
