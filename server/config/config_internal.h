/* SPDX-License-Identifier: MIT */
/*
 * For the files of config/ only: the array config_rows, which has a row for
 * each setting, and the functions that parse, check and write values, read the
 * file of settings, and warn.
 */
#ifndef CONFIG_CONFIG_INTERNAL_H
#define CONFIG_CONFIG_INTERNAL_H

#include "config/config.h"

enum config_type {
	CONFIG_TEXT,
	CONFIG_BOOL,
	CONFIG_CHOICE,
	CONFIG_RATE,
	CONFIG_INT,
	CONFIG_DURATION,
	CONFIG_SIZE,
	CONFIG_CIDRS,
	CONFIG_ORIGINS,
	CONFIG_URL,
	CONFIG_DOMAINS,
	CONFIG_PEERS
};

struct config_row {
	const char *name;
	enum config_type type;
	size_t offset;     /* of the member in struct config */
	const char *value; /* the default */
	int64_t min;
	int64_t max;
	const char *argument;
	const char *help;
};

extern const struct config_row config_rows[CONFIG_COUNT];

/* Room for the name of an environment variable. */
#define CONFIG_VARIABLE_SIZE 48

/* The longest line that inih reads whole. */
#define CONFIG_LINE_LEN 198

/* Room for the text that says what is wrong with a value. */
#define CONFIG_WHY_SIZE 256

/* Returns the index of the setting called ${name}, -1 if there is none. */
int config_row_find(const char *name);

/* Returns the name of the setting that is most like ${name} (the first in the
 * table, if several are equally like it), NULL if none is similar.  A name is
 * similar if its Levenshtein distance to ${name} is at most 1 plus a third of
 * the length of ${name}, rounded down.  Returns NULL for a ${name} of more than
 * 32 bytes. */
const char *config_row_nearest(const char *name);

/* Writes the name of the environment variable of ${row}. */
void config_row_variable(
    const struct config_row *row, char ret[CONFIG_VARIABLE_SIZE]);

/* Parses ${text} as a value of the setting ${row}, and stores the value in the
 * member of ${config} that belongs to ${row}.  If ${text} is not valid for the
 * type or is out of range, returns false, and the member is undefined;
 * ${ret_why} then says what is wrong and what would be right, but does not name
 * the setting. */
bool config_value_read(const struct config_row *row, const char *text,
    struct config *config, char ret_why[CONFIG_WHY_SIZE]);

/* Appends the value of ${row} in the form that config_value_read() accepts. */
void config_value_write(
    const struct config_row *row, const struct config *config, struct buf *out);

/* Returns true if ${c} is an IPv4 network. */
bool config_cidr_is_v4(const struct config_cidr *c);

/* Appends "ADDRESS/BITS". */
void config_cidr_write(const struct config_cidr *c, struct buf *out);

/* Checks that ${text} is "HOST:PORT", where HOST is an IPv4 address, an IPv6
 * address in brackets, or localhost, and PORT is 0 to 65535.  Replaces the host
 * localhost in ${text} by 127.0.0.1, even if PORT is not valid.  Sets
 * *ret_is_loopback to true if HOST is in 127.0.0.0/8 or is ::1, else to false.
 * Returns false, with *ret_is_loopback unchanged, if ${text} is anything
 * else. */
bool config_listen_check(char text[CONFIG_TEXT_SIZE], bool *ret_is_loopback);

/* Copies the next piece of a list, whose separators are commas or spaces, to
 * ${ret}, and moves ${*list} past it.  At the end of the list, ${ret} is "" and
 * the result is true.  Returns false if the piece and a NUL do not fit into
 * ${size} bytes; then ${ret} is unchanged and ${*list} is the beginning of the
 * piece. */
bool config_piece_take(const char **list, char *ret, size_t size);

/* ---- federation.c ---- */

/* Parses ${text} as a value of ${type} and stores it in ${ret}, a member of
 * struct config: a struct domain_url for CONFIG_URL, domain_list for
 * CONFIG_DOMAINS, config_peers for CONFIG_PEERS.  "" is valid: no URL, or an
 * empty list.  If ${text} is not valid, returns false with the reason in
 * ${ret_why}; ${ret} is then undefined. */
bool config_names_read(enum config_type type, const char *text, void *ret,
    char ret_why[CONFIG_WHY_SIZE]);

/* Appends ${member} in the form that config_names_read() accepts. */
void config_names_write(
    enum config_type type, const void *member, struct buf *out);

/* If federation is off, does nothing and returns RC_OK.  If it is list or open,
 * checks that domain can be the name of a server, sets an empty federation_url
 * to https://DOMAIN, and checks domain, federation_url, federation_peer and
 * behind_proxy against each other.  If a check fails, returns RC_INVALID with
 * the cure in ${err}. */
enum rc config_federation_check(
    struct config *config, struct err *err) MUST_USE;

/* Calls ${warn} for the settings of federation, and returns, as config_warn()
 * does. */
enum rc config_federation_warn(
    const struct config *config, config_warn_fn warn, void *arg) MUST_USE;

/* ---- warn.c ---- */

/* Calls ${warn} for each of ${networks}, the value of the setting ${name}, that
 * is wider than any private network (IPv4: shorter than /8; IPv6: shorter than
 * /7) or contains all of IPv4.  The text, borrowed during the call, is "NAME:
 * CIDR is wider than any private network: ${danger}".  Returns RC_NO_MEMORY at
 * the first text for which there is no memory. */
enum rc config_warn_wide(const char *name, const struct config_cidrs *networks,
    const char *danger, config_warn_fn warn, void *arg) MUST_USE;

/* ---- file.c ---- */

/* Reads the file ${path} and calls ${each} for each "name = value" (or "name:
 * value") with its line number.  Stops at the first error of ${each} and
 * returns it.  Returns RC_INVALID without reading on if the file is not a
 * regular one, is larger than 1 MiB, or has a section or a line of more than
 * CONFIG_LINE_LEN bytes that is not a comment.  Any other line that is not
 * empty, a comment or "name = value" also makes the result RC_INVALID, but the
 * lines after it are read, and ${each} is called for them.  If the file cannot
 * be opened, returns rc_of_opening() of the errno; if it cannot be read to its
 * end, RC_IO or RC_NO_MEMORY. */
enum rc config_file_read(const char *path,
    enum rc (*each)(void *arg, const char *name, const char *value, int line,
	struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
