/* SPDX-License-Identifier: MIT */
/*
 * The bell of the commands chat and tail.  The sender's name and the text of a
 * message pass through safe_line() (lib/safe.h), so that none of their bytes
 * can end the escape sequence that contains them.
 */
#include "cli/bell.h"

#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "cli/cli.h"
#include "lib/safe.h"

#define SILENT_MS 1000
/* A notification has room for about this much text. */
#define TEXT_SIZE 120

void
bell_init(struct bell *bell, const struct cli *cli)
{
	const char *wanted = getenv("TWINBOX_BELL");

	bell->on = cli->terminal && !cli->json &&
		   (args_has(&cli->args, "bell") ||
		       (wanted != NULL && strcmp(wanted, "1") == 0));
	bell->next_ms = 0;
}

/* Returns string member ${name} of ${json}, or "" if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return (text != NULL ? text : "");
}

void
bell_ring(struct bell *bell, const json_t *message)
{
	const char *from = text_of(message, "from");
	const char *body = text_of(message, "body");
	int64_t now_ms = clk_mono_ms(clk_system());
	char name[80], text[TEXT_SIZE];
	struct buf b = BUF_INIT;
	struct fail ignored;

	if (!bell->on || now_ms < bell->next_ms ||
	    strcmp(text_of(message, "kind"), "message") != 0 ||
	    json_is_true(json_object_get(message, "own")))
		return;
	bell->next_ms = now_ms + SILENT_MS;
	safe_line(from, strlen(from), name, sizeof(name));
	safe_line(body, strlen(body), text, sizeof(text));
	buf_addf(&b, "\a\033]9;%s: %s\033\\", name, text);
	/* Ignore the failure: the next ordinary output reports a lost
	 * terminal. */
	if (cli_print(&b, &ignored) != RC_OK)
		bell->on = false;
}
