/* SPDX-License-Identifier: MIT */
/*
 * Maps a message's number in its conversation, which a receipt has, to its
 * number in the inbox, which people see.  The map is filled with the messages
 * shown by this command and, when the first receipt is shown, with those that
 * this computer has seen before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* If the map has more than NUMBERS_MAX entries, it is emptied before the next
 * event is shown; the next receipt fills it again from the client's database.
 * NUMBERS_MAX is the number of events to which the database is reduced when it
 * is opened, so the refilled map seldom exceeds it. */
#define NUMBERS_MAX 20000

#define KEY_SIZE (UUID_TEXT_LEN + 1 + 20 + 1)

/* Writes the key of message ${n} of ${conversation}. */
static void
write_key(const char *conversation, int64_t n, char ret[KEY_SIZE])
{

	(void)snprintf(
	    ret, KEY_SIZE, "%.*s:%" PRId64, UUID_TEXT_LEN, conversation, n);
}

/* Adds the numbers of ${event} to the map, if it is a message.  If the map has
 * an inbox number for the same message already: with ${newer}, replaces that
 * number, which may be from before a restore of the server; otherwise keeps
 * it. */
static void
add(json_t *numbers, const json_t *event, bool newer)
{
	const char *kind = json_string_value(json_object_get(event, "kind"));
	const char *conversation =
	    json_string_value(json_object_get(event, "conversation"));
	char key[KEY_SIZE];

	if (kind == NULL || strcmp(kind, "message") != 0 ||
	    conversation == NULL)
		return;
	write_key(conversation,
	    json_integer_value(json_object_get(event, "conversation_seq")),
	    key);
	if (newer || json_object_get(numbers, key) == NULL)
		(void)json_object_set(
		    numbers, key, json_object_get(event, "seq"));
}

/* Adds the numbers of ${event}, which was shown earlier.  Called as the filter
 * of local_history() for each stored event, the newest first; returns false,
 * because no event is to be collected. */
static bool
add_seen(const json_t *event, void *arg)
{

	add(arg, event, false);
	return (false);
}

/* A key that records that read_seen() has run. */
#define SEEN ""

/* Reads the events that this computer has seen, once. */
static void
read_seen(struct cli *cli)
{
	struct fail ignored = FAIL_INIT;
	json_t *none;

	if (json_object_get(cli->numbers, SEEN) != NULL ||
	    cli_local(cli, &ignored) != RC_OK)
		return;
	(void)json_object_set_new(cli->numbers, SEEN, json_true());
	if (local_history(cli->local, add_seen, cli->numbers, 1, &none,
		&ignored) == RC_OK)
		json_decref(none);
}

/* The seq_of function of struct look. */
static int64_t
seq_of(void *arg, const char *conversation, int64_t n)
{
	const struct cli *cli = arg;
	char key[KEY_SIZE];

	write_key(conversation, n, key);
	return (json_integer_value(json_object_get(cli->numbers, key)));
}

void
cli_event_add(struct cli *cli, struct buf *b, const json_t *event)
{

	if (json_object_size(cli->numbers) > NUMBERS_MAX) {
		json_decref(cli->numbers);
		cli->numbers = NULL;
	}
	if (cli->numbers == NULL)
		cli->numbers = json_object();
	if (json_object_get(event, "upto") != NULL)
		read_seen(cli);
	cli->look.seq_of = seq_of;
	cli->look.seq_arg = cli;
	render_event(b, &cli->look, event);
	add(cli->numbers, event, true);
}
