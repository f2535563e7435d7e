/* SPDX-License-Identifier: MIT */
/*
 * Converts the values of settings from text to the members of struct config,
 * and back to text.  A text that is not valid for the type of its setting, or
 * is out of range, is refused with a sentence that says what is valid.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

struct unit {
	const char *suffix;
	int64_t factor;
};

/* The units of a time; factors are in milliseconds.  write_units() relies on
 * the ascending order.  The first unit, "s", is also the unit of a number
 * without a suffix. */
static const struct unit times[] = {
    {"s", CONFIG_SECOND},
    {"m", 60 * CONFIG_SECOND},
    {"h", 3600 * CONFIG_SECOND},
    {"d", CONFIG_DAY},
    {NULL, 0},
};

static const struct unit sizes[] = {
    {"B", 1},
    {"KiB", 1024},
    {"MiB", CONFIG_MIB},
    {"GiB", 1024 * CONFIG_MIB},
    {NULL, 0},
};

/* Reads the decimal digits at ${*text} into *ret, and moves ${*text} past them.
 * Returns false if there are none, or if the number is above INT64_MAX - 8;
 * then ${*text} and *ret are unchanged. */
static bool
take_number(const char **text, int64_t *ret)
{
	const char *p;
	int64_t v;

	for (p = *text, v = 0; *p >= '0' && *p <= '9'; p++) {
		if (v > (INT64_MAX - 9) / 10)
			return (false);
		v = v * 10 + (*p - '0');
	}
	if (p == *text)
		return (false);
	*text = p;
	*ret = v;
	return (true);
}

static bool
read_units(const char *text, const struct unit *units, int64_t *ret)
{
	int64_t v;

	if (!take_number(&text, &v))
		return (false);
	if (*text != '\0') {
		while (
		    units->suffix != NULL && strcmp(units->suffix, text) != 0)
			units++;
		if (units->suffix == NULL)
			return (false);
	}
	if (v > INT64_MAX / units->factor)
		return (false);
	*ret = v * units->factor;
	return (true);
}

/* Appends ${v} in the largest unit that divides it; 0 in the smallest. */
static void
write_units(struct buf *out, const struct unit *units, int64_t v)
{
	const struct unit *best, *u;

	best = units;
	for (u = units; u->suffix != NULL; u++) {
		if (v != 0 && v % u->factor == 0)
			best = u;
	}
	buf_addi(out, v / best->factor);
	buf_adds(out, best->suffix);
}

/* Returns the position (from 0) of ${text} among the words of ${choices}, such
 * as "a|b|c"; -1 if ${text} is none of these words. */
static int
choice_find(const char *choices, const char *text)
{
	size_t n;
	int i;

	for (i = 0;; i++) {
		n = strcspn(choices, "|");
		if (strlen(text) == n && memcmp(text, choices, n) == 0)
			return (i);
		if (choices[n] == '\0')
			return (-1);
		choices += n + 1;
	}
}

static bool
read_bool(const char *text, bool *ret)
{
	int i;

	i = choice_find("true|yes|on|1|false|no|off|0", text);
	*ret = i < 4;
	return (i >= 0);
}

static bool
read_rate(const char *text, int64_t *ret)
{

	if (strcmp(text, "off") == 0) {
		*ret = 0;
		return (true);
	}
	if (strcmp(text, "default") == 0) {
		*ret = CONFIG_RATE_DEFAULT;
		return (true);
	}
	return (take_number(&text, ret) && *ret > 0 && strcmp(text, "/s") == 0);
}

/* Returns true if no bit of ${c} beyond its length is set. */
static bool
is_network(const struct config_cidr *c)
{
	int bit;

	for (bit = c->bits; bit < 128; bit++) {
		if ((c->address[bit / 8] >> (7 - bit % 8) & 1) != 0)
			return (false);
	}
	return (true);
}

/* The first bytes of an IPv4 address that is mapped into IPv6 (RFC 4291,
 * 2.5.5.2). */
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool
read_cidr(char *text, struct config_cidr *ret)
{
	const char *p;
	int64_t bits;
	char *slash;
	bool is_v4;

	if ((slash = strchr(text, '/')) != NULL)
		*slash = '\0';
	if (inet_pton(AF_INET, text, ret->address + 12) == 1) {
		memcpy(ret->address, mapped, sizeof(mapped));
		is_v4 = true;
	} else if (inet_pton(AF_INET6, text, ret->address) == 1) {
		is_v4 = false;
	} else {
		return (false);
	}
	bits = is_v4 ? 32 : 128;
	if (slash != NULL) {
		p = slash + 1;
		if (!take_number(&p, &bits) || *p != '\0' ||
		    bits > (is_v4 ? 32 : 128))
			return (false);
	}
	ret->bits = (int)bits + (is_v4 ? 96 : 0);
	return (is_network(ret));
}

/* Returns true if ${text} ends with ${end}. */
static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return (n >= m && memcmp(text + n - m, end, m) == 0);
}

/* Returns true if ${text} is an origin as browsers write it:
 * "https://HOST[:PORT]" or "http://HOST[:PORT]" in lower case, without the
 * default port.  Another text would never match the Origin of a request. */
static bool
origin_valid(const char *text)
{
	char url[CONFIG_ORIGIN_SIZE + sizeof("https://")];
	const char *host, *default_port;
	struct domain_url parsed;
	struct err err = ERR_INIT;

	if (strncmp(text, "https://", 8) == 0) {
		host = text + 8;
		default_port = ":443";
	} else if (strncmp(text, "http://", 7) == 0) {
		host = text + 7;
		default_port = ":80";
	} else {
		return (false);
	}
	/* The host and the port of an http origin have the same form. */
	(void)snprintf(url, sizeof(url), "https://%s", host);
	return (domain_url_parse(url, &parsed, &err) == RC_OK &&
		!ends_with(host, default_port));
}

bool
config_piece_take(const char **list, char *ret, size_t size)
{
	size_t n;

	*list += strspn(*list, ", ");
	n = strcspn(*list, ", ");
	if (n >= size)
		return (false);
	memcpy(ret, *list, n);
	ret[n] = '\0';
	*list += n;
	return (true);
}

static bool
read_cidrs(const char *text, struct config_cidrs *ret)
{
	char piece[64];

	for (ret->n = 0;; ret->n++) {
		if (!config_piece_take(&text, piece, sizeof(piece)))
			return (false);
		if (piece[0] == '\0')
			return (true);
		if (ret->n == CONFIG_LIST_MAX ||
		    !read_cidr(piece, &ret->list[ret->n]))
			return (false);
	}
}

static bool
read_origins(const char *text, struct config_origins *ret)
{
	char piece[CONFIG_ORIGIN_SIZE];

	for (ret->n = 0;; ret->n++) {
		if (!config_piece_take(&text, piece, sizeof(piece)))
			return (false);
		if (piece[0] == '\0')
			return (true);
		if (ret->n == CONFIG_LIST_MAX || !origin_valid(piece))
			return (false);
		memcpy(ret->list[ret->n], piece, sizeof(piece));
	}
}

/* Writes for people what the type of ${row} accepts. */
static void
explain(const struct config_row *row, const char *text, char *ret_why)
{
	const char *takes;

	switch (row->type) {
	case CONFIG_BOOL:
		takes = "true or false";
		break;
	case CONFIG_INT:
		takes = "a whole number";
		break;
	case CONFIG_DURATION:
		takes = "a time such as 90s, 30m, 2h or 5d";
		break;
	case CONFIG_SIZE:
		takes = "a size such as 512KiB, 16MiB or 1GiB";
		break;
	case CONFIG_RATE:
		takes = "off, default, or a rate such as 20/s";
		break;
	case CONFIG_CIDRS:
		takes = "up to 16 networks such as 10.0.0.0/8,::1 (no bits "
			"beyond the length)";
		break;
	case CONFIG_ORIGINS:
		takes = "up to 16 origins such as https://chat.example";
		break;
	case CONFIG_CHOICE:
	case CONFIG_TEXT:
	case CONFIG_URL:
	case CONFIG_DOMAINS:
	case CONFIG_PEERS:
	default:
		takes = row->argument;
		break;
	}
	(void)snprintf(ret_why, CONFIG_WHY_SIZE, "\"%.40s\" is not %s%s", text,
	    row->type == CONFIG_CHOICE ? "one of " : "", takes);
}

/* Checks that ${v} is in the range of ${row}.  If it is not, returns false and
 * writes the range to ${ret_why}: the ends of a time or size each in the
 * largest unit that divides it, those of another setting as numbers only. */
static bool
check_range(const struct config_row *row, int64_t v, char *ret_why)
{
	struct buf b;
	bool fits;

	fits = v >= row->min && v <= row->max;
	if (fits)
		return (true);
	buf_init(&b, CONFIG_WHY_SIZE - 1);
	buf_adds(&b, "it must lie between ");
	if (row->type == CONFIG_DURATION) {
		write_units(&b, times, row->min);
		buf_adds(&b, " and ");
		write_units(&b, times, row->max);
	} else if (row->type == CONFIG_SIZE) {
		write_units(&b, sizes, row->min);
		buf_adds(&b, " and ");
		write_units(&b, sizes, row->max);
	} else {
		buf_addi(&b, row->min);
		buf_adds(&b, " and ");
		buf_addi(&b, row->max);
	}
	if (b.data != NULL)
		memcpy(ret_why, b.data, b.len);
	ret_why[b.len] = '\0';
	buf_fini(&b);
	return (false);
}

static bool
read_text(const char *text, char *ret)
{
	size_t n;

	n = strlen(text);
	if (n >= CONFIG_TEXT_SIZE)
		return (false);
	memcpy(ret, text, n + 1);
	return (true);
}

static bool
read_choice(const struct config_row *row, const char *text, int *ret)
{

	*ret = choice_find(row->argument, text);
	return (*ret >= 0);
}

/* Reads a value whose type is a number with a range. */
static bool
read_number(const struct config_row *row, const char *text, int64_t *ret)
{

	if (row->type == CONFIG_DURATION)
		return (read_units(text, times, ret));
	if (row->type == CONFIG_SIZE)
		return (read_units(text, sizes, ret));
	if (row->type == CONFIG_RATE)
		return (read_rate(text, ret));
	return (take_number(&text, ret) && *text == '\0');
}

bool
config_value_read(const struct config_row *row, const char *text,
    struct config *config, char ret_why[CONFIG_WHY_SIZE])
{
	void *member = (char *)config + row->offset;
	int64_t *number = member;
	bool ok;

	switch (row->type) {
	case CONFIG_BOOL:
		ok = read_bool(text, member);
		break;
	case CONFIG_CHOICE:
		ok = read_choice(row, text, member);
		break;
	case CONFIG_CIDRS:
		ok = read_cidrs(text, member);
		break;
	case CONFIG_ORIGINS:
		ok = read_origins(text, member);
		break;
	case CONFIG_RATE:
	case CONFIG_INT:
	case CONFIG_DURATION:
	case CONFIG_SIZE:
		ok = read_number(row, text, number);
		if (ok && !(row->type == CONFIG_RATE && *number == 0) &&
		    !check_range(row, *number, ret_why))
			return (false);
		break;
	case CONFIG_URL:
	case CONFIG_DOMAINS:
	case CONFIG_PEERS:
		return (config_names_read(row->type, text, member, ret_why));
	case CONFIG_TEXT:
	default:
		ok = read_text(text, member);
		break;
	}
	if (!ok)
		explain(row, text, ret_why);
	return (ok);
}

bool
config_cidr_is_v4(const struct config_cidr *c)
{

	return (
	    c->bits >= 96 && memcmp(c->address, mapped, sizeof(mapped)) == 0);
}

void
config_cidr_write(const struct config_cidr *c, struct buf *out)
{
	bool is_v4 = config_cidr_is_v4(c);
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(is_v4 ? AF_INET : AF_INET6, c->address + (is_v4 ? 12 : 0),
		text, sizeof(text)) == NULL)
		return;
	buf_adds(out, text);
	buf_addc(out, '/');
	buf_addi(out, c->bits - (is_v4 ? 96 : 0));
}

static void
write_cidrs(struct buf *out, const struct config_cidrs *cidrs)
{
	int i;

	for (i = 0; i < cidrs->n; i++) {
		if (i > 0)
			buf_addc(out, ',');
		config_cidr_write(&cidrs->list[i], out);
	}
}

static void
write_origins(struct buf *out, const struct config_origins *origins)
{
	int i;

	for (i = 0; i < origins->n; i++) {
		if (i > 0)
			buf_addc(out, ',');
		buf_adds(out, origins->list[i]);
	}
}

static void
write_choice(struct buf *out, const char *choices, int i)
{

	while (i-- > 0)
		choices += strcspn(choices, "|") + 1;
	buf_add(out, choices, strcspn(choices, "|"));
}

static void
write_rate(struct buf *out, int64_t rate)
{

	if (rate == 0) {
		buf_adds(out, "off");
		return;
	}
	buf_addi(out, rate);
	buf_adds(out, "/s");
}

void
config_value_write(
    const struct config_row *row, const struct config *config, struct buf *out)
{
	const void *member = (const char *)config + row->offset;

	switch (row->type) {
	case CONFIG_BOOL:
		buf_adds(out, *(const bool *)member ? "true" : "false");
		break;
	case CONFIG_CHOICE:
		write_choice(out, row->argument, *(const int *)member);
		break;
	case CONFIG_RATE:
		write_rate(out, *(const int64_t *)member);
		break;
	case CONFIG_INT:
		buf_addi(out, *(const int64_t *)member);
		break;
	case CONFIG_DURATION:
		write_units(out, times, *(const int64_t *)member);
		break;
	case CONFIG_SIZE:
		write_units(out, sizes, *(const int64_t *)member);
		break;
	case CONFIG_CIDRS:
		write_cidrs(out, member);
		break;
	case CONFIG_ORIGINS:
		write_origins(out, member);
		break;
	case CONFIG_URL:
	case CONFIG_DOMAINS:
	case CONFIG_PEERS:
		config_names_write(row->type, member, out);
		break;
	case CONFIG_TEXT:
	default:
		buf_adds(out, member);
		break;
	}
}
