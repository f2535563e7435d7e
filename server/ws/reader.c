/* SPDX-License-Identifier: MIT */
/*
 * Turns frames into messages.  A message in one frame, whose whole payload is
 * in the caller's buffer, is passed on from there without a copy.  A message
 * that comes in several pieces is collected in the member text of the reader.
 * The size of a message is checked against the limit at the header of each of
 * its frames, before the payload is read.
 */
#include "ws/reader.h"

#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

/* The most fragments of one message.  No well-meant client needs that many. */
#define FRAGMENTS_MAX 256

void
ws_reader_init(struct ws_reader *r, const struct ws_reader_ops *ops, void *arg)
{

	memset(r, 0, sizeof(*r));
	r->ops = ops;
	r->arg = arg;
	r->most = LIMIT_HELLO_LEN;
	buf_init(&r->text, r->most);
}

void
ws_reader_admit(struct ws_reader *r)
{

	r->most = LIMIT_REQUEST_LEN;
	r->text.limit = r->most;
}

bool
ws_reader_is_midway(const struct ws_reader *r)
{

	return (r->in_message || r->in_frame || r->have > 0);
}

void
ws_reader_fini(struct ws_reader *r)
{

	buf_fini(&r->text);
}

static void
broken(struct ws_reader *r, int code, const char *why)
{

	if (r->over)
		return;
	r->over = true;
	r->ops->broken(r->arg, code, why);
}

/* ---- heads ---- */

/* The header of a frame (RFC 6455, 5.2), of 2 to 14 bytes.  A client's frame
 * always has a masking key.  Bits are numbered from the most significant one,
 * and the extended length is in network byte order.
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   +-+-+-+-+-------+-+-------------+-------------------------------+
 *   |F|R|R|R| opcode|M| Payload len |    Extended payload length    |
 *   |I|S|S|S|  (4)  |A|     (7)     |             (16/64)           |
 *   |N|V|V|V|       |S|             |   (if payload len==126/127)   |
 *   | |1|2|3|       |K|             |                               |
 *   +-+-+-+-+-------+-+-------------+ - - - - - - - - - - - - - - - +
 *   |     Extended payload length continued, if payload len == 127  |
 *   + - - - - - - - - - - - - - - - +-------------------------------+
 *   |                               |Masking-key, if MASK set to 1  |
 *   +-------------------------------+-------------------------------+
 *   | Masking-key (continued)       |          Payload Data         |
 *   +-------------------------------- - - - - - - - - - - - - - - - +
 *   :                     Payload Data continued ...                :
 *   + - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - +
 *   |                     Payload Data continued ...                |
 *   +---------------------------------------------------------------+
 */

/* Returns the length of the header in bytes, as far as it is known: 2 until the
 * first two bytes have arrived. */
static unsigned
head_len(const struct ws_reader *r)
{
	unsigned len;

	if (r->have < 2)
		return (2);
	len = r->head[1] & 0x7fU;
	return (2 +
		(len == 126      ? 2U
		    : len == 127 ? 8U
				 : 0U) +
		((r->head[1] & 0x80) != 0 ? 4U : 0U));
}

/* Checks the first two bytes of a header.  Returns what is wrong, or NULL. */
static const char *
head_fault(const struct ws_reader *r)
{
	unsigned opcode = r->head[0] & 0x0fU;
	bool fin = (r->head[0] & 0x80) != 0;

	if ((r->head[0] & 0x70) != 0)
		return ("reserved bits");
	if ((opcode > WS_OP_BINARY && opcode < WS_OP_CLOSE) ||
	    opcode > WS_OP_PONG)
		return ("reserved opcode");
	if ((r->head[1] & 0x80) == 0)
		return ("a client's frame is masked");
	if (opcode >= WS_OP_CLOSE && !fin)
		return ("fragmented control frame");
	if (opcode >= WS_OP_CLOSE && (r->head[1] & 0x7f) > WS_CONTROL_LEN)
		return ("control frame too long");
	if (opcode == WS_OP_CONTINUATION && !r->in_message)
		return ("continuation of nothing");
	if ((opcode == WS_OP_TEXT || opcode == WS_OP_BINARY) && r->in_message)
		return ("a message inside a message");
	return (NULL);
}

/* Sets ${ret} to the length of the payload as r->head, which is complete, says.
 * Returns false if the head does not have the length in its shortest form, or
 * if the length exceeds INT64_MAX. */
static bool
payload_len(const struct ws_reader *r, uint64_t *ret)
{
	unsigned i, len = r->head[1] & 0x7fU;

	*ret = len;
	if (len < 126)
		return (true);
	*ret = 0;
	for (i = 0; i < (len == 126 ? 2U : 8U); i++)
		*ret = *ret << 8 | r->head[2 + i];
	if (len == 126)
		return (*ret > 125);
	return (*ret > UINT16_MAX && *ret <= INT64_MAX);
}

/* Begins a frame whose header is complete. */
static void
begin_frame(struct ws_reader *r)
{

	r->opcode = r->head[0] & 0x0f;
	r->fin = (r->head[0] & 0x80) != 0;
	memcpy(r->mask, r->head + r->have - 4, 4);
	r->mask_at = 0;
	r->have = 0;
	r->frames++;
	if (r->opcode >= WS_OP_CLOSE) {
		r->control_len = 0;
	} else if (r->opcode == WS_OP_BINARY) {
		broken(r, 4400, "text frames only");
		return;
	} else if (r->left > r->most || r->text.len + r->left > r->most) {
		broken(r, 1009, "message too large");
		return;
	} else if (++r->fragments > FRAGMENTS_MAX) {
		broken(r, 1009, "too many fragments");
		return;
	} else {
		r->in_message = true;
	}
	r->in_frame = true;
}

/* Copies bytes from ${p} to r->head until the header is complete, and then
 * begins its frame; calls broken() if the header is at fault or its frame would
 * exceed a limit.  Returns how many of the ${n} bytes were copied. */
static size_t
take_head(struct ws_reader *r, const char *p, size_t n)
{
	const char *fault;
	size_t took = 0;

	while (took < n && r->have < head_len(r)) {
		r->head[r->have++] = (uint8_t)p[took++];
		if (r->have == 2 && (fault = head_fault(r)) != NULL) {
			broken(r, 1002, fault);
			return (took);
		}
	}
	if (r->have < head_len(r))
		return (took);
	if (!payload_len(r, &r->left))
		broken(r, 1002, "length not in its shortest form");
	else
		begin_frame(r);
	return (took);
}

/* ---- payloads ---- */

static void
unmask(struct ws_reader *r, char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (char)((uint8_t)p[i] ^ r->mask[(r->mask_at + i) & 3]);
	r->mask_at = (unsigned)((r->mask_at + n) & 3);
}

static void
tell(struct ws_reader *r, bool goes_on)
{

	if (!goes_on)
		r->over = true;
}

static void
tell_message(struct ws_reader *r, const char *text, size_t n)
{

	r->in_message = false;
	r->fragments = 0;
	if (!utf8_valid(text, n, NULL))
		broken(r, 1007, "not UTF-8");
	else
		tell(r, r->ops->message(r->arg, text, n));
}

/* Returns true for the codes that a close frame may carry (RFC 6455, 7.4, and
 * the registry of IANA). */
static bool
code_may_be_sent(int code)
{

	return ((code >= 1000 && code <= 1003) ||
		(code >= 1007 && code <= 1014) ||
		(code >= 3000 && code <= 4999));
}

static void
take_close(struct ws_reader *r)
{
	const uint8_t *p = (const uint8_t *)r->control;
	int code = 1005;

	if (r->control_len == 1) {
		broken(r, 1002, "half a close code");
		return;
	}
	if (r->control_len >= 2) {
		code = p[0] << 8 | p[1];
		if (!code_may_be_sent(code)) {
			broken(r, 1002, "a close code that is none");
			return;
		}
		if (!utf8_valid(r->control + 2, r->control_len - 2, NULL)) {
			broken(r, 1007, "not UTF-8");
			return;
		}
	}
	r->over = true;
	r->ops->close(r->arg, code);
}

static void
end_control(struct ws_reader *r)
{

	if (r->opcode == WS_OP_CLOSE)
		take_close(r);
	else if (r->opcode == WS_OP_PING)
		tell(r, r->ops->ping(r->arg, r->control, r->control_len));
	else
		tell(r, r->ops->pong(r->arg));
}

/* Reads the next ${n} bytes of the payload of the current frame.  The caller
 * has already subtracted ${n} from r->left, so 0 there means that the frame
 * ends with these bytes.  If a control frame or a message is then complete,
 * calls its callback, or broken() if it is not valid. */
static void
take_payload(struct ws_reader *r, char *p, size_t n)
{

	unmask(r, p, n);
	if (r->opcode >= WS_OP_CLOSE) {
		memcpy(r->control + r->control_len, p, n);
		r->control_len += n;
		if (r->left == 0)
			end_control(r);
		return;
	}
	if (r->left == 0 && r->fin && r->text.len == 0) {
		tell_message(r, p, n);
		return;
	}
	buf_add(&r->text, p, n);
	if (!buf_ok(&r->text)) {
		broken(r, 1013, "out of memory");
		return;
	}
	if (r->left > 0 || !r->fin)
		return;
	tell_message(r, r->text.data != NULL ? r->text.data : "", r->text.len);
	/* The buffer is not kept, as most messages need none. */
	buf_fini(&r->text);
	buf_init(&r->text, r->most);
}

void
ws_reader_feed(struct ws_reader *r, char *p, size_t n)
{
	size_t k;

	while (n > 0 && !r->over) {
		if (!r->in_frame) {
			k = take_head(r, p, n);
			p += k;
			n -= k;
			if (!r->in_frame || r->left > 0)
				continue;
		}
		k = r->left < n ? (size_t)r->left : n;
		r->left -= k;
		r->in_frame = r->left > 0;
		take_payload(r, p, k);
		p += k;
		n -= k;
	}
}
