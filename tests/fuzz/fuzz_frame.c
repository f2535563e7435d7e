/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a frame of a WebSocket client, and as a cursor.  The rules
 * are written again in this file, from docs/asyncapi.yaml and on jansson's
 * tree, and must give the same verdict.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_wire.h"
#include "wire/wire.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	wire_init();
	return (0);
}

/* Reads a cursor by its grammar: [epoch ":"] digits, where the epoch has 1 to
 * 39 characters of [0-9A-Za-z_-] and the number fits into int64. */
static bool
cursor_reference(const char *p, size_t n, size_t *ret_epoch, int64_t *ret)
{
	size_t epoch = 0, i;
	__int128 v = 0;

	while (epoch < n && p[epoch] != ':')
		epoch++;
	*ret_epoch = (epoch == n) ? 0 : epoch;
	i = (epoch == n) ? 0 : epoch + 1;
	if (i == 1 || *ret_epoch > 39 || i == n)
		return (false);
	for (epoch = 0; epoch < *ret_epoch; epoch++)
		if (p[epoch] == '\0' ||
		    strchr("0123456789abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_",
			p[epoch]) == NULL)
			return (false);
	for (; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return (false);
		v = v * 10 + (p[i] - '0');
		if (v > INT64_MAX)
			return (false);
	}
	*ret = (int64_t)v;
	return (true);
}

static void
check_cursor(const char *p, size_t n, bool must)
{
	char epoch[40];
	int64_t seq, want = 0;
	size_t epoch_len;
	bool ok = wire_cursor_parse(p, n, epoch, &seq);

	MUST(ok == cursor_reference(p, n, &epoch_len, &want));
	MUST(ok || !must);
	if (!ok)
		return;
	MUST(seq == want && seq >= 0 && strlen(epoch) == epoch_len);
	MUST(memcmp(epoch, p, epoch_len) == 0);
}

static void
check_members(const json_t *root, const char *const *names)
{
	const char *key;
	json_t *value;
	int i;

	json_object_foreach ((json_t *)(uintptr_t)root, key, value) {
		for (i = 0; names[i] != NULL && strcmp(names[i], key) != 0;)
			i++;
		MUST(names[i] != NULL);
	}
}

static void
check_hello(const struct frame *f, const json_t *root)
{
	static const char *const names[] = {"type", "id", "token", "instance",
	    "after", "window", "outbox", NULL};
	json_t *after = json_object_get(root, "after");

	check_members(root, names);
	MUST(f->window >= 1 && f->window <= LIMIT_WINDOW);
	MUST(f->token.p == NULL || (f->token.n >= 1 && f->token.n <= 128));
	MUST(f->instance.p == NULL ||
	     (f->instance.n >= 1 && f->instance.n <= LIMIT_INSTANCE_LEN));
	if (after != NULL && !json_is_null(after))
		check_cursor(f->after.p, f->after.n, true);
	else
		MUST(f->after.p == NULL);
}

static void
check_frame(const struct frame *f, const json_t *root)
{
	static const char *const types[] = {
	    "hello", "ack", "read", "send", "typing", "ping"};
	static const char *const ack[] = {"type", "id", "upto", NULL};
	static const char *const read[] = {"type", "id", "upto", "conversation",
	    "upto_conversation_seq", "private", NULL};
	static const char *const send[] = {"type", "id", "message", NULL};
	static const char *const typing[] = {
	    "type", "id", "conversation", NULL};

	MUST(strcmp(json_string_value(json_object_get(root, "type")),
		 types[f->type]) == 0);
	switch (f->type) {
	case FRAME_HELLO:
		check_hello(f, root);
		break;
	case FRAME_ACK:
		check_members(root, ack);
		MUST(f->upto >= 0);
		MUST(f->upto ==
		     json_integer_value(json_object_get(root, "upto")));
		break;
	case FRAME_READ:
		check_members(root, read);
		MUST(f->upto >= 0 && f->upto_conversation_seq >= 0);
		MUST(!f->has_conversation || f->upto == 0);
		break;
	case FRAME_SEND:
		check_members(root, send);
		fuzz_draft(&f->message);
		break;
	case FRAME_TYPING:
		check_members(root, typing);
		MUST(f->has_conversation);
		break;
	case FRAME_PING:
	default:
		check_members(root, ack);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct frame f;
	const json_t *id;
	char *text;

	if (size > 0 && data[0] != '{') {
		text = fuzz_copy(data, size);
		check_cursor(text, size, false);
		free(text);
	}
	text = fuzz_copy(data, size);
	if (wire_parse(text, size, &doc, &r) != RC_OK) {
		fuzz_refusal(&r);
		free(text);
		return (0);
	}
	MUST(memchr(text, '\0', size) == NULL);
	if (wire_frame_read(&doc, &f, &r) == RC_OK) {
		MUST(json_is_object(doc.root) && r.problem == PROBLEM_NONE);
		check_frame(&f, doc.root);
	} else {
		fuzz_refusal(&r);
	}
	/* The answer names the request's id wherever the id can be read, even
	 * if the frame is refused. */
	id = json_object_get(doc.root, "id");
	MUST(f.has_re == json_is_integer(id));
	MUST(!f.has_re || f.re == json_integer_value(id));
	wire_doc_fini(&doc);
	free(text);
	return (0);
}
