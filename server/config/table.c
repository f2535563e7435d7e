/* SPDX-License-Identifier: MIT */
/*
 * The array config_rows, which is made from CONFIG_TABLE in config.h.  Finds
 * rows by name, and writes the texts that list all settings: --help, the sample
 * file, and the output of check-config.
 */
#include <stddef.h>
#include <string.h>

#include "config/config_internal.h"

#define OFFSET_TEXT(member) offsetof(struct config, member)
#define OFFSET_BOOL(member) offsetof(struct config, member)
#define OFFSET_CHOICE(member) offsetof(struct config, member)
#define OFFSET_RATE(member) offsetof(struct config, member)
#define OFFSET_INT(member) offsetof(struct config, member)
#define OFFSET_DURATION(member) offsetof(struct config, member##_ms)
#define OFFSET_SIZE(member) offsetof(struct config, member##_bytes)
#define OFFSET_CIDRS(member) offsetof(struct config, member)
#define OFFSET_ORIGINS(member) offsetof(struct config, member)
#define OFFSET_URL(member) offsetof(struct config, member)
#define OFFSET_DOMAINS(member) offsetof(struct config, member)
#define OFFSET_PEERS(member) offsetof(struct config, member)

const struct config_row config_rows[CONFIG_COUNT] = {
#define X(type, member, name, def, min, max, arg, help)                        \
	[CONFIG_##member] = {name, CONFIG_##type, OFFSET_##type(member), def,  \
	    min, max, arg, help},
    CONFIG_TABLE(X)
#undef X
};

int
config_row_find(const char *name)
{
	int i;

	for (i = 0; i < CONFIG_COUNT; i++) {
		if (strcmp(config_rows[i].name, name) == 0)
			return (i);
	}
	return (-1);
}

#define NAME_MAX_LEN 32

static size_t
least(size_t a, size_t b, size_t c)
{

	if (b < a)
		a = b;
	return (c < a ? c : a);
}

/* Returns the Levenshtein distance: the least number of bytes that must be
 * inserted, removed or replaced to turn the ${na} bytes at ${a} into the ${nb}
 * bytes at ${b}.  Neither number may be above NAME_MAX_LEN; this function does
 * not check it. */
static size_t
distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[NAME_MAX_LEN + 1];
	size_t before, i, k, saved;

	for (k = 0; k <= nb; k++)
		row[k] = k;
	for (i = 1; i <= na; i++) {
		before = row[0];
		row[0] = i;
		for (k = 1; k <= nb; k++) {
			saved = row[k];
			row[k] = least(row[k] + 1, row[k - 1] + 1,
			    before + (a[i - 1] != b[k - 1]));
			before = saved;
		}
	}
	return (row[nb]);
}

const char *
config_row_nearest(const char *name)
{
	const char *best;
	size_t best_distance, d, n;
	int i;

	n = strlen(name);
	if (n > NAME_MAX_LEN)
		return (NULL);
	best = NULL;
	best_distance = n / 3 + 2;
	for (i = 0; i < CONFIG_COUNT; i++) {
		d = distance(
		    name, n, config_rows[i].name, strlen(config_rows[i].name));
		if (d < best_distance) {
			best = config_rows[i].name;
			best_distance = d;
		}
	}
	return (best);
}

void
config_row_variable(
    const struct config_row *row, char ret[CONFIG_VARIABLE_SIZE])
{
	const char *prefix = "TWINBOX_";
	size_t i, n;
	char c;

	n = strlen(prefix);
	memcpy(ret, prefix, n);
	for (i = 0; row->name[i] != '\0' && n + 1 < CONFIG_VARIABLE_SIZE; i++) {
		c = row->name[i];
		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		ret[n++] = (c == '-') ? '_' : c;
	}
	ret[n] = '\0';
}

/* Appends ${text} in lines that begin with ${indent} and end with a newline.  A
 * line has at most 78 bytes with its indent and without its newline, or one
 * word if that is longer. */
static void
add_wrapped(struct buf *out, const char *indent, const char *text)
{
	size_t column, word;

	column = 0;
	while (*text != '\0') {
		text += strspn(text, " ");
		word = strcspn(text, " ");
		if (word == 0)
			break;
		if (column != 0 && column + 1 + word > 78) {
			buf_addc(out, '\n');
			column = 0;
		}
		if (column == 0) {
			buf_adds(out, indent);
			column = strlen(indent);
		} else {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, text, word);
		column += word;
		text += word;
	}
	buf_addc(out, '\n');
}

void
config_write_help(struct buf *out)
{
	char variable[CONFIG_VARIABLE_SIZE];
	const struct config_row *row;
	int i;

	buf_adds(out,
	    "Settings (flags win, then the environment, then the file):\n"
	    "  --config FILE  [TWINBOX_CONFIG]\n"
	    "      A file with lines \"name = value\".\n");
	for (i = 0; i < CONFIG_COUNT; i++) {
		row = &config_rows[i];
		config_row_variable(row, variable);
		buf_adds(out, "  --");
		buf_adds(out, row->name);
		if (row->type != CONFIG_BOOL) {
			buf_addc(out, ' ');
			buf_adds(out, row->argument);
		}
		buf_adds(out, "  [");
		buf_adds(out, variable);
		buf_addc(out, ']');
		if (row->value[0] != '\0' && row->type != CONFIG_BOOL) {
			buf_adds(out, "  (default ");
			buf_adds(out, row->value);
			buf_addc(out, ')');
		}
		buf_addc(out, '\n');
		add_wrapped(out, "      ", row->help);
	}
}

void
config_write_sample(struct buf *out)
{
	const struct config_row *row;
	int i;

	buf_adds(out,
	    "# Settings of twinboxd.  Lines are \"name = value\"; flags and\n"
	    "# the environment win over them.  A line that is commented out here\n"
	    "# has the default.  twinboxd check-config shows what is in effect.\n");
	for (i = 0; i < CONFIG_COUNT; i++) {
		row = &config_rows[i];
		buf_addc(out, '\n');
		add_wrapped(out, "# ", row->help);
		buf_addc(out, '#');
		buf_adds(out, row->name);
		buf_adds(out, " =");
		if (row->value[0] != '\0') {
			buf_addc(out, ' ');
			buf_adds(out, row->value);
		}
		buf_addc(out, '\n');
	}
}

static void
add_source(struct buf *out, const struct config *config, int i)
{
	char variable[CONFIG_VARIABLE_SIZE];

	switch (config->source[i]) {
	case CONFIG_FROM_FILE:
		buf_adds(out, config->file);
		buf_addc(out, ':');
		buf_addi(out, config->line[i]);
		break;
	case CONFIG_FROM_ENVIRONMENT:
		config_row_variable(&config_rows[i], variable);
		buf_adds(out, variable);
		break;
	case CONFIG_FROM_FLAG:
		buf_adds(out, "--");
		buf_adds(out, config_rows[i].name);
		break;
	case CONFIG_FROM_DEMO:
		buf_adds(out, "because of demo");
		break;
	case CONFIG_FROM_DEFAULT:
	default:
		buf_adds(out, "default");
		break;
	}
}

/* Returns true for what the reader of files takes for a blank. */
static bool
is_blank(char c)
{

	return (c == ' ' || (c >= '\t' && c <= '\r'));
}

/* Returns true if inih reads ${value} from a file of settings unchanged.  It
 * does not if ${value} has a blank at one of its ends, a line break, or a
 * semicolon after a blank, which begins a comment.  The length is not
 * checked. */
static bool
file_can_have(const char *value, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (value[i] == '\n' ||
		    (is_blank(value[i]) &&
			(i == 0 || i + 1 == n || value[i + 1] == ';')))
			return (false);
	}
	return (true);
}

/* Appends ${value} with '?' for each control character. */
static void
add_shown(struct buf *out, const char *value, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf_addc(out, (unsigned char)value[i] < ' ' ? '?' : value[i]);
}

/* Appends "NAME = VALUE" without a newline.  Leaves out the space after "=" if
 * the value begins with a semicolon, because a semicolon after a space begins a
 * comment.  If a file cannot have the value (file_can_have()), appends two
 * lines of comment instead, because a reader of the file would get another
 * value: an explanation, and "# NAME = VALUE" with '?' for each control
 * character. */
static void
add_setting(
    const struct config_row *row, const struct config *config, struct buf *out)
{
	struct buf value = BUF_INIT;
	bool fits;

	config_value_write(row, config, &value);
	fits = file_can_have(value.data, value.len);
	if (!fits)
		buf_adds(out,
		    "# A file cannot have this value; use the flag or the "
		    "environment.\n# ");
	buf_adds(out, row->name);
	buf_adds(out, " =");
	if (value.len == 0 || value.data[0] != ';')
		buf_addc(out, ' ');
	if (fits)
		buf_add(out, value.data, value.len);
	else
		add_shown(out, value.data, value.len);
	out->failed = out->failed || value.failed;
	buf_fini(&value);
}

void
config_write(const struct config *config, struct buf *out)
{
	struct buf source = BUF_INIT;
	size_t start;
	int i;

	for (i = 0; i < CONFIG_COUNT; i++) {
		start = out->len;
		add_setting(&config_rows[i], config, out);
		add_source(&source, config, i);
		/* Put the source, which is a comment, on a line of its own if
		 * one line with the setting and the source would be longer
		 * than inih reads (CONFIG_LINE_LEN).
		 * (A value that a file cannot have counts with both of its
		 * lines.) */
		buf_adds(
		    out, out->len - start + 3 + source.len <= CONFIG_LINE_LEN
			     ? " ; "
			     : "\n; ");
		buf_add(out, source.data, source.len);
		out->failed = out->failed || source.failed;
		buf_addc(out, '\n');
		buf_reset(&source);
	}
	buf_fini(&source);
}
