/* SPDX-License-Identifier: MIT */
/*
 * Profiles: which server, which account, which token.  Each profile is one
 * file, $XDG_CONFIG_HOME/twinbox/NAME.json (or ~/.config/twinbox/NAME.json if
 * the variable is not an absolute path), mode 0600, and is replaced atomically.
 * A file to which its mode gives anybody but its owner any access is not
 * loaded, because its token is as good as a password.
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
	char server[PROFILE_SERVER_SIZE]; /* "" in a new profile */
	char user[LIMIT_NAME_LEN + 1];    /* "" if logged out */
	char token[PROFILE_TOKEN_SIZE];   /* "" if logged out */
	char token_id[64];                /* "" if the server named none */
	char device[LIMIT_DEVICE_NAME_LEN + 1];
};

/* Loads profile ${name} into ${ret}.  Fails with kind USAGE unless ${name} has
 * 1 to LIMIT_NAME_LEN characters of a-z 0-9 . _ - and does not begin with '.'.
 * If the profile does not exist, the result is RC_OK, and all members of ${ret}
 * but the name are "".  Fails with kind CONFIG if the file is damaged or cannot
 * be opened, or if its mode gives anybody but its owner any access. */
enum rc profile_load(
    const char *name, struct profile *ret, struct fail *fail) MUST_USE;

/* Makes the folder of profiles if it does not exist, writes ${p} to a temporary
 * file in it, syncs this file, renames it to the file of the profile, and syncs
 * the folder.  If the rename or a step before it fails, the profile's old file
 * is unchanged; if only the sync of the folder fails, the new file is in place,
 * and the result is a failure, too. */
enum rc profile_save(const struct profile *p, struct fail *fail) MUST_USE;

/* Deletes the file of ${p} (a missing file is not an error) and clears the
 * user, token, token_id and device in ${p}. */
enum rc profile_remove(struct profile *p, struct fail *fail) MUST_USE;

/* Sets *ret to an array, which the caller decrefs, of the names of all
 * profiles, in no order.  The array is empty if the folder of profiles is
 * missing or cannot be opened.  On failure *ret is not set. */
enum rc profile_names(json_t **ret, struct fail *fail) MUST_USE;

/* Writes into ${ret} the path of the client's own database for the account and
 * server of ${p}: $XDG_STATE_HOME/twinbox/NAME/USER@HOST_PORT.db (or
 * ~/.local/state/twinbox/…), where NAME is the profile's name.  HOST_PORT is at
 * most 300 bytes of the server's URL after "://", with '_' for each ':' and
 * '/'.  Creates the missing folders with mode 0700, but not the file. */
enum rc profile_state_path(
    const struct profile *p, char ret[PATH_MAX], struct fail *fail) MUST_USE;

#endif
