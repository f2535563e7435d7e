/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON into a buffer whose failure is sticky.
 */
#include "lib/dump.h"

#include "base/buf.h"

/* Appends ${n} bytes to the buffer ${arg}, as the callback of
 * json_dump_callback().  Always returns 0, because jansson ignores some
 * failures of its callback; dump_json() calls buf_ok() instead, which returns
 * false if an append has failed. */
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
