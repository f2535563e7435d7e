/* SPDX-License-Identifier: MIT */
/*
 * Gives the client library any bytes as a server's answers, line by line: the
 * frames of a stream, documents that the client displays, problem documents.
 * Claims that the cursor advances by one and never goes back, and that only
 * printable text and line ends reach the terminal.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "lib/rest.h"
#include "lib/safe.h"
#include "lib/stream_internal.h"
#include "term/render.h"

#define SERVER_SIZE 512

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	MUST(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	(void)setenv("TZ", "UTC", 1);
	return (0);
}

/* Claims that ${s} has nothing that a terminal interprets: no control character
 * (C0, DEL or C1), no change of the writing direction, and no invalid UTF-8.
 * ${lines} allows line ends. */
static void
check_safe(const char *s, size_t n, bool lines)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t i;

	MUST(fuzz_utf8_prefix(p, n) == n);
	for (i = 0; i < n; i++) {
		MUST(p[i] >= 0x20 || (lines && p[i] == '\n'));
		MUST(p[i] != 0x7f);
		if (p[i] == 0xc2)
			MUST(p[i + 1] >= 0xa0);
		if (p[i] == 0xe2 && p[i + 1] == 0x80)
			MUST(p[i + 2] < 0xa8 || p[i + 2] > 0xae);
		if (p[i] == 0xe2 && p[i + 1] == 0x81)
			MUST(p[i + 2] < 0xa6 || p[i + 2] > 0xaf);
	}
}

static void
check_text(const char *s, size_t n)
{
	struct buf b = BUF_INIT;
	char line[40];
	size_t cut;

	safe_add(&b, s, n);
	if (b.len > 0) {
		check_safe(b.data, b.len, false);
		MUST(safe_width(b.data, b.len) >= 0);
		cut = safe_cut(b.data, b.len, 10);
		MUST(cut <= b.len && safe_width(b.data, cut) <= 10);
		check_safe(b.data, cut, false);
	}
	buf_reset(&b);
	safe_add_lines(&b, s, n, 4);
	check_safe(b.data == NULL ? "" : b.data, b.len, true);
	safe_line(s, n, line, sizeof(line));
	MUST(strlen(line) < sizeof(line));
	check_safe(line, strlen(line), false);
	buf_fini(&b);
}

/* ---- documents that are displayed ---- */

static void
check_shown(const json_t *json)
{
	static const struct look plain = {
	    .now_ms = INT64_C(1795262400000), .me = "alice"};
	struct fail fail = FAIL_INIT;
	struct buf b = BUF_INIT;
	json_t *rows;

	render_event(&b, &plain, json);
	render_message(&b, &plain, json, RENDER_READ);
	render_entry(&b, &plain, json);
	render_member(&b, json, "title", "none");
	rows = json_pack("[[s,s],[s,s]]", "a", "b",
	    render_entry_state(json) == NULL ? "" : render_entry_state(json),
	    render_conversation_name(json, "alice"));
	render_table(&b, &plain, rows);
	json_decref(rows);
	MUST(buf_ok(&b));
	check_safe(b.data, b.len, true);
	(void)fail_problem(&fail,
	    (int)json_integer_value(json_object_get(json, "status")), json, 0);
	check_safe(fail.what, strlen(fail.what), false);
	check_safe(fail.cure, strlen(fail.cure), false);
	MUST(fail.rc != RC_OK && fail.exit != 0 && fail.retry_after_s >= 0);
	buf_fini(&b);
}

/* ---- a stream ---- */

static struct stream stream;
static int64_t last_seq;

static void
on_event(void *arg, const json_t *event)
{
	int64_t seq = json_integer_value(json_object_get(event, "seq"));

	(void)arg;
	MUST(seq == last_seq + 1);
	MUST(stream_seq(&stream) == seq);
	last_seq = seq;
}

static void
on_gap(void *arg, int64_t expected, int64_t oldest)
{

	(void)arg;
	MUST(expected > last_seq && oldest > expected);
	last_seq = oldest - 1;
}

static void
on_welcome(void *arg, const json_t *frame)
{

	(void)arg;
	(void)frame;
	last_seq = stream.seq;
	MUST(stream.seq >= 0 && stream.epoch[0] != '\0');
}

static void
on_epoch_changed(void *arg)
{

	(void)arg;
	last_seq = 0;
}

static void
on_refused(void *arg, int64_t re, const struct fail *why)
{

	(void)arg;
	MUST(re > STREAM_HELLO_ID);
	check_safe(why->what, strlen(why->what), false);
}

static const struct stream_ops ops = {
    .welcome = on_welcome,
    .event = on_event,
    .refused = on_refused,
    .epoch_changed = on_epoch_changed,
    .gap = on_gap,
};

static void
stream_begin(bool known)
{
	static char server[] = "http://127.0.0.1:8080";

	memset(&stream, 0, sizeof(stream));
	stream.magic = STREAM_MAGIC;
	stream.options.ops = &ops;
	stream.options.acks = !known;
	stream.server = server;
	stream.last = &stream.first;
	stream.state = STREAM_GREETING;
	stream.seq = last_seq = known ? 5 : -1;
	if (known)
		memcpy(stream.epoch, "e1", 3);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char server[SERVER_SIZE], *copy;
	struct fail fail = FAIL_INIT;
	const uint8_t *line;
	json_t *json;
	size_t n;

	stream_begin(size > 0 && data[size - 1] == '\n');
	while (size > 0) {
		line = fuzz_line(&data, &size, &n);
		copy = fuzz_copy(line, n);
		check_text(copy, n);
		json = json_loadb(copy, n, 0, NULL);
		if (json_is_object(json))
			check_shown(json);
		json_decref(json);
		buf_reset(&stream.in);
		buf_add(&stream.in, copy, n);
		if (n > 0 && !stream_frame_read(&stream)) {
			MUST(stream.fail.what[0] != '\0');
			check_safe(
			    stream.fail.what, strlen(stream.fail.what), false);
			stream.state = STREAM_GREETING; /* reconnects */
		}
		if (rest_server_parse(copy, server, sizeof(server), &fail) ==
		    RC_OK)
			check_safe(server, strlen(server), false);
		else
			check_safe(fail.what, strlen(fail.what), false);
		free(copy);
	}
	buf_fini(&stream.in);
	return (0);
}
