/* SPDX-License-Identifier: MIT */
/*
 * Makes the module federation from the settings, and connects it with relay and
 * cluster.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "config/regular_file.h"
#include "federation/authorities.h"
#include "main/server.h"

#define READ_SIZE 16384

/* Called after a request of the server that is destination ${destination_id}
 * was verified and its changes were stored.  That server is up, so the relay
 * (the thread that delivers messages) may send to it again before the wait
 * after a failure is over.  ${alone}: the request had neither envelopes nor
 * acks (it was a heartbeat, say); then the relay shortens the wait only if a
 * message waits for that server. */
static void
on_contact(void *arg, int64_t destination_id, bool alone)
{
	struct server *s = arg;

	relay_contact(s->relay, destination_id, alone);
}

void
server_peer_changed(void *arg, const struct store_peer_known *known)
{
	struct server *s = arg;

	federation_peer_changed(s->federation, known);
	if (s->cluster != NULL)
		cluster_send_peer(s->cluster, known->domain);
	/* Rows that waited for this peer may be delivered now. */
	if (!known->blocked)
		relay_contact(s->relay, known->destination_id, false);
}

size_t
server_clocks_off(void *arg, char *ret_domain, int64_t *ret_ahead_ms)
{
	struct server *s = arg;

	return (federation_clocks_off(s->federation, ret_domain, ret_ahead_ms));
}

void
federate_policy(struct config *config, struct directory_policy *ret)
{
	static const enum directory_mode modes[] = {
	    [FEDERATION_OFF] = DIRECTORY_OFF,
	    [FEDERATION_LIST] = DIRECTORY_LIST,
	    [FEDERATION_OPEN] = DIRECTORY_OPEN};

	ret->mode = modes[config->federation];
	(void)snprintf(
	    ret->domain, sizeof(ret->domain), "%.253s", config->domain);
	ret->allow = config->federation_allow;
	ret->deny = config->federation_deny;
	ret->npeers = config->federation_peer.n;
	ret->peers = config->federation_peer.list;
}

/* Appends the contents of ${fd} to ${ret}. */
static enum rc
read_all(int fd, struct buf *ret, struct err *err)
{
	ssize_t n;
	char *room;

	do {
		if (ret->len > AUTHORITIES_LEN)
			return (err_set(err, RC_INVALID,
			    "is larger than %zu KiB: a file of authorities is "
			    "not",
			    AUTHORITIES_LEN / 1024));
		if ((room = buf_reserve(ret, READ_SIZE)) == NULL)
			return (err_set(err, RC_NO_MEMORY, "has no memory"));
		n = read(fd, room, READ_SIZE);
		ret->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return (n == 0 ? RC_OK
		       : err_set_sys(err, RC_INVALID, errno, "cannot be read"));
}

enum rc
federate_authorities(
    const struct config *config, struct buf *ret, struct err *err)
{
	const char *path = config->federation_ca;
	struct err why = ERR_INIT;
	enum rc rc;
	int fd;

	if (path[0] == '\0' || config->federation == FEDERATION_OFF)
		return (RC_OK);
	rc = regular_file_open(path, &fd, &why);
	if (rc != RC_OK)
		return (err_set(
		    err, RC_INVALID, "federation-ca: %.200s", why.text));
	rc = read_all(fd, ret, &why);
	(void)close(fd);
	if (rc == RC_OK)
		rc = authorities_check(ret, &why);
	if (rc == RC_OK)
		return (RC_OK);
	buf_fini(ret);
	return (
	    err_set(err, rc, "federation-ca: %.80s %.140s", path, why.text));
}

/* Sets ${ret} to the URL where other servers reach this one: federation-url, or
 * https://DOMAIN if federation-url is not set.  RC_INVALID: https://DOMAIN is
 * not a valid URL. */
static enum rc
find_url(const struct server *s, struct domain_url *ret, struct err *err)
{
	char url[sizeof("https://") + LIMIT_DOMAIN_LEN];

	*ret = s->config.federation_url;
	if (ret->host[0] != '\0')
		return (RC_OK);
	(void)snprintf(url, sizeof(url), "https://%s", s->policy.domain);
	return (domain_url_parse(url, ret, err));
}

enum rc
server_federate(struct server *s, struct err *err)
{
	struct federation_options options = {.clk = s->clk,
	    .timing = s->timing,
	    .rnd = s->rnd,
	    .metrics = s->metrics,
	    .writer = s->writer,
	    .readers = s->readers,
	    .db = s->db,
	    .policy = &s->policy,
	    .networks = server_networks(&s->config.federation_networks),
	    .authorities = s->authorities.len > 0 ? &s->authorities : NULL,
	    .epoch = s->epoch,
	    .body_bytes = (size_t)s->config.request_memory_bytes,
	    .disk_low = &s->disk_low,
	    .contact = on_contact,
	    .contact_arg = s};
	enum rc rc;

	federate_policy(&s->config, &s->policy);
	rc = find_url(s, &options.url, err);
	return (
	    rc == RC_OK ? federation_new(&options, &s->federation, err) : rc);
}
