/* SPDX-License-Identifier: MIT */
/*
 * Each column of a row comes to its member: a database with rows in which no
 * two columns have the same value, and others in which nothing is set that may
 * be missing.  What the store reads of them is written down as text, value by
 * value, and compared whole.
 */
#ifndef CONTRACT_COLUMNS_H
#define CONTRACT_COLUMNS_H

#include "contract/rig.h"

#define SAID_SIZE 8192

extern struct rig rig;
extern char said[SAID_SIZE]; /* since begin() */

/* Opens ${rig} with the rows; rig_close() ends it. */
void open_rows(void);

/* Nothing is said, and the stack is full of what no row holds. */
void begin(void);

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The number of an id in the rows. */
int id_number(const struct uuid *id);

/* Values behind one another, with blanks between. */
#define SAY(n) say("%lld ", (long long)(n))
#define SAY_ID(id) say("#%d ", id_number(&(id)))
#define SAY_TEXT(s) say("%s ", (s) == NULL ? "-" : (s)[0] == '\0' ? "''" : (s))
#define END() say("\n")

/* The call, which may use err, says what is expected. */
#define READ(call, expected)                                                   \
	do {                                                                   \
		struct err err = ERR_INIT;                                     \
		begin();                                                       \
		assert_int_equal(call, RC_OK);                                 \
		assert_string_equal(said, expected);                           \
	} while (0)

#endif
