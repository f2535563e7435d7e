/* SPDX-License-Identifier: MIT */
/*
 * config_warn(), which warns about settings that are valid but dangerous or
 * without effect.  Such settings are not refused, because a test bed may need
 * them.  This file has config_warn_wide(), which warns about networks that are
 * too wide; federation.c has the other warnings, all of which are about
 * federation.
 */
#include "base/mem.h"
#include "config/config_internal.h"

/* The prefix lengths of the widest private networks, 10.0.0.0/8 and fc00::/7.
 * A network with a shorter prefix also contains addresses that are not private,
 * so config_warn_wide() warns of it. */
#define V4_WIDEST 8
#define V6_WIDEST 7

/* Returns true if ${c} contains every IPv4 address, as ::/0 does, which
 * contains ::ffff:0:0/96. */
static bool
contains_v4(const struct config_cidr *c)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
	int bit;

	if (c->bits > 96)
		return (false);
	for (bit = 0; bit < c->bits; bit++) {
		if (((c->address[bit / 8] ^ mapped[bit / 8]) >> (7 - bit % 8) &
			1) != 0)
			return (false);
	}
	return (true);
}

static bool
too_wide(const struct config_cidr *c)
{

	return (config_cidr_is_v4(c) ? c->bits - 96 < V4_WIDEST
				     : c->bits < V6_WIDEST || contains_v4(c));
}

enum rc
config_warn_wide(const char *name, const struct config_cidrs *networks,
    const char *danger, config_warn_fn warn, void *arg)
{
	struct buf b = BUF_INIT;
	char *text;
	int i;

	for (i = 0; i < networks->n; i++) {
		if (!too_wide(&networks->list[i]))
			continue;
		buf_adds(&b, name);
		buf_adds(&b, ": ");
		config_cidr_write(&networks->list[i], &b);
		buf_adds(&b, " is wider than any private network: ");
		buf_adds(&b, danger);
		if ((text = buf_take(&b, NULL)) == NULL)
			return (RC_NO_MEMORY);
		warn(arg, text);
		mem_free(text);
	}
	return (RC_OK);
}

enum rc
config_warn(const struct config *config, config_warn_fn warn, void *arg)
{
	enum rc rc;

	rc = config_warn_wide("behind-proxy", &config->behind_proxy,
	    "everybody in it may say who they are by X-Forwarded-For, in the "
	    "log and for the limits; name only the addresses of your proxies",
	    warn, arg);
	if (rc != RC_OK)
		return (rc);
	return (config_federation_warn(config, warn, arg));
}
