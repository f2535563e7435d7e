/* SPDX-License-Identifier: MIT */
/*
 * See explain.h.  Formats the steps; explains the settings, DNS and the
 * connection.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "federation/explain.h"

/* Lines have at most this many bytes. */
#define WIDTH 79

/* ---- texts ---- */

static void set(char ret[EXPLAIN_SIZE], const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void
set(char ret[EXPLAIN_SIZE], const char *fmt, va_list ap)
{

	(void)vsnprintf(ret, EXPLAIN_SIZE, fmt, ap);
}

void
explain_ok(struct explain *ret, const char *fmt, ...)
{
	va_list ap;

	ret->ok = true;
	ret->cure[0] = '\0';
	va_start(ap, fmt);
	set(ret->result, fmt, ap);
	va_end(ap);
}

void
explain_fault(struct explain *ret, const char *fmt, ...)
{
	va_list ap;

	ret->ok = false;
	ret->cure[0] = '\0';
	va_start(ap, fmt);
	set(ret->result, fmt, ap);
	va_end(ap);
}

void
explain_cure(struct explain *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(ret->cure, fmt, ap);
	va_end(ap);
}

/* ---- lines ---- */

/* Appends ${text}, escaped for a terminal, to a line of ${out} that already has
 * ${column} bytes, and ends the line.  Breaks lines between words, so that they
 * have at most WIDTH bytes unless one word is longer; each further line begins
 * with ${indent} spaces.  The first word always goes to the line that is there.
 */
static void
wrap(struct buf *out, const char *text, size_t column, size_t indent)
{
	char shown[4 * EXPLAIN_SIZE];
	const char *word = escape_text(text, shown, sizeof(shown));
	bool first = true;
	size_t n;

	for (; *word != '\0'; word += n + (word[n] == ' '), first = false) {
		n = strcspn(word, " ");
		if (!first && column + 1 + n > WIDTH) {
			buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, word, n);
		column += n;
	}
	buf_addc(out, '\n');
}

void
explain_write_text(struct buf *out, const char *text, size_t indent)
{

	buf_addf(out, "%*s", (int)indent, "");
	wrap(out, text, indent, indent);
}

void
explain_write(struct buf *out, const char *what, const struct explain *e)
{
	char text[sizeof("Cure: ") + EXPLAIN_SIZE];

	buf_addf(out, "%-*s%s: ", EXPLAIN_INDENT, e->ok ? "ok" : "fails", what);
	wrap(out, e->result, EXPLAIN_INDENT + strlen(what) + strlen(": "),
	    EXPLAIN_INDENT);
	if (e->cure[0] == '\0')
		return;
	(void)snprintf(
	    text, sizeof(text), "%s: %s", e->ok ? "Note" : "Cure", e->cure);
	explain_write_text(out, text, EXPLAIN_INDENT);
}

/* ---- the settings ---- */

static void
explain_not_listed(const char *domain, struct explain *ret)
{

	explain_fault(ret,
	    "%s is not allowed: federation is list, and neither "
	    "federation-allow nor federation-peer names it",
	    domain);
	explain_cure(ret,
	    "Add %s to federation-allow, or set federation to open, and "
	    "restart the server.",
	    domain);
}

/* Explains why ${domain} is allowed. */
static void
explain_allowed(const struct directory_policy *policy, const char *domain,
    struct explain *ret)
{
	const struct domain_peer *peer =
	    domain_peer_find(policy->peers, policy->npeers, domain);

	if (peer != NULL)
		explain_ok(ret,
		    "%s is allowed: federation-peer fixes its URL, %s://%s",
		    domain, peer->url.https ? "https" : "http",
		    peer->url.authority);
	else if (domain_listed(&policy->allow, domain))
		explain_ok(
		    ret, "%s is allowed: federation-allow names it", domain);
	else
		explain_ok(ret,
		    "%s is allowed: federation is open, and federation-deny "
		    "does not name it",
		    domain);
}

void
explain_policy(const struct directory_policy *policy, const char *domain,
    struct explain *ret)
{

	if (!domain_valid(domain, strlen(domain))) {
		explain_fault(ret,
		    "\"%.253s\" is not a valid domain of a server", domain);
		explain_cure(ret,
		    "Write what stands behind the @ of an address there, in "
		    "lower case and without https://: b.example");
	} else if (policy->mode == DIRECTORY_OFF) {
		explain_fault(ret,
		    "federation is off: this server exchanges messages with no "
		    "other one");
		explain_cure(ret,
		    "Set federation to open, or to list with %s in "
		    "federation-allow, and restart the server.",
		    domain);
	} else if (strcmp(domain, policy->domain) == 0) {
		explain_fault(
		    ret, "%s is the domain of this server itself", domain);
		explain_cure(ret,
		    "Name another server; this one's document is looked at in "
		    "the same run.");
	} else if (domain_listed(&policy->deny, domain)) {
		explain_fault(
		    ret, "%s is not allowed: federation-deny names it", domain);
		explain_cure(ret,
		    "Take it out of federation-deny, and restart the server.");
	} else if (!directory_policy_allows(policy, domain)) {
		explain_not_listed(domain, ret);
	} else {
		explain_allowed(policy, domain, ret);
	}
}

/* ---- DNS ---- */

void
explain_no_address(
    const char *host, const char *why, bool again, struct explain *ret)
{

	explain_fault(ret, "%s has no address (%s)", host, why);
	explain_cure(ret,
	    again ? "The resolver of this machine did not answer: look at "
		    "/etc/resolv.conf, and try again."
		  : "Check the spelling. If it is right, the operator of the "
		    "other server publishes an A or AAAA record for it.");
}

void
explain_addresses(
    const char *host, size_t n, size_t nallowed, struct explain *ret)
{

	if (nallowed > 0) {
		explain_ok(
		    ret, "%s has %zu address%s", host, n, n == 1 ? "" : "es");
		return;
	}
	explain_fault(ret,
	    "%s has %zu address%s, and this server may contact none of them",
	    host, n, n == 1 ? "" : "es");
	explain_cure(ret,
	    "The operator of the other server publishes a public address. If "
	    "that server is in a network of your own, name this network in "
	    "federation-networks, and restart the server.");
}

/* ---- the connection ---- */

void
explain_transport(const char *authority, enum classify_transport transport,
    const char *error, struct explain *ret)
{
	const char *colon = strrchr(authority, ':');
	const bool has_port = colon != NULL && strchr(colon, ']') == NULL;

	explain_fault(ret, "%s%s%s", classify_transport_words(transport),
	    error[0] != '\0' ? ": " : "", error);
	switch (transport) {
	case CLASSIFY_NO_ADDRESS:
		explain_cure(ret,
		    "The name needs an A or AAAA record, and the resolver of "
		    "this machine (/etc/resolv.conf) must know it.");
		break;
	case CLASSIFY_FORBIDDEN:
		explain_cure(ret,
		    "If that server is in a network of your own, name this "
		    "network in federation-networks.");
		break;
	case CLASSIFY_NO_CONNECTION:
		explain_cure(ret,
		    "The web server of %s must run and listen there, and the "
		    "firewalls on the way must let the connection through: the "
		    "one there in, the one here out.",
		    authority);
		break;
	case CLASSIFY_TLS:
		/* OpenSSL's text when the other end does not speak TLS. */
		if (strstr(error, "wrong version number") != NULL) {
			explain_cure(ret,
			    "The server there does not speak TLS, but seems to "
			    "speak plain HTTP: the proxy of %s must do TLS on "
			    "this port (nginx: \"listen 443 ssl\").",
			    authority);
			break;
		}
		explain_cure(ret,
		    "The certificate there must be valid for this name, must "
		    "not have expired, and must come from an authority that "
		    "this machine trusts (package ca-certificates, or the "
		    "setting federation-ca), with its intermediate "
		    "certificates. \"openssl s_client -connect "
		    "%s%s\" shows it.",
		    authority, has_port ? "" : ":443");
		break;
	case CLASSIFY_TIME_OUT:
		explain_cure(ret,
		    "Mostly a firewall on the way drops packets; otherwise %s "
		    "is overloaded.",
		    authority);
		break;
	case CLASSIFY_TOO_LONG:
		explain_cure(ret,
		    "This is not the answer of a twinbox server: the proxy of "
		    "%s must pass %s and %s to twinboxd.",
		    authority, DOCUMENT_PATH, DOCUMENT_DELIVER_PATH);
		break;
	case CLASSIFY_ANSWERED:
	case CLASSIFY_BROKEN:
	case CLASSIFY_TRANSPORTS:
	default:
		explain_cure(ret,
		    "Something between the two machines breaks the connection, "
		    "or what listens there does not speak HTTP. Try again, and "
		    "look at the log of the proxy of %s.",
		    authority);
		break;
	}
}
