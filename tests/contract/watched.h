/* SPDX-License-Identifier: MIT */
/*
 * Statements counted while a test runs.
 */
#ifndef CONTRACT_WATCHED_H
#define CONTRACT_WATCHED_H

/* Counts in ${*n} the runs of statements that contain ${text}, on each SQLite
 * connection that is opened from now on.  Keeps both pointers. */
void watched_start(const char *text, int *n);

/* Connections that are opened from now on are not watched. */
void watched_stop(void);

#endif
