/* SPDX-License-Identifier: MIT */
/*
 * Databases as older versions of the program left them.
 */
#ifndef CONTRACT_OLD_H
#define CONTRACT_OLD_H

/* Makes ${to}, a database of schema ${number}, with everything of the newer
 * database ${from} that it can hold.  Returns NULL, or what failed, in static
 * storage. */
const char *old_schema_make(const char *from, const char *to, int number);

#endif
