/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON into a buffer whose failure is sticky.
 */
#include "lib/dump.h"

#include "base/buf.h"

/* jansson's callback.  Its result is of no use, because jansson ignores some
 * failures; the buffer remembers them. */
static int
add_piece(const char *p, size_t n, void *arg)
{

	buf_add(arg, p, n);
	return (0);
}

char *
dump_json(const json_t *json, size_t flags, size_t *ret_n)
{
	struct buf b = BUF_INIT;

	if (json == NULL ||
	    json_dump_callback(json, add_piece, &b, flags) != 0 ||
	    !buf_ok(&b)) {
		buf_fini(&b);
		return (NULL);
	}
	return (buf_take(&b, ret_n));
}
