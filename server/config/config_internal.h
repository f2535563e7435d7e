/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of this module: the table of settings as data, and the
 * functions that convert values and write texts.
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

/* Returns the name of the setting that is most like ${name}, NULL if none is
 * similar.  A name is similar if its Levenshtein distance to ${name} is at most
 * a third of the length of ${name}, plus 1.  Returns NULL for a ${name} of more
 * than 32 bytes. */
const char *config_row_nearest(const char *name);

/* Writes the name of the environment variable of ${row}. */
void config_row_variable(
    const struct config_row *row, char ret[CONFIG_VARIABLE_SIZE]);

/* Reads ${text} into the member of ${row}.  If it is not a valid value, returns
 * false and says in ${ret_why} what is wrong and what would be right; the
 * member is then undefined. */
bool config_value_read(const struct config_row *row, const char *text,
    struct config *config, char ret_why[CONFIG_WHY_SIZE]);

/* Appends the value of ${row} in the form that config_value_read() accepts. */
void config_value_write(
    const struct config_row *row, const struct config *config, struct buf *out);

/* Returns true if ${c} is an IPv4 network. */
bool config_cidr_is_v4(const struct config_cidr *c);

/* Appends "ADDRESS/BITS". */
void config_cidr_write(const struct config_cidr *c, struct buf *out);

/* Checks "HOST:PORT", where HOST is an IPv4 address, an IPv6 address in
 * brackets, or localhost, which is replaced by 127.0.0.1 in ${text}, and PORT
 * is 0 to 65535.  *ret_is_loopback: HOST can only be this machine.  Returns
 * false if ${text} is anything else. */
bool config_listen_check(char text[CONFIG_TEXT_SIZE], bool *ret_is_loopback);

/* Copies the next piece of a list, whose separators are commas or spaces, to
 * ${ret} and moves ${*list} past it.  ${ret} is "" at the end of the list.
 * Returns false if the piece does not fit into ${size} bytes. */
bool config_piece_take(const char **list, char *ret, size_t size);

/* ---- federation.c ---- */

/* Reads ${text} into ${ret}, the member of a setting of type CONFIG_URL,
 * CONFIG_DOMAINS or CONFIG_PEERS.  If it is not a valid value of ${type},
 * returns false with the reason in ${ret_why}; ${ret} is then undefined. */
bool config_names_read(enum config_type type, const char *text, void *ret,
    char ret_why[CONFIG_WHY_SIZE]);

/* Appends ${member} in the form that config_names_read() accepts. */
void config_names_write(
    enum config_type type, const void *member, struct buf *out);

/* Checks the rules between the settings of federation.  If federation is on and
 * federation_url is empty, sets it to https://DOMAIN; if federation is off,
 * does nothing.  Returns RC_INVALID with the cure in ${err}. */
enum rc config_federation_check(
    struct config *config, struct err *err) MUST_USE;

/* Calls ${warn} for the settings of federation, and returns, as config_warn()
 * does. */
enum rc config_federation_warn(
    const struct config *config, config_warn_fn warn, void *arg) MUST_USE;

/* ---- warn.c ---- */

/* Calls ${warn} for each of ${networks}, the value of the setting ${name}, that
 * is wider than any private network or contains all of IPv4: "NAME: CIDR is
 * wider than any private network: ${danger}".  Returns RC_NO_MEMORY if there is
 * no memory for a text. */
enum rc config_warn_wide(const char *name, const struct config_cidrs *networks,
    const char *danger, config_warn_fn warn, void *arg) MUST_USE;

/* ---- file.c ---- */

/* Reads the file ${path} and calls ${each} for each "name = value" with its
 * line number.  Stops at the first error of ${each} and returns it.
 * RC_INVALID: the file is not a regular one, is larger than 1 MiB, or has a
 * section, a line of more than CONFIG_LINE_LEN bytes that is not a
 * comment, or another line that is not "name = value".  Else as
 * rc_of_opening(), RC_IO or RC_NO_MEMORY. */
enum rc config_file_read(const char *path,
    enum rc (*each)(void *arg, const char *name, const char *value, int line,
	struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
