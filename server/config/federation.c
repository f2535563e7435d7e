/* SPDX-License-Identifier: MIT */
/*
 * The settings about other servers: their values, the rules between them, and
 * the warnings about them.  net/domain.h defines which domains and URLs are
 * valid.
 */
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

/* "DOMAIN=https://HOST:PORT" with the longest names, and its NUL. */
#define PIECE_SIZE (2 * LIMIT_DOMAIN_LEN + sizeof("=https://[]:65535"))

/* ---- values ---- */

static bool
read_url(const char *text, struct domain_url *ret, struct err *err)
{

	*ret = (struct domain_url){.https = false};
	return (*text == '\0' || domain_url_parse(text, ret, err) == RC_OK);
}

static enum rc
add_peer(const char *text, struct config_peers *peers, struct err *err)
{
	struct domain_peer peer;
	enum rc rc;

	if ((rc = domain_peer_parse(text, &peer, err)) != RC_OK)
		return (rc);
	if (domain_peer_find(peers->list, peers->n, peer.domain) != NULL)
		return (err_set(err, RC_INVALID,
		    "%.80s stands in the list twice; leave one of them out",
		    peer.domain));
	if (peers->n == CONFIG_LIST_MAX)
		return (err_set(err, RC_INVALID,
		    "%.80s is one server too many: at most %d are supported",
		    peer.domain, CONFIG_LIST_MAX));
	peers->list[peers->n++] = peer;
	return (RC_OK);
}

static bool
read_peers(const char *text, struct config_peers *ret, struct err *err)
{
	char piece[PIECE_SIZE];

	*ret = (struct config_peers){.n = 0};
	for (;;) {
		if (!config_piece_take(&text, piece, sizeof(piece))) {
			(void)err_set(err, RC_INVALID,
			    "\"%.80s\" is too long for DOMAIN=URL", text);
			return (false);
		}
		if (piece[0] == '\0')
			return (true);
		if (add_peer(piece, ret, err) != RC_OK)
			return (false);
	}
}

bool
config_names_read(enum config_type type, const char *text, void *ret,
    char ret_why[CONFIG_WHY_SIZE])
{
	struct err err = ERR_INIT;
	bool ok;

	if (type == CONFIG_URL)
		ok = read_url(text, ret, &err);
	else if (type == CONFIG_PEERS)
		ok = read_peers(text, ret, &err);
	else
		ok = domain_list_parse(text, ret, &err) == RC_OK;
	if (!ok)
		(void)snprintf(ret_why, CONFIG_WHY_SIZE, "%s", err.text);
	return (ok);
}

static void
write_url(struct buf *out, const struct domain_url *url)
{

	if (url->host[0] == '\0')
		return;
	buf_adds(out, url->https ? "https://" : "http://");
	buf_adds(out, url->authority);
}

static void
write_peers(struct buf *out, const struct config_peers *peers)
{
	int i;

	for (i = 0; i < peers->n; i++) {
		if (i > 0)
			buf_addc(out, ',');
		buf_adds(out, peers->list[i].domain);
		buf_addc(out, '=');
		write_url(out, &peers->list[i].url);
	}
}

static void
write_domains(struct buf *out, const struct domain_list *list)
{
	int i;

	for (i = 0; i < list->n; i++) {
		if (i > 0)
			buf_addc(out, ',');
		buf_adds(out, list->entry[i]);
	}
}

void
config_names_write(enum config_type type, const void *member, struct buf *out)
{

	if (type == CONFIG_URL)
		write_url(out, member);
	else if (type == CONFIG_PEERS)
		write_peers(out, member);
	else
		write_domains(out, member);
}

/* ---- rules ---- */

/* Sets an empty federation_url to https://DOMAIN, which is public; checks any
 * other.  Other servers accept a public URL only (https on port 443 of DOMAIN
 * or of a name below it, domain_url_public()), unless they have pinned this
 * server's URL, as in tests and closed networks.  So a URL that is not public
 * is allowed in two cases: it is http (which the parser of URLs has accepted
 * for loopback only), or this server has pinned peers itself (federation_peer).
 * In all other cases, returns RC_INVALID. */
static enum rc
check_url(struct config *config, struct err *err)
{
	struct domain_url *url = &config->federation_url;
	char text[sizeof("https://") + LIMIT_DOMAIN_LEN];

	if (url->host[0] == '\0') {
		(void)snprintf(
		    text, sizeof(text), "https://%.253s", config->domain);
		return (domain_url_parse(text, url, err));
	}
	if (domain_url_public(url, config->domain) || !url->https ||
	    config->federation_peer.n > 0)
		return (RC_OK);
	return (err_set(err, RC_INVALID,
	    "federation-url: other servers refuse %.60s, because it is not on "
	    "port 443 of %.60s or of a name below it; leave the setting out, "
	    "or name such a host",
	    url->authority, config->domain));
}

static enum rc
check_peers(const struct config *config, struct err *err)
{
	const struct config_peers *peers = &config->federation_peer;

	if (peers->n > 0 && config->behind_proxy.n > 0)
		return (err_set(err, RC_INVALID,
		    "federation-peer: fixed URLs are for tests and closed "
		    "networks, so they are refused together with behind-proxy; "
		    "leave one of them out"));
	if (domain_peer_find(peers->list, peers->n, config->domain) != NULL)
		return (err_set(err, RC_INVALID,
		    "federation-peer: %.80s is this server's own domain; leave "
		    "it out",
		    config->domain));
	return (RC_OK);
}

enum rc
config_federation_check(struct config *config, struct err *err)
{
	enum rc rc;

	if (config->federation == FEDERATION_OFF)
		return (RC_OK);
	if (!domain_valid(config->domain, strlen(config->domain)))
		return (err_set(err, RC_INVALID,
		    "domain: other servers have no way to reach \"%.60s\"; set "
		    "it to the name behind the @ of your users' addresses, "
		    "with a dot (chat.example), or set federation to off",
		    config->domain));
	if ((rc = check_url(config, err)) != RC_OK)
		return (rc);
	return (check_peers(config, err));
}

/* ---- warnings ---- */

static void
warn_without_effect(const struct config *config, config_warn_fn warn, void *arg)
{
	const char *cure = "it has no effect while federation is off; set "
			   "federation to list or open, or leave it out";
	const struct {
		const char *name;
		bool is_set;
	} rows[] = {
	    {"federation-url", config->federation_url.host[0] != '\0'},
	    {"federation-allow", config->federation_allow.n > 0},
	    {"federation-deny", config->federation_deny.n > 0},
	    {"federation-networks", config->federation_networks.n > 0},
	    {"federation-ca", config->federation_ca[0] != '\0'},
	    {"federation-peer", config->federation_peer.n > 0},
	};
	char text[CONFIG_WHY_SIZE];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].is_set)
			continue;
		(void)snprintf(
		    text, sizeof(text), "%s: %s", rows[i].name, cure);
		warn(arg, text);
	}
}

/* Warns in two cases.  Federation is list, which allows only the servers of
 * federation-allow and federation-peer, and both are empty; or federation is
 * open, and federation-allow, which then has no effect, is not empty. */
static void
warn_lists(const struct config *config, config_warn_fn warn, void *arg)
{
	const bool is_list = config->federation == FEDERATION_LIST;

	if (is_list && config->federation_allow.n == 0 &&
	    config->federation_peer.n == 0)
		warn(arg,
		    "federation: no other server is allowed, because list "
		    "means those of federation-allow and that is empty; name "
		    "some there, or set federation to open or off");
	if (!is_list && config->federation_allow.n > 0)
		warn(arg,
		    "federation-allow: it has no effect while federation is "
		    "open; set federation to list, or leave it out");
}

static void
warn_url(const struct config *config, config_warn_fn warn, void *arg)
{
	char text[CONFIG_WHY_SIZE];

	if (domain_url_public(&config->federation_url, config->domain))
		return;
	(void)snprintf(text, sizeof(text),
	    "federation-url: only servers that name %.80s in their "
	    "federation-peer can send to this one; leave the setting out to "
	    "be reached by all",
	    config->federation_url.authority);
	warn(arg, text);
}

enum rc
config_federation_warn(
    const struct config *config, config_warn_fn warn, void *arg)
{

	if (config->federation == FEDERATION_OFF) {
		warn_without_effect(config, warn, arg);
		return (RC_OK);
	}
	warn_lists(config, warn, arg);
	warn_url(config, warn, arg);
	return (config_warn_wide("federation-networks",
	    &config->federation_networks,
	    "strangers decide which names this server looks up, so they could "
	    "make it contact every machine in it; name only the networks of "
	    "servers that you know",
	    warn, arg));
}
