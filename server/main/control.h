/* SPDX-License-Identifier: MIT */
/*
 * The control socket DATA/control (Unix, mode 0600): how `twinboxd user` and
 * its like speak to a running server.  One request a connection, one line of
 * JSON each way:
 *
 *	{"command":"user add","name":"ann","password":"…","admin":true}
 *	{"ok":true}   or   {"ok":false,"rc":"RC_EXISTS","error":"…"}
 */
#ifndef MAIN_CONTROL_H
#define MAIN_CONTROL_H

#include "main/server.h"

struct control;

/* Makes the socket and starts its thread. */
enum rc control_start(
    struct core *core, struct control **ret, struct err *err) MUST_USE;

/* Ends the thread and removes the socket.  NULL is allowed. */
void control_stop(struct control *control);

/* Asks the server that has ${data}; RC_CLOSED when none answers. */
enum rc control_call(const char *data, const char *command, const char *name,
    const char *password, bool admin, struct err *err) MUST_USE;

/* Runs one command against ${core}, as the socket does. */
enum rc control_run(struct core *core, const char *command, const char *name,
    const char *password, bool admin, struct err *err) MUST_USE;

#endif
