/* SPDX-License-Identifier: MIT */
/*
 * A receipt names a message by its number in the conversation; people see the
 * numbers of the inbox.  From one to the other: what was shown now, and what
 * this computer has seen before, read once when the first receipt is shown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* As many as the client's database keeps.  A tail that has shown more forgets
 * all, and reads the newest again. */
#define NUMBERS_MAX 20000

#define KEY_SIZE (UUID_TEXT_LEN + 1 + 20 + 1)

/* Writes the key of message ${n} of ${conversation}. */
static void
write_key(const char *conversation, int64_t n, char ret[KEY_SIZE])
{

	(void)snprintf(
	    ret, KEY_SIZE, "%.*s:%" PRId64, UUID_TEXT_LEN, conversation, n);
}

/* Adds the numbers of ${event}, if it is a message; those of a ${newer} one
 * replace what is there, which another history of the server has given. */
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

/* The number of an older event that was not shown now; for local_history(),
 * which is to keep nothing and begins with the newest. */
static bool
add_seen(const json_t *event, void *arg)
{

	add(arg, event, false);
	return (false);
}

/* Key of the mark that what this computer has seen was read. */
#define SEEN ""

/* Reads what this computer has seen, once. */
static void
read_seen(struct cli *cli)
{
	struct fail ignored = FAIL_INIT;
	json_t *none;

	if (json_object_get(cli->numbers, SEEN) != NULL ||
	    cli_local(cli, &ignored) != RC_OK)
		return;
	(void)json_object_set_new(cli->numbers, SEEN, json_true());
	if (local_history(cli->local, add_seen, cli->numbers, 1, &none) ==
	    RC_OK)
		json_decref(none);
}

/* The look's function. */
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
