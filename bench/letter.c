/* SPDX-License-Identifier: MIT */
/*
 * The messages that the load generator sends; see bench.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "httpc.h"
#include "util.h"

#define STAMP_LEN 16
#define BODY_MEMBER "\"body\":\""

static const char prose[] =
    " The lamps along the quay were lit one after another, and the ferry that "
    "had been late all week came in on time; nobody remarked on it, though "
    "everyone had seen, and the rain held off";

void
letter_text(char ret[BENCH_BODY_LEN + 1], int64_t stamp)
{

	snprintf(ret, STAMP_LEN + 1, "%016" PRIx64, (uint64_t)stamp);
	for (size_t i = 0; i < BENCH_BODY_LEN - STAMP_LEN; i++)
		ret[STAMP_LEN + i] = prose[i % (sizeof(prose) - 1)];
	ret[BENCH_BODY_LEN] = '\0';
}

/* Appends a message's JSON object, and records the places of its id and
 * stamp. */
static void
add_message(struct letter *l, const char *to)
{
	char text[BENCH_BODY_LEN + 1];

	letter_text(text, 0);
	buf_addf(&l->text, "{\"to\":\"%s\",\"id\":\"", to);
	l->id_at = l->text.len;
	buf_adds(
	    &l->text, "00000000-0000-7000-8000-000000000000\"," BODY_MEMBER);
	l->stamp_at = l->text.len;
	buf_adds(&l->text, text);
	buf_adds(&l->text, "\"}");
}

void
letter_item(struct bench *b, struct buf *text, const char *to)
{
	struct letter l = {.text = *text};

	add_message(&l, to);
	if (!buf_ok(&l.text))
		bench_die("out of memory");
	letter_renew(b, &l, mono_ns());
	*text = l.text;
}

void
letter_http(struct letter *l, const char *token, const char *to)
{
	struct letter body = {.text = BUF_INIT};
	size_t head;

	add_message(&body, to);
	if (!buf_ok(&body.text))
		bench_die("out of memory");
	buf_init(&l->text, 0);
	httpc_request(&l->text, "POST", "/v1/messages", token, body.text.data,
	    body.text.len);
	head = l->text.len - body.text.len;
	l->id_at = head + body.id_at;
	l->stamp_at = head + body.stamp_at;
	buf_fini(&body.text);
}

void
letter_ws(struct letter *l, const char *to)
{

	buf_init(&l->text, 0);
	buf_adds(&l->text, "{\"type\":\"send\",\"id\":2,\"message\":");
	add_message(l, to);
	buf_addc(&l->text, '}');
	if (!buf_ok(&l->text))
		bench_die("out of memory");
}

/* Returns a new id of the version given by the options. */
static struct uuid
new_id(struct bench *b)
{
	struct uuid u;

	if (b->id_version != 4)
		return (uuid_gen_next(&b->ids));
	rnd_fill(rnd_system(), u.b, sizeof(u.b));
	u.b[6] = (uint8_t)(0x40 | (u.b[6] & 0x0f));
	u.b[8] = (uint8_t)(0x80 | (u.b[8] & 0x3f));
	return (u);
}

void
letter_renew(struct bench *b, struct letter *l, int64_t stamp_ns)
{
	char id[UUID_TEXT_LEN + 1], stamp[STAMP_LEN + 1];
	struct uuid u = new_id(b);

	uuid_format(&u, id);
	memcpy(l->text.data + l->id_at, id, UUID_TEXT_LEN);
	snprintf(stamp, sizeof(stamp), "%016" PRIx64, (uint64_t)stamp_ns);
	memcpy(l->text.data + l->stamp_at, stamp, STAMP_LEN);
}

bool
letter_stamp(const char *event, size_t n, int64_t *ret_ns)
{
	const char *at = memmem(event, n, BODY_MEMBER, strlen(BODY_MEMBER));

	if (at == NULL)
		return (false);
	at += strlen(BODY_MEMBER);
	return ((size_t)(event + n - at) >= STAMP_LEN && scan_hex(at, ret_ns));
}
