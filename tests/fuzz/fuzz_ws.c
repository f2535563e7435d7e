/* SPDX-License-Identifier: MIT */
/*
 * Gives any bytes to the reader of WebSocket frames (server/ws): as a whole, in
 * pieces, and byte by byte.  The reader must call the same callbacks in the
 * same order each time.  Messages are UTF-8 within the limit, pings have up to
 * 125 bytes, closes have a code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "ws/reader.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	return (0);
}

/* Records a callback as text: "m<bytes>" message, "p<bytes>" ping, "o" pong,
 * "c<code>" close, "x" broken. */
static void
tell(struct buf *story, char what, const char *p, size_t n)
{

	buf_addc(story, what);
	buf_addi(story, (int64_t)n);
	buf_addc(story, ':');
	buf_add(story, p, n);
}

static bool
on_message(void *arg, const char *text, size_t n)
{

	MUST(n <= LIMIT_REQUEST_LEN);
	MUST(fuzz_utf8_prefix((const uint8_t *)text, n) == n);
	tell(arg, 'm', text, n);
	return (true);
}

static bool
on_ping(void *arg, const char *payload, size_t n)
{

	MUST(n <= WS_CONTROL_LEN);
	tell(arg, 'p', payload, n);
	return (true);
}

static bool
on_pong(void *arg)
{

	tell(arg, 'o', "", 0);
	return (true);
}

static void
on_close(void *arg, int code)
{

	tell(arg, 'c', (const char *)&code, sizeof(code));
}

static void
on_broken(void *arg, int code, const char *why)
{

	MUST(code == 4400 || code == 1002 || code == 1003 || code == 1007 ||
	     code == 1008 || code == 1009 || code == 1013);
	MUST(why != NULL && why[0] != '\0');
	tell(arg, 'x', "", 0);
}

static const struct ws_reader_ops ops = {.message = on_message,
    .ping = on_ping,
    .pong = on_pong,
    .close = on_close,
    .broken = on_broken};

static void
read_in_pieces(const uint8_t *p, size_t n, size_t piece, struct buf *story)
{
	struct ws_reader r;
	size_t some;
	char *copy;

	ws_reader_init(&r, &ops, story);
	ws_reader_admit(&r);
	for (; n > 0; p += some, n -= some) {
		some = (n < piece) ? n : piece;
		copy = fuzz_copy(p, some);
		ws_reader_feed(&r, copy, some);
		free(copy);
	}
	ws_reader_fini(&r);
	MUST(buf_ok(story));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, pieces = BUF_INIT, bytes = BUF_INIT;

	if (size < 1)
		return (0);
	read_in_pieces(data + 1, size - 1, size, &whole);
	read_in_pieces(data + 1, size - 1, data[0] % 31 + 1u, &pieces);
	read_in_pieces(data + 1, size - 1, 1, &bytes);
	MUST(whole.len == pieces.len && whole.len == bytes.len);
	MUST(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
	MUST(whole.len == 0 || memcmp(whole.data, bytes.data, whole.len) == 0);
	buf_fini(&whole);
	buf_fini(&pieces);
	buf_fini(&bytes);
	return (0);
}
