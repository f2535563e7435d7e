/* SPDX-License-Identifier: MIT */
/*
 * Reads the headers in which proxies name the client.  Forwarded and
 * X-Forwarded-For each become a chain of hops, one for each entry; a proxy
 * appends one entry when it passes the request on.  The chain is walked from
 * its end past the entries of trusted proxies; the next entry names the client
 * (the whole rule is in forwarded.h).  Everything that a client can send is
 * bounded: the lines, their length, and the hops that are examined.
 */
#include <sys/socket.h>

#include <arpa/inet.h>

#include <string.h>
#include <strings.h>

#include "net/forwarded.h"

/* The entry of one proxy.  An entry that is not known ends the walk. */
struct hop {
	bool known;
	uint8_t address[16];
	enum net_scheme scheme;
	char host[NET_HOST_SIZE];
};

/* The last hops of a header, in a ring; n counts all hops. */
struct chain {
	size_t n;
	struct hop hop[FORWARDED_HOPS_MAX];
};

/* The part of a line that is still to be read. */
struct cursor {
	const char *p, *end;
};

static struct hop *
chain_add(struct chain *chain)
{
	struct hop *hop = &chain->hop[chain->n++ % FORWARDED_HOPS_MAX];

	*hop = (struct hop){.known = false};
	return (hop);
}

/* ---- words ---- */

/* Returns true for printable ASCII without the space. */
static bool
is_plain(char c)
{

	return (c > ' ' && c < 0x7f);
}

static bool
is_word(const char *p, size_t n, const char *word)
{

	return (n == strlen(word) && strncasecmp(p, word, n) == 0);
}

/* Some proxies write "ws" or "wss" for the request that opens a WebSocket. */
static enum net_scheme
scheme_find(const char *p, size_t n)
{

	if (is_word(p, n, "https") || is_word(p, n, "wss"))
		return (NET_SCHEME_HTTPS);
	if (is_word(p, n, "http") || is_word(p, n, "ws"))
		return (NET_SCHEME_HTTP);
	return (NET_SCHEME_UNKNOWN);
}

static bool
port_ok(const char *p)
{
	size_t n = strspn(p, "0123456789");

	return (n >= 1 && n <= 5 && p[n] == '\0');
}

/* Reads an IP address with or without a port: "192.0.2.1", "192.0.2.1:80",
 * "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80".  A port is 1 to 5 digits
 * of any value, and is dropped.  ${ret} gets the address in binary; IPv4
 * becomes ::ffff:a.b.c.d.  Returns false for anything else; then ${ret} is
 * undefined. */
static bool
address_read(const char *p, size_t n, uint8_t ret[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN + sizeof("[]:65535")], *end;
	uint8_t v4[4];

	if (n == 0 || n >= sizeof(text) || memchr(p, '\0', n) != NULL)
		return (false);
	memcpy(text, p, n);
	text[n] = '\0';
	if (text[0] == '[') {
		if ((end = strchr(text, ']')) == NULL ||
		    (end[1] != '\0' && (end[1] != ':' || !port_ok(end + 2))))
			return (false);
		*end = '\0';
		return (inet_pton(AF_INET6, text + 1, ret) == 1);
	}
	if (inet_pton(AF_INET6, text, ret) == 1)
		return (true);
	if ((end = strchr(text, ':')) != NULL) {
		if (!port_ok(end + 1))
			return (false);
		*end = '\0';
	}
	if (inet_pton(AF_INET, text, v4) != 1)
		return (false);
	memcpy(ret, mapped, sizeof(mapped));
	memcpy(ret + sizeof(mapped), v4, sizeof(v4));
	return (true);
}

void
forwarded_address_text(const uint8_t address[16], char ret[NET_PEER_SIZE])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (memcmp(address, mapped, sizeof(mapped)) == 0)
		(void)inet_ntop(
		    AF_INET, address + sizeof(mapped), ret, NET_PEER_SIZE);
	else
		(void)inet_ntop(AF_INET6, address, ret, NET_PEER_SIZE);
}

/* ---- X-Forwarded-For ---- */

static void
read_for(struct cursor c, struct chain *chain)
{
	const char *from, *to, *comma;
	struct hop *hop;

	for (; c.p <= c.end; c.p = comma + 1) {
		if ((comma = memchr(c.p, ',', (size_t)(c.end - c.p))) == NULL)
			comma = c.end;
		for (from = c.p; from < comma; from++)
			if (*from != ' ' && *from != '\t')
				break;
		for (to = comma; to > from; to--)
			if (to[-1] != ' ' && to[-1] != '\t')
				break;
		if (from == to)
			continue; /* skip an empty element (RFC 9110) */
		hop = chain_add(chain);
		hop->known =
		    address_read(from, (size_t)(to - from), hop->address);
	}
}

/* ---- Forwarded ---- */

static void
skip_blanks(struct cursor *c)
{

	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

/* Returns the length of the token that begins here. */
static size_t
token_len(const struct cursor *c)
{
	const char *p;

	for (p = c->p; p < c->end; p++)
		if (!is_plain(*p) || strchr("\"(),/:;<=>?@[\\]{}", *p) != NULL)
			break;
	return ((size_t)(p - c->p));
}

/* Reads the quoted string whose opening quote is at the cursor, and moves the
 * cursor behind the closing quote.  Writes the content, without the backslashes
 * of escapes, to ${ret} and its length to *ret_len; appends no NUL.  Returns
 * false if there is no closing quote or the content is longer than ${size}
 * bytes. */
static bool
parse_quoted(struct cursor *c, char *ret, size_t size, size_t *ret_len)
{
	size_t n = 0;

	for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
		if (*c->p == '\\' && ++c->p == c->end)
			return (false);
		if (n == size)
			return (false);
		ret[n++] = *c->p;
	}
	if (c->p == c->end)
		return (false);
	c->p++;
	*ret_len = n;
	return (true);
}

static bool
parse_value(struct cursor *c, char *ret, size_t size, size_t *ret_len)
{
	size_t n;

	if (c->p < c->end && *c->p == '"')
		return (parse_quoted(c, ret, size, ret_len));
	n = token_len(c);
	if (n == 0 || n > size)
		return (false);
	memcpy(ret, c->p, n);
	c->p += n;
	*ret_len = n;
	return (true);
}

static void
host_set(struct hop *hop, const char *p, size_t n)
{
	size_t i;

	if (n >= sizeof(hop->host))
		return;
	for (i = 0; i < n; i++)
		if (!is_plain(p[i]))
			return;
	memcpy(hop->host, p, n);
	hop->host[n] = '\0';
}

/* Reads "name=value" at the cursor.  The names for, proto and host set the
 * address, scheme and host of ${hop}, or leave them unknown if the value cannot
 * be used; other names are ignored.  ${seen} has a bit for each of the three
 * names that this element has had.  Returns false if one of them occurs twice,
 * the text is malformed, or the value has more than NET_HOST_SIZE bytes. */
static bool
parse_pair(struct cursor *c, struct hop *hop, unsigned *seen)
{
	char value[NET_HOST_SIZE];
	const char *name = c->p;
	size_t name_len, n;
	unsigned bit = 0;

	name_len = token_len(c);
	c->p += name_len;
	if (name_len == 0 || c->p == c->end || *c->p++ != '=' ||
	    !parse_value(c, value, sizeof(value), &n))
		return (false);
	if (is_word(name, name_len, "for")) {
		bit = 1;
		hop->known = address_read(value, n, hop->address);
	} else if (is_word(name, name_len, "proto")) {
		bit = 2;
		hop->scheme = scheme_find(value, n);
	} else if (is_word(name, name_len, "host")) {
		bit = 4;
		host_set(hop, value, n);
	}
	if ((*seen & bit) != 0)
		return (false);
	*seen |= bit;
	return (true);
}

/* Reads an element: pairs separated by semicolons. */
static bool
parse_element(struct cursor *c, struct hop *hop)
{
	unsigned seen = 0;

	for (;;) {
		if (!parse_pair(c, hop, &seen))
			return (false);
		skip_blanks(c);
		if (c->p == c->end || *c->p == ',')
			return (true);
		if (*c->p++ != ';')
			return (false);
		skip_blanks(c);
	}
}

/* Reads a line of the header Forwarded and adds its entries to ${chain}.  If
 * the line is malformed, stops reading it and adds a hop that is not known.
 * The walk comes from the end of the chain and stops at this hop, so no entry
 * of this line or of an earlier one is used: a quote that the client left open
 * may have swallowed the entry that the proxy appended. */
static void
read_standard(struct cursor c, struct chain *chain)
{

	for (;;) {
		while (
		    c.p < c.end && (*c.p == ' ' || *c.p == '\t' || *c.p == ','))
			c.p++;
		if (c.p == c.end)
			return;
		if (!parse_element(&c, chain_add(chain)))
			break;
	}
	chain_add(chain)->known = false;
}

/* ---- the walk ---- */

bool
forwarded_believed(
    const struct net_networks *networks, const uint8_t address[16])
{
	const struct net_network *net;
	int i, bytes, bits;

	for (i = 0; i < networks->n; i++) {
		net = &networks->list[i];
		bytes = net->bits / 8;
		bits = net->bits % 8;
		if (memcmp(net->address, address, (size_t)bytes) != 0)
			continue;
		if (bits == 0 ||
		    ((net->address[bytes] ^ address[bytes]) >> (8 - bits)) == 0)
			return (true);
	}
	return (false);
}

/* Fills ${chain} from the lines of header ${kind}, and returns the hop in it
 * that names the client: from the end, the first whose address is not in
 * ${believed}.  If the walk ends before that, at a hop that is not known or
 * after FORWARDED_HOPS_MAX hops, returns the last known hop examined.  Returns
 * NULL if the chain is empty or its last hop is not known; then the client is
 * the peer itself.  A line longer than FORWARDED_LINE_LEN_MAX counts as a hop
 * that is not known. */
static const struct hop *
walk(const struct forwarded_lines *lines, enum forwarded_kind kind,
    const struct net_networks *believed, struct chain *chain)
{
	const struct hop *hop, *client = NULL;
	struct cursor c;
	size_t i;
	int k;

	chain->n = 0;
	for (k = 0; k < lines->n[kind]; k++) {
		c.p = lines->line[kind][k].p;
		c.end = c.p + lines->line[kind][k].len;
		if (c.end - c.p > FORWARDED_LINE_LEN_MAX)
			chain_add(chain)->known = false;
		else if (kind == FORWARDED_STANDARD)
			read_standard(c, chain);
		else
			read_for(c, chain);
	}
	for (i = 0; i < chain->n && i < FORWARDED_HOPS_MAX; i++) {
		hop = &chain->hop[(chain->n - 1 - i) % FORWARDED_HOPS_MAX];
		if (!hop->known)
			break;
		client = hop;
		if (!forwarded_believed(believed, hop->address))
			break;
	}
	return (client);
}

static bool
same_client(const struct hop *a, const struct hop *b)
{

	if (a == NULL || b == NULL)
		return (a == b);
	return (memcmp(a->address, b->address, sizeof(a->address)) == 0);
}

void
forwarded_read(const struct forwarded_lines *lines,
    const struct net_networks *believed, struct net_from *ret)
{
	const struct hop *by_for = NULL, *client = NULL;
	struct chain standard, x_for;

	ret->scheme = NET_SCHEME_UNKNOWN;
	ret->host[0] = '\0';
	if (lines->n[FORWARDED_STANDARD] > 0)
		client = walk(lines, FORWARDED_STANDARD, believed, &standard);
	if (lines->n[FORWARDED_FOR] > 0)
		by_for = walk(lines, FORWARDED_FOR, believed, &x_for);
	if (lines->n[FORWARDED_STANDARD] == 0)
		client = by_for;
	else if (lines->n[FORWARDED_FOR] > 0 && !same_client(client, by_for))
		return;
	if (client != NULL) {
		forwarded_address_text(client->address, ret->client);
		ret->scheme = client->scheme;
		memcpy(ret->host, client->host, sizeof(ret->host));
	}
	if (ret->scheme == NET_SCHEME_UNKNOWN && lines->n[FORWARDED_PROTO] == 1)
		ret->scheme = scheme_find(lines->line[FORWARDED_PROTO][0].p,
		    lines->line[FORWARDED_PROTO][0].len);
}

/* ---- collecting the headers ---- */

void
forwarded_add(struct forwarded_lines *lines, const char *name, size_t name_len,
    const char *value, size_t value_len)
{
	enum forwarded_kind kind;
	int n;

	if (is_word(name, name_len, "Forwarded"))
		kind = FORWARDED_STANDARD;
	else if (is_word(name, name_len, "X-Forwarded-For"))
		kind = FORWARDED_FOR;
	else if (is_word(name, name_len, "X-Forwarded-Proto"))
		kind = FORWARDED_PROTO;
	else
		return;
	n = lines->n[kind];
	if (n == FORWARDED_LINES_MAX)
		memmove(&lines->line[kind][0], &lines->line[kind][1],
		    (size_t)(--n) * sizeof(lines->line[kind][0]));
	lines->line[kind][n].p = value;
	lines->line[kind][n].len = value_len;
	lines->n[kind] = n + 1;
}

bool
forwarded_scan(const char *p, size_t n, struct forwarded_lines *ret)
{
	const char *end = p + n, *line, *next, *to, *colon;

	memset(ret, 0, sizeof(*ret));
	if ((next = memchr(p, '\n', n)) == NULL)
		return (true);
	for (line = next + 1; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (next == NULL)
			next = end;
		for (to = next; to > line; to--)
			if (to[-1] != ' ' && to[-1] != '\t' && to[-1] != '\r')
				break;
		if (to == line)
			return (true); /* the empty line ends the head */
		if (*line == ' ' || *line == '\t') {
			memset(ret, 0, sizeof(*ret));
			return (false);
		}
		colon = memchr(line, ':', (size_t)(to - line));
		if (colon == NULL)
			continue;
		p = colon + 1;
		while (p < to && (*p == ' ' || *p == '\t'))
			p++;
		forwarded_add(
		    ret, line, (size_t)(colon - line), p, (size_t)(to - p));
	}
	return (true);
}
