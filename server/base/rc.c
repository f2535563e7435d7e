/* SPDX-License-Identifier: MIT */
/*
 * The table of result codes.  Owns nothing.  Promises an answer for every
 * value: one that is not a code counts as RC_INTERNAL.  The macro puts each row
 * at the index of its code.
 */
#include <errno.h>

#include "base/rc.h"

struct rc_row {
	const char *name;
	const char *text;
	int http;
	int ws_close;
	int exit_code;
	bool retry;
};

static const struct rc_row rows[RC_COUNT] = {
#define X(name, text, http, ws, ex, retry)                                     \
	[name] = {#name, text, http, ws, ex, retry},
    RC_TABLE(X)
#undef X
};

static const struct rc_row *
row(enum rc rc)
{

	return (&rows[(unsigned)rc < RC_COUNT ? rc : RC_INTERNAL]);
}

const char *
rc_text(enum rc rc)
{

	return (row(rc)->text);
}

const char *
rc_name(enum rc rc)
{

	return (row(rc)->name);
}

int
rc_http_status(enum rc rc)
{

	return (row(rc)->http);
}

int
rc_ws_close(enum rc rc)
{

	return (row(rc)->ws_close);
}

int
rc_exit_code(enum rc rc)
{

	return (row(rc)->exit_code);
}

bool
rc_may_retry(enum rc rc)
{

	return (row(rc)->retry);
}

bool
rc_is_outage(enum rc rc)
{

	return (rc == RC_BUSY || rc == RC_AWAY || rc == RC_UNCERTAIN ||
		rc == RC_UNCONFIRMED);
}

enum rc
rc_of_opening(int sys)
{

	switch (sys) {
	case EACCES:
	case EPERM:
		return (RC_DENIED);
	case ENOENT:
		return (RC_NOT_FOUND);
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return (RC_INVALID);
	case ENOSPC:
	case EDQUOT:
		return (RC_FULL);
	case ENOMEM:
		return (RC_NO_MEMORY);
	case EMFILE:
	case ENFILE:
		return (RC_LIMIT);
	default:
		return (RC_IO);
	}
}
