/* SPDX-License-Identifier: MIT */
/*
 * Profiles: which server, which account, which token.  One file each,
 * $XDG_CONFIG_HOME/twinbox/NAME.json (or ~/.config/twinbox/NAME.json), mode
 * 0600, replaced as a whole or not at all.  A file that others may read is
 * refused, because the token in it is as good as a password.
 */
#ifndef LIB_PROFILE_H
#define LIB_PROFILE_H

#include <limits.h>
#include <stdbool.h>

#include "base/limits.h"
#include <jansson.h>

#include "lib/fail.h"

#define PROFILE_SERVER_SIZE 512
#define PROFILE_TOKEN_SIZE 256

struct profile {
	char name[LIMIT_NAME_LEN + 1];
	char server[PROFILE_SERVER_SIZE]; /* "" in a new one */
	char user[LIMIT_NAME_LEN + 1];    /* "" when nobody is logged in */
	char token[PROFILE_TOKEN_SIZE];   /* as user */
	char token_id[64];                /* "" if the server named none */
	char device[LIMIT_DEVICE_NAME_LEN + 1];
};

/* Loads profile ${name} (same letters as a user's name) into ${ret}; one that
 * does not exist is empty but for its name. */
enum rc profile_load(
    const char *name, struct profile *ret, struct fail *fail) MUST_USE;

/* Writes ${p}: to a temporary file, fsync, rename, fsync of the folder. */
enum rc profile_save(const struct profile *p, struct fail *fail) MUST_USE;

/* Removes the file of ${p} (it is no error if there is none) and forgets the
 * account in ${p}. */
enum rc profile_remove(struct profile *p, struct fail *fail) MUST_USE;

/* The names of the profiles that there are, as an array that the caller
 * decrefs. */
enum rc profile_names(json_t **ret, struct fail *fail) MUST_USE;

/* Where the client's own database for ${p}'s account at its server is:
 * $XDG_STATE_HOME/twinbox/NAME/USER@HOST_PORT.db (or ~/.local/state).  Makes
 * the folders, mode 0700. */
enum rc profile_state_path(
    const struct profile *p, char ret[PATH_MAX], struct fail *fail) MUST_USE;

#endif
