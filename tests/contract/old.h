/* SPDX-License-Identifier: MIT */
/*
 * Databases as older programs have left them.
 */
#ifndef CONTRACT_OLD_H
#define CONTRACT_OLD_H

/* Makes ${to}, a database of schema ${number}, with everything of ${from}, a
 * newer one, that it has a place for.  NULL, or what failed; static storage. */
const char *old_schema_make(const char *from, const char *to, int number);

#endif
