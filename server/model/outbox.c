/* SPDX-License-Identifier: MIT */
/*
 * The lifecycle of outbox rows, as the tables in outbox.h define it.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "model/outbox.h"

static const struct {
	const char *name;
	bool terminal;
} states[OUTBOX_STATE_COUNT] = {
#define X(id, name, terminal) {name, terminal},
    OUTBOX_STATE_TABLE(X)
#undef X
};

static const struct {
	int from;
	int to;
} moves[] = {
#define X(from, to, why) {from, to},
    OUTBOX_MOVE_TABLE(X)
#undef X
};

const char *
outbox_state_name(int state)
{

	if (state < 0 || state >= OUTBOX_STATE_COUNT)
		return (NULL);
	return (states[state].name);
}

int
outbox_state_parse(const char *name)
{
	int i;

	for (i = 0; i < OUTBOX_STATE_COUNT; i++) {
		if (strcmp(states[i].name, name) == 0)
			return (i);
	}
	return (-1);
}

bool
outbox_state_terminal(int state)
{

	assert(state >= 0 && state < OUTBOX_STATE_COUNT);
	return (states[state].terminal);
}

bool
outbox_move_allowed(int from, int to)
{
	size_t i;

	for (i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (moves[i].from == from && moves[i].to == to)
			return (true);
	}
	return (false);
}

static const struct {
	const char *word;
	const char *text;
} reasons[OUTBOX_REASONS] = {
#define X(id, word, sentence) {word, sentence},
    OUTBOX_REASON_TABLE(X)
#undef X
};

const char *
outbox_reason_word(enum outbox_reason reason)
{

	return (reasons[reason].word);
}

const char *
outbox_reason_text(enum outbox_reason reason)
{

	return (reasons[reason].text);
}

int
outbox_reason_parse(const char *word)
{
	int i;

	for (i = 0; i < OUTBOX_REASONS; i++)
		if (strcmp(reasons[i].word, word) == 0)
			return (i);
	return (-1);
}

void
outbox_bounce_view(struct event_view *ret, int reason)
{

	if (reason < 0 || reason >= OUTBOX_REASONS)
		reason = REASON_REJECTED;
	ret->state = reason == REASON_EXPIRED ? OUTBOX_EXPIRED : OUTBOX_FAILED;
	ret->reason = reasons[reason].text;
}

/* The numbers of enum outbox_state are in order of progress; failed, expired
 * and canceled, the three states without delivery, come last, in this order.
 * So the smallest number of a destination is the state of the entry. */
int
outbox_entry_state(const int *destination_states, int n)
{
	int i, least;

	assert(n >= 1);
	least = destination_states[0];
	for (i = 1; i < n; i++) {
		if (destination_states[i] < least)
			least = destination_states[i];
	}
	assert(least >= 0 && least < OUTBOX_STATE_COUNT);
	return (least);
}
