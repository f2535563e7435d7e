/* SPDX-License-Identifier: MIT */
/*
 * --demo: users in an empty database, and lines to copy that work.
 */
#ifndef MAIN_DEMO_H
#define MAIN_DEMO_H

#include "main/server.h"

/* Adds alice, bob and carol. */
enum rc demo_make_users(struct core *core, struct err *err) MUST_USE;

/* Prints the users (when ${fresh}) and the lines, for the server at ${host}. */
void demo_say(const char *host, bool fresh);

#endif
