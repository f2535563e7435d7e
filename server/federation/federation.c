/* SPDX-License-Identifier: MIT */
/*
 * See federation.h.
 */
#include <string.h>

#include "base/mem.h"
#include "federation/federation.h"

struct federation {
	const struct clk *clk;
	struct keyring *keyring;   /* NULL: federation is off */
	struct outbound *outbound; /* NULL: federation is off */
	struct peer_clocks *clocks;
	struct inbound *inbound;
};

/* ---- who is known already ---- */

/* Limit of peers that are read at the start, and of one query. */
#define PRELOAD_MOST 2000
#define PRELOAD_PAGE 50

struct page {
	size_t n;
	int64_t last;
	char domains[PRELOAD_PAGE][LIMIT_DOMAIN_LEN + 1];
};

static enum rc
take_row(void *arg, const struct store_peer_row *row, struct err *err)
{
	struct page *page = arg;

	(void)err;
	memcpy(page->domains[page->n], row->domain, sizeof(row->domain));
	page->n++;
	page->last = row->destination_id;
	return (RC_OK);
}

/* Reads the known peers, at most the PRELOAD_MOST with the lowest destination
 * ids, from the database into the directory.  Without this, after a restart,
 * the first request of each known peer would be answered "key-unknown". */
static enum rc
preload(struct directory *d, struct db *db, struct err *err)
{
	struct store_peer_known known;
	struct page page = {.last = 0};
	size_t i, sum = 0;
	enum rc rc = RC_OK;

	do {
		page.n = 0;
		rc = store_peers_after(
		    db, page.last, PRELOAD_PAGE, take_row, &page, err);
		for (i = 0; i < page.n && rc == RC_OK; i++) {
			rc = store_peer_known(db, page.domains[i], &known, err);
			if (rc == RC_OK)
				directory_stored(d, &known, 0);
			else if (rc == RC_NOT_FOUND)
				rc = RC_OK;
		}
		sum += page.n;
	} while (rc == RC_OK && page.n == PRELOAD_PAGE && sum < PRELOAD_MOST);
	return (rc);
}

/* ---- making ---- */

static enum rc
make_outbound(
    const struct federation_options *o, struct federation *f, struct err *err)
{
	const struct keyring_options keyring = {.clk = o->clk,
	    .timing = o->timing,
	    .rnd = o->rnd,
	    .readers = o->readers,
	    .writer = o->writer};
	struct outbound_options outbound = {.clk = o->clk,
	    .timing = o->timing,
	    .rnd = o->rnd,
	    .metrics = o->metrics,
	    .writer = o->writer,
	    .readers = o->readers,
	    .policy = o->policy,
	    .networks = o->networks,
	    .authorities = o->authorities};
	enum rc rc;

	rc = keyring_new(&keyring, o->db, &f->keyring, err);
	outbound.keyring = f->keyring;
	outbound.clocks = f->clocks;
	if (rc == RC_OK)
		rc = outbound_new(&outbound, &f->outbound, err);
	return (rc == RC_OK
		    ? preload(outbound_directory(f->outbound), o->db, err)
		    : rc);
}

enum rc
federation_new(const struct federation_options *options,
    struct federation **ret, struct err *err)
{
	struct inbound_options inbound = {.clk = options->clk,
	    .timing = options->timing,
	    .metrics = options->metrics,
	    .writer = options->writer,
	    .domain = options->policy->domain,
	    .url = options->url,
	    .epoch = options->epoch,
	    .body_bytes = options->body_bytes,
	    .disk_low = options->disk_low,
	    .contact = options->contact,
	    .contact_arg = options->contact_arg};
	struct federation *f;
	enum rc rc = RC_OK;

	if ((f = mem_zalloc(1, sizeof(*f))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "federation"));
	f->clk = options->clk;
	if ((f->clocks = peer_clocks_new(options->clk)) == NULL)
		rc = err_set(err, RC_NO_MEMORY, "federation");
	inbound.clocks = f->clocks;
	if (rc == RC_OK && options->policy->mode != DIRECTORY_OFF) {
		rc = make_outbound(options, f, err);
		inbound.keyring = f->keyring;
		if (rc == RC_OK)
			inbound.directory = outbound_directory(f->outbound);
	}
	if (rc == RC_OK)
		rc = inbound_new(&inbound, &f->inbound, err);
	if (rc != RC_OK) {
		federation_free(f);
		return (rc);
	}
	*ret = f;
	return (RC_OK);
}

enum rc
federation_start(struct federation *f, struct err *err)
{

	return (f->outbound != NULL ? outbound_start(f->outbound, err) : RC_OK);
}

void
federation_drain(struct federation *f)
{

	inbound_drain(f->inbound);
}

void
federation_free(struct federation *f)
{

	if (f == NULL)
		return;
	inbound_free(f->inbound);
	outbound_free(f->outbound);
	keyring_free(f->keyring);
	peer_clocks_free(f->clocks);
	mem_free(f);
}

struct carrier_remote
federation_carrier(struct federation *f)
{

	return (f->outbound != NULL ? outbound_carrier(f->outbound)
				    : carrier_none());
}

struct http_routes
federation_routes(struct federation *f)
{

	return (inbound_routes(f->inbound));
}

size_t
federation_clocks_off(
    struct federation *f, char *ret_domain, int64_t *ret_ahead_ms)
{

	return (peer_clocks_off(f->clocks, ret_domain, ret_ahead_ms));
}

void
federation_peer_noted(struct federation *f, const char *domain)
{

	if (f->outbound != NULL)
		directory_changed(outbound_directory(f->outbound), domain);
}

void
federation_peer_changed(
    struct federation *f, const struct store_peer_known *known)
{

	struct directory *d;

	if (f->outbound == NULL)
		return;
	d = outbound_directory(f->outbound);
	if (known->nkeys == 0 && !known->blocked)
		directory_unknown(d, known->domain);
	else
		directory_stored(d, known, clk_mono_ms(f->clk));
}
