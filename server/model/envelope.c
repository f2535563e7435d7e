/* SPDX-License-Identifier: MIT */
/*
 * Acks, which answer the envelopes of another server: their words, and how they
 * are made.  Also the treatment of two texts that a peer (another server)
 * sends: the reason in an ack, which is made printable and cut, and the epoch
 * of the peer, which is checked.
 */
#include "model/envelope.h"

#include <string.h>

static const struct {
	enum envelope_status status;
	const char *word;
} reasons[ENVELOPE_REASONS] = {
#define X(id, status, word) [id] = {status, word},
    ENVELOPE_REASON_TABLE(X)
#undef X
};

static const char *const statuses[ENVELOPE_STATUSES] = {
#define X(id, word) [id] = word,
    ENVELOPE_STATUS_TABLE(X)
#undef X
};

const char *
envelope_status_word(enum envelope_status status)
{

	return (statuses[status]);
}

enum envelope_status
envelope_reason_status(enum envelope_reason reason)
{

	return (reasons[reason].status);
}

const char *
envelope_reason_word(enum envelope_reason reason)
{

	return (reasons[reason].word);
}

void
envelope_ack_set(struct envelope_ack *ret, const struct uuid *event_id,
    enum envelope_reason reason)
{
	const char *word = envelope_reason_word(reason);

	memset(ret, 0, sizeof(*ret));
	ret->event_id = *event_id;
	ret->status = envelope_reason_status(reason);
	envelope_ack_reason_set(ret, word, strlen(word));
}

void
envelope_ack_reason_set(struct envelope_ack *ack, const char *text, size_t n)
{
	size_t i, len = 0;

	for (i = 0; i < n && len < ENVELOPE_REASON_LEN; i++) {
		/* Skip the second and later bytes of a character: its first
		 * byte became the '?' of the whole character. */
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue;
		ack->reason[len++] =
		    (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?';
	}
	ack->reason[len] = '\0';
}

bool
envelope_epoch_valid(const char *text, size_t n)
{
	size_t i;

	if (n < 1 || n > ENVELOPE_EPOCH_LEN)
		return (false);
	for (i = 0; i < n; i++) {
		if (text[i] != '-' && (text[i] < '0' || text[i] > '9') &&
		    (text[i] < 'A' || text[i] > 'Z') &&
		    (text[i] < 'a' || text[i] > 'z'))
			return (false);
	}
	return (true);
}
