/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share: the table of settings as data, values
 * and texts.
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

/* Room for what is wrong with a value. */
#define CONFIG_WHY_SIZE 256

/* The index of the setting called ${name}, -1 if there is none. */
int config_row_find(const char *name);

/* The name of a setting that is most like ${name}; NULL if none is near. */
const char *config_row_nearest(const char *name);

/* Writes the environment variable of ${row}. */
void config_row_variable(
    const struct config_row *row, char ret[CONFIG_VARIABLE_SIZE]);

/* Reads ${text} into the member of ${row}.  False, with what is wrong and what
 * would be right in ${ret_why}, when it is no value for it. */
bool config_value_read(const struct config_row *row, const char *text,
    struct config *config, char ret_why[CONFIG_WHY_SIZE]);

/* Appends the value of ${row} as config_value_read() would take it. */
void config_value_write(
    const struct config_row *row, const struct config *config, struct buf *out);

/* Whether ${c} is a network of IPv4. */
bool config_cidr_is_v4(const struct config_cidr *c);

/* Appends "ADDRESS/BITS". */
void config_cidr_write(const struct config_cidr *c, struct buf *out);

/* Splits "HOST:PORT", where HOST is an IPv4 address, an IPv6 address in
 * brackets, or localhost, which becomes 127.0.0.1 in ${text}.  False if it is
 * none. */
bool config_listen_check(char text[CONFIG_TEXT_SIZE], bool *ret_is_loopback);

/* Takes the next piece of a list with commas or spaces and moves ${*list} past
 * it; ${ret} is "" at the end.  False when ${size} bytes have no room for it.
 */
bool config_piece_take(const char **list, char *ret, size_t size);

/* ---- federation.c ---- */

/* Reads ${text} into ${ret}, the member of a setting of type CONFIG_URL,
 * CONFIG_DOMAINS or CONFIG_PEERS.  False, with the reason in ${ret_why}, when
 * that is not a value of ${type}. */
bool config_names_read(enum config_type type, const char *text, void *ret,
    char ret_why[CONFIG_WHY_SIZE]);

/* Appends ${member} as config_names_read() would take it. */
void config_names_write(
    enum config_type type, const void *member, struct buf *out);

/* The rules between the settings of federation.  Where it is on, federation_url
 * is set from then on.  RC_INVALID with the cure. */
enum rc config_federation_check(
    struct config *config, struct err *err) MUST_USE;

/* The warnings of config_warn() about these settings. */
enum rc config_federation_warn(
    const struct config *config, config_warn_fn warn, void *arg) MUST_USE;

/* ---- warn.c ---- */

/* Calls ${warn} for each of ${networks}, those of the setting ${name}, that is
 * wider than any private network: "NAME: CIDR is wider than any private
 * network: ${danger}". */
enum rc config_warn_wide(const char *name, const struct config_cidrs *networks,
    const char *danger, config_warn_fn warn, void *arg) MUST_USE;

/* ---- file.c ---- */

/* Reads the file ${path}: ${each} is called for each "name = value" with its
 * line, and ends the reading when it is not content. */
enum rc config_file_read(const char *path,
    enum rc (*each)(void *arg, const char *name, const char *value, int line,
	struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
