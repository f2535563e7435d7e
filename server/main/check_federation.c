/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd check-federation DOMAIN`: tries the steps of the way to another
 * server, until a failed step makes the next one impossible, and prints each
 * result (federation/explain.h).  It keeps the rules of the server: the same
 * settings, certificates and limits, the same allowed addresses (but this
 * server's own document may be at any address), and it signs with the same key.
 * It reads the database on a connection that cannot write, so it works with and
 * without a running server.
 */
#include <sys/socket.h>

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "delivery/server_keys.h"
#include "federation/address.h"
#include "log/log.h"
#include "main/check_internal.h"
#include "store/peer.h"

/* ADDRESS_SIZE: room for an address as text, in bytes.  ADDRESSES_SHOWN: the
 * most addresses of one name that are printed. */
#define ADDRESS_SIZE 64
#define ADDRESSES_SHOWN 16
static int64_t
now_ms(void)
{

	return (clk_wall_ms(clk_system()));
}

/* ---- output ---- */

enum rc
check_print(struct buf *out, struct err *err)
{
	enum rc rc = RC_OK;

	if (!buf_ok(out))
		rc = err_set(err, RC_NO_MEMORY, "out of memory");
	else if (out->len > 0 &&
		 (fwrite(out->data, 1, out->len, stdout) != out->len ||
		     fflush(stdout) != 0))
		rc = err_set(err, RC_IO, "standard output cannot be written");
	buf_fini(out);
	return (rc);
}

enum rc
check_say(
    struct check *c, const char *what, const struct explain *e, struct err *err)
{
	struct buf out = BUF_INIT;

	c->failed = c->failed || !e->ok;
	explain_write(&out, what, e);
	return (check_print(&out, err));
}

enum rc
check_say_or_end(
    struct check *c, const char *what, const struct explain *e, struct err *err)
{

	c->over = c->over || !e->ok;
	return (check_say(c, what, e, err));
}

/* ---- 1: the settings and the database ---- */

/* Reads the key that signs now, by the same rule as the running server. */
static enum rc
read_signer(struct check *c, struct db *db, struct err *err)
{
	struct store_server_key keys[STORE_SERVER_KEYS];
	const struct store_server_key *key = NULL;
	size_t n;
	enum rc rc;

	rc = store_server_keys_list(db, keys, &n, err);
	if (rc == RC_OK)
		key = server_keys_signer(keys, n, now_ms());
	if (key != NULL) {
		c->signs = true;
		(void)snprintf(c->signer.key_id, sizeof(c->signer.key_id), "%s",
		    key->key_id);
		memcpy(c->signer.seed, key->seed, sizeof(c->signer.seed));
		(void)snprintf(c->signer_public.id, sizeof(c->signer_public.id),
		    "%s", key->key_id);
		memcpy(c->signer_public.public, key->public,
		    sizeof(c->signer_public.public));
	}
	crypt_wipe(keys, sizeof(keys));
	return (rc);
}

static enum rc
read_database(struct check *c, struct err *err)
{
	struct db *db;
	enum rc rc;

	if ((rc = data_look(&c->config, DB_READER, &db, err)) != RC_OK)
		return (rc);
	rc = read_signer(c, db, err);
	if (rc == RC_OK) {
		rc = store_peer_known(db, c->domain, &c->known, err);
		c->is_known = rc == RC_OK;
		if (rc == RC_NOT_FOUND)
			rc = RC_OK;
	}
	db_close(db);
	return (rc);
}

static enum rc
check_setting(struct check *c, struct err *err)
{
	struct explain e;
	enum rc rc;

	explain_policy(&c->policy, c->domain, &e);
	if (e.ok) {
		if ((rc = read_database(c, err)) != RC_OK)
			return (rc);
		if (c->is_known && c->known.blocked) {
			explain_fault(&e,
			    "an administrator of this server has blocked %s",
			    c->domain);
			explain_cure(&e,
			    "\"twinbox admin peers unblock %s\", if that is no "
			    "longer wanted.",
			    c->domain);
		}
	}
	c->tried = e.ok;
	return (check_say_or_end(c, "setting", &e, err));
}

/* ---- 2: DNS ---- */

/* Appends to ${out} a line about each of the first ADDRESSES_SHOWN addresses of
 * ${list}: may it be contacted, and if not, why; then the line "and more" if
 * there are more.  Returns the number of all addresses, shown or not;
 * ${*ret_allowed}: how many of all of them may be contacted. */
static size_t
list_addresses(const struct check *c, const struct addrinfo *list,
    struct buf *out, size_t *ret_allowed)
{
	char address[ADDRESS_SIZE], text[2 * ADDRESS_SIZE + 64];
	const char *fault;
	size_t n = 0;

	*ret_allowed = 0;
	for (; list != NULL; list = list->ai_next, n++) {
		fault = address_fault(list->ai_addr, &c->networks);
		*ret_allowed += fault == NULL ? 1 : 0;
		if (n >= ADDRESSES_SHOWN ||
		    getnameinfo(list->ai_addr, list->ai_addrlen, address,
			sizeof(address), NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		(void)snprintf(text, sizeof(text), "%s %s%s", address,
		    fault == NULL ? "may be contacted"
				  : "may not be contacted: it is ",
		    fault == NULL ? "" : fault);
		explain_write_text(out, text, EXPLAIN_INDENT);
	}
	if (n > ADDRESSES_SHOWN)
		explain_write_text(out, "and more", EXPLAIN_INDENT);
	return (n);
}

/* Looks up the host of the other server's document, and prints the result and
 * the addresses.  The step fails, and no further step is tried, if DNS gives no
 * address or this server may contact none of them.  The look-up needs no port,
 * and asks for one socket type so that it gives each address once. */
static enum rc
check_dns(struct check *c, struct err *err)
{
	const struct addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	const char *host = check_host(c);
	struct buf more = BUF_INIT;
	struct addrinfo *list;
	struct explain e;
	size_t n, nallowed;
	enum rc rc;
	int code;

	code = getaddrinfo(host, NULL, &hints, &list);
	if (code != 0) {
		explain_no_address(
		    host, gai_strerror(code), code == EAI_AGAIN, &e);
		return (check_say_or_end(c, "DNS", &e, err));
	}
	n = list_addresses(c, list, &more, &nallowed);
	freeaddrinfo(list);
	explain_addresses(host, n, nallowed, &e);
	rc = check_say_or_end(c, "DNS", &e, err);
	if (rc == RC_OK)
		rc = check_print(&more, err);
	buf_fini(&more);
	return (rc);
}

/* ---- 6: the key ---- */

static enum rc
check_key(struct check *c, struct err *err)
{
	struct explain e;

	if (c->signs) {
		explain_ok(
		    &e, "this server signs with %s", c->signer_public.id);
	} else {
		explain_fault(&e, "this server has no key that signs");
		explain_cure(&e, "\"twinboxd keys rotate\" makes one; so does "
				 "the first start with federation.");
	}
	return (check_say_or_end(c, "key", &e, err));
}

/* ---- all steps ---- */

static enum rc
say_end(const struct check *c, struct err *err)
{
	struct buf out = BUF_INIT;
	char text[EXPLAIN_SIZE];

	(void)snprintf(text, sizeof(text),
	    "%s from here to %.253s. The way back is another one: its operator "
	    "runs \"twinboxd check-federation %.253s\" there.",
	    c->failed ? "Not all is well on the way" : "All is well", c->domain,
	    c->policy.domain);
	buf_addc(&out, '\n');
	explain_write_text(&out, text, 0);
	return (check_print(&out, err));
}

static void
prepare(struct check *c)
{
	const struct domain_peer *peer;

	federate_policy(&c->config, &c->policy);
	peer = domain_peer_find(c->policy.peers, c->policy.npeers, c->domain);
	c->pinned = peer;
	c->networks = server_networks(&c->config.federation_networks);
	if (peer != NULL)
		address_add_loopback(&c->networks);
	(void)snprintf(c->base, sizeof(c->base), "%s://%.259s",
	    peer != NULL && !peer->url.https ? "http" : "https",
	    peer != NULL ? peer->url.authority : c->domain);
}

static enum rc
check(struct check *c, struct err *err)
{
	static enum rc (*const steps[])(struct check *, struct err *) = {
	    check_setting, check_dns, check_document, check_key, check_own,
	    check_request};
	enum rc rc;
	size_t i;

	if ((rc = crypt_init(err)) != RC_OK)
		return (rc);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (c->multi = curl_multi_init()) == NULL)
		return (err_set(err, RC_NO_MEMORY, "libcurl"));
	prepare(c);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (rc != RC_OK || c->over)
			break;
		rc = steps[i](c, err);
	}
	crypt_wipe(&c->signer, sizeof(c->signer));
	(void)curl_multi_cleanup(c->multi);
	curl_global_cleanup();
	return (rc == RC_OK && c->tried ? say_end(c, err) : rc);
}

int
check_federation_main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct check c = {.failed = false};
	enum rc rc;
	int code;

	if ((code = main_settings(argc, argv, &c.config)) >= 0)
		return (code);
	if (c.config.noperands != 1)
		return (main_usage("check-federation"));
	c.domain = c.config.operands[0];
	log_set_level(LVL_WARN);
	if (federate_authorities(&c.config, &c.authorities, &err) != RC_OK)
		return (
		    main_complain(main_config_code(err.rc), "%s", err.text));
	rc = check(&c, &err);
	buf_fini(&c.authorities);
	if (rc != RC_OK)
		return (main_complain(main_file_code(err.rc), "%s", err.text));
	return (c.failed ? EX_UNAVAILABLE : EX_OK);
}
