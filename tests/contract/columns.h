/* SPDX-License-Identifier: MIT */
/*
 * Proves that each column of a row reaches its member.  The database has rows
 * in which no two columns have the same value, and rows in which every optional
 * column is empty.  The test writes what the store reads from them as text,
 * value by value, and compares the whole text.
 */
#ifndef CONTRACT_COLUMNS_H
#define CONTRACT_COLUMNS_H

#include "contract/rig.h"

#define SAID_SIZE 8192

extern struct rig rig;
extern char said[SAID_SIZE]; /* written since begin() */

/* Opens ${rig} with the rows. rig_close() ends it. */
void open_rows(void);

/* Empties ${said} and fills the stack with a value that no row holds. */
void begin(void);

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns the number of an id in the rows. */
int id_number(const struct uuid *id);

/* Append values to ${said}, with a space after each. */
#define SAY(n) say("%lld ", (long long)(n))
#define SAY_ID(id) say("#%d ", id_number(&(id)))
#define SAY_TEXT(s) say("%s ", (s) == NULL ? "-" : (s)[0] == '\0' ? "''" : (s))
#define END() say("\n")

/* Runs ${call}, which may use err.  It must append ${expected}. */
#define READ(call, expected)                                                   \
	do {                                                                   \
		struct err err = ERR_INIT;                                     \
		begin();                                                       \
		assert_int_equal(call, RC_OK);                                 \
		assert_string_equal(said, expected);                           \
	} while (0)

#endif
