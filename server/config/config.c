/* SPDX-License-Identifier: MIT */
/*
 * Fills a struct config with the defaults, and then from arguments, environment
 * and file.  The arguments are only collected at first, because they may name
 * the file.  Then the file, the environment and the flags are applied in this
 * order, each overriding the one before, and the rules between settings are
 * checked.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "config/config_internal.h"

struct parsing {
	struct config *config;
	const char *flags[CONFIG_COUNT]; /* value of each flag; NULL: none */
	const char *file;
};

static enum rc
refuse_unknown(struct err *err, const char *location, const char *name)
{
	const char *nearest;

	nearest = config_row_nearest(name);
	if (nearest != NULL)
		return (err_set(err, RC_INVALID,
		    "%s there is no setting \"%.40s\"; did you mean \"%s\"?",
		    location, name, nearest));
	return (err_set(err, RC_INVALID,
	    "%s there is no setting \"%.40s\"; --help lists them", location,
	    name));
}

/* Parses ${text} as the value of setting ${i} (its row in config_rows) and
 * records its ${source}.  Returns RC_INVALID if ${text} is not valid;
 * ${location}, which says where it comes from, then begins the text of the
 * error. */
static enum rc
set_value(struct config *config, int i, const char *text,
    enum config_source source, const char *location, struct err *err)
{
	char why[CONFIG_WHY_SIZE];

	if (!config_value_read(&config_rows[i], text, config, why))
		return (err_set(err, RC_INVALID, "%s %s", location, why));
	config->source[i] = source;
	return (RC_OK);
}

static void
set_defaults(struct config *config)
{
	char why[CONFIG_WHY_SIZE];
	bool ok;
	int i;

	memset(config, 0, sizeof(*config));
	for (i = 0; i < CONFIG_COUNT; i++) {
		ok = config_value_read(
		    &config_rows[i], config_rows[i].value, config, why);
		assert(ok);
	}
}

/* ---- arguments ---- */

static enum rc
add_operand(struct config *config, const char *text, struct err *err)
{

	if (config->noperands == CONFIG_OPERANDS_MAX)
		return (err_set(
		    err, RC_INVALID, "too many arguments at \"%.40s\"", text));
	config->operands[config->noperands++] = text;
	return (RC_OK);
}

/* Splits "name=value", the text of a flag without "--".  *ret_value points into
 * ${flag}, or is NULL if there is no "=".  Returns false, and sets nothing, if
 * the name and its NUL do not fit into ${size} bytes. */
static bool
split_flag(
    const char *flag, char *ret_name, size_t size, const char **ret_value)
{
	size_t n;

	n = strcspn(flag, "=");
	if (n >= size)
		return (false);
	memcpy(ret_name, flag, n);
	ret_name[n] = '\0';
	*ret_value = (flag[n] == '=') ? flag + n + 1 : NULL;
	return (true);
}

/* Returns RC_INVALID for ${flag}, the text of an unknown flag without "--".
 * The error shows the name (up to 40 bytes), but not the value, which may be a
 * secret in the wrong place. */
static enum rc
refuse_flag(struct err *err, const char *flag)
{
	char name[64], location[64];

	(void)snprintf(
	    name, sizeof(name), "%.*s", (int)strcspn(flag, "="), flag);
	(void)snprintf(location, sizeof(location), "--%.40s:", name);
	return (refuse_unknown(err, location, name));
}

/* Refuses a flag that is given twice: each of the two values may be the one
 * that was meant. */
static enum rc
refuse_second(struct err *err, const char *name)
{

	return (err_set(err, RC_INVALID,
	    "--%s is given twice; leave one of them out", name));
}

/* Stores in ${p} the text of the value (borrowed from argv, not parsed yet) of
 * the flag at argv[*at].  A setting of type BOOL never takes the next argument:
 * --NAME is "true", --no-NAME is "false".  Any other flag without "=" has its
 * value in the next argument; *at is then moved to that argument.  RC_INVALID:
 * the flag is unknown, has no value, or is given twice. */
static enum rc
note_flag(struct parsing *p, int argc, char **argv, int *at, struct err *err)
{
	const char *value;
	char name[64];
	bool negated;
	int i;

	if (!split_flag(argv[*at] + 2, name, sizeof(name), &value))
		return (refuse_flag(err, argv[*at] + 2));
	i = config_row_find(name);
	negated = false;
	if (i < 0 && strncmp(name, "no-", 3) == 0 && value == NULL) {
		i = config_row_find(name + 3);
		negated = i >= 0 && config_rows[i].type == CONFIG_BOOL;
		if (!negated)
			i = -1;
	}
	if (i < 0 && strcmp(name, "config") != 0)
		return (refuse_flag(err, argv[*at] + 2));
	if (negated)
		value = "false";
	else if (value == NULL && i >= 0 && config_rows[i].type == CONFIG_BOOL)
		value = "true";
	else if (value == NULL && *at + 1 < argc)
		value = argv[++*at];
	if (value == NULL)
		return (err_set(err, RC_INVALID, "--%s needs a value: --%s %s",
		    name, name, i < 0 ? "FILE" : config_rows[i].argument));
	if ((i < 0 ? p->file : p->flags[i]) != NULL)
		return (
		    refuse_second(err, i < 0 ? "config" : config_rows[i].name));
	if (i < 0)
		p->file = value;
	else
		p->flags[i] = value;
	return (RC_OK);
}

static enum rc
note_arguments(struct parsing *p, int argc, char **argv, struct err *err)
{
	enum rc rc;
	int at;

	for (at = 0; at < argc; at++) {
		if (strcmp(argv[at], "--help") == 0 ||
		    strcmp(argv[at], "-h") == 0) {
			p->config->help = true;
			return (RC_OK);
		}
		if (strcmp(argv[at], "--version") == 0) {
			p->config->version = true;
			return (RC_OK);
		}
		if (strcmp(argv[at], "--") == 0) {
			for (at++; at < argc; at++) {
				rc = add_operand(p->config, argv[at], err);
				if (rc != RC_OK)
					return (rc);
			}
			return (RC_OK);
		}
		if (strncmp(argv[at], "--", 2) == 0)
			rc = note_flag(p, argc, argv, &at, err);
		else if (argv[at][0] == '-' && argv[at][1] != '\0')
			rc = err_set(err, RC_INVALID,
			    "there is no flag %.40s; --help lists them",
			    argv[at]);
		else
			rc = add_operand(p->config, argv[at], err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

/* ---- the three sources ---- */

static enum rc
set_from_line(
    void *arg, const char *name, const char *value, int line, struct err *err)
{
	struct config *config = arg;
	char location[CONFIG_TEXT_SIZE + 64];
	enum rc rc;
	int i;

	(void)snprintf(
	    location, sizeof(location), "%s:%d:", config->file, line);
	if ((i = config_row_find(name)) < 0)
		return (refuse_unknown(err, location, name));
	if (config->source[i] == CONFIG_FROM_FILE)
		return (err_set(err, RC_INVALID,
		    "%s %s stands on line %d already; leave one of them out",
		    location, name, config->line[i]));
	(void)snprintf(
	    location, sizeof(location), "%s:%d: %s:", config->file, line, name);
	rc = set_value(config, i, value, CONFIG_FROM_FILE, location, err);
	config->line[i] = line;
	return (rc);
}

static enum rc
set_from_file(struct config *config, const char *path, struct err *err)
{
	size_t n;

	n = strlen(path);
	if (n == 0 || n >= sizeof(config->file))
		return (err_set(
		    err, RC_INVALID, "--config needs the name of a file"));
	memcpy(config->file, path, n + 1);
	return (config_file_read(path, set_from_line, config, err));
}

static enum rc
set_from_environment(struct config *config, config_env_fn env, struct err *err)
{
	char location[CONFIG_VARIABLE_SIZE + 1], variable[CONFIG_VARIABLE_SIZE];
	const char *value;
	enum rc rc;
	int i;

	for (i = 0; i < CONFIG_COUNT; i++) {
		config_row_variable(&config_rows[i], variable);
		value = env(variable);
		if (value == NULL || value[0] == '\0')
			continue;
		(void)snprintf(location, sizeof(location), "%s:", variable);
		rc = set_value(
		    config, i, value, CONFIG_FROM_ENVIRONMENT, location, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

static enum rc
set_from_flags(const struct parsing *p, struct err *err)
{
	char location[64];
	enum rc rc;
	int i;

	for (i = 0; i < CONFIG_COUNT; i++) {
		if (p->flags[i] == NULL)
			continue;
		(void)snprintf(
		    location, sizeof(location), "--%s:", config_rows[i].name);
		rc = set_value(
		    p->config, i, p->flags[i], CONFIG_FROM_FLAG, location, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

/* ---- rules ---- */

/* Returns true if ${s} begins with ${begin} and has more text after it. */
static bool
has_text_after(const char *s, const char *begin)
{
	size_t n = strlen(begin);

	return (strncmp(s, begin, n) == 0 && s[n] != '\0');
}

/* Returns true if ${url} has "://", is not sqlite:PATH, and seems to contain a
 * password: a colon in the part before '@' (USER:PASSWORD@HOST; libpq ends its
 * search for '@' only at '/'), or "password=" anywhere after "://", as in
 * ?password= or &sslpassword=. */
static bool
has_password(const char *url)
{
	const char *at, *colon, *host = strstr(url, "://");

	if (host == NULL || has_text_after(url, "sqlite:"))
		return (false);
	host += 3;
	at = memchr(host, '@', strcspn(host, "/"));
	colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
	return (colon != NULL || strstr(host, "password=") != NULL);
}

enum rc
config_check_url(const char *name, const char *url, struct err *err)
{

	if (has_password(url))
		return (err_set(err, RC_INVALID,
		    "%s: a password in the url is shown to everybody who sees "
		    "processes or settings: put it into the environment "
		    "(PGPASSWORD) or a file (?passfile=PATH)",
		    name));
	if (!has_text_after(url, "sqlite:") &&
	    !has_text_after(url, "postgresql://") &&
	    !has_text_after(url, "postgres://"))
		return (err_set(err, RC_INVALID,
		    "%s: \"%.60s\" is neither sqlite:PATH nor "
		    "postgresql://[USER@]HOST[:PORT]/NAME",
		    name, url));
	return (RC_OK);
}

static enum rc
check_texts(struct config *config, struct err *err)
{
	int n;

	if (!config_listen_check(config->listen, &config->is_loopback))
		return (err_set(err, RC_INVALID,
		    "listen: \"%.60s\" is not HOST:PORT; HOST is an address "
		    "such as 127.0.0.1, 0.0.0.0 or [::], or localhost",
		    config->listen));
	if (!domain_host_valid(config->domain, strlen(config->domain)))
		return (err_set(err, RC_INVALID,
		    "domain: \"%.60s\" is not a domain name in lower case",
		    config->domain));
	if (config->data[0] == '\0')
		return (err_set(err, RC_INVALID,
		    "data: it must name a directory, such as ./twinbox-data"));
	if (config->db[0] == '\0') {
		n = snprintf(config->db, sizeof(config->db),
		    "sqlite:%s/twinbox.db", config->data);
		if (n < 0 || (size_t)n >= sizeof(config->db))
			return (err_set(
			    err, RC_INVALID, "data: the path is too long"));
	}
	return (config_check_url("db", config->db, err));
}

static enum rc
check_exposure(struct config *config, struct err *err)
{

	if (config->demo && !config->is_loopback)
		return (err_set(err, RC_INVALID,
		    "demo: its users have well-known passwords, so it is "
		    "refused on %.60s; listen on 127.0.0.1",
		    config->listen));
	if (config->demo && config->behind_proxy.n > 0)
		return (err_set(err, RC_INVALID,
		    "demo: its users have well-known passwords, so it is "
		    "refused together with behind-proxy; leave one of them "
		    "out"));
	if (!config->is_loopback && config->behind_proxy.n == 0 &&
	    !config->insecure)
		return (err_set(err, RC_INVALID,
		    "listen: %.60s is not loopback, and twinboxd speaks no "
		    "TLS: name the proxy that does with behind-proxy, or say "
		    "insecure",
		    config->listen));
	if (config->demo &&
	    config->source[CONFIG_registration] == CONFIG_FROM_DEFAULT) {
		config->registration = REGISTRATION_OPEN;
		config->source[CONFIG_registration] = CONFIG_FROM_DEMO;
	}
	return (RC_OK);
}

static enum rc
check_retention(const struct config *config, struct err *err)
{

	if (config->lease_ms < 3 * config->delivery_timeout_ms)
		return (err_set(err, RC_INVALID,
		    "lease: it is shorter than three times delivery-timeout, "
		    "so messages could be taken over while they are on their "
		    "way; make it at least %llds",
		    (long long)(3 * config->delivery_timeout_ms / 1000)));
	if (config->dedup_retention_ms >=
	    config->expiry_ms + config->requeue_window_ms)
		return (RC_OK);
	return (err_set(err, RC_INVALID,
	    "dedup-retention: it is shorter than expiry and requeue-window "
	    "together, so a message could be delivered twice; make it at least "
	    "%llds",
	    (long long)((config->expiry_ms + config->requeue_window_ms) /
			1000)));
}

enum rc
config_parse(int argc, char **argv, config_env_fn env, struct config *ret,
    struct err *err)
{
	struct parsing p = {.config = ret, .file = NULL};
	enum rc rc;

	set_defaults(ret);
	rc = note_arguments(&p, argc, argv, err);
	ret->misused = rc != RC_OK;
	if (rc != RC_OK || ret->help || ret->version)
		return (rc);
	if (p.file == NULL) {
		p.file = env("TWINBOX_CONFIG");
		if (p.file != NULL && p.file[0] == '\0')
			p.file = NULL;
	}
	if (p.file != NULL) {
		if ((rc = set_from_file(ret, p.file, err)) != RC_OK)
			return (rc);
	}
	if ((rc = set_from_environment(ret, env, err)) != RC_OK ||
	    (rc = set_from_flags(&p, err)) != RC_OK ||
	    (rc = check_texts(ret, err)) != RC_OK ||
	    (rc = check_exposure(ret, err)) != RC_OK ||
	    (rc = config_federation_check(ret, err)) != RC_OK)
		return (rc);
	return (check_retention(ret, err));
}
