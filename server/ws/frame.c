/* SPDX-License-Identifier: MIT */
/*
 * See frame.h.
 */
#include "ws/frame.h"

#define FIN 0x80

/* Writes ${n} in the shortest of the three forms of a length, as section 5.2 of
 * RFC 6455 requires of a sender: 7 bits, or the mark 126 and 16 bits, or the
 * mark 127 and 64 bits. */
size_t
ws_frame_head(uint8_t head[WS_HEAD_LEN], enum ws_opcode opcode, size_t n)
{
	uint64_t left = n;
	size_t len, i;

	head[0] = (uint8_t)(FIN | opcode);
	if (n <= 125) {
		head[1] = (uint8_t)n;
		return (2);
	}
	head[1] = n <= UINT16_MAX ? 126 : 127;
	len = n <= UINT16_MAX ? 4 : WS_HEAD_LEN;
	for (i = len - 1; i > 1; i--) {
		head[i] = (uint8_t)left;
		left >>= 8;
	}
	return (len);
}
