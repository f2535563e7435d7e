/* SPDX-License-Identifier: MIT */
/*
 * complete: prints the names of the people with whom this account has exchanged
 * messages on this computer, or the names of the profiles, one a line, for the
 * completions of shells.  It runs while a person types, so it sends no request.
 */
#include <string.h>

#include "cli/cli.h"

/* Returns the people that this account has exchanged messages with here. */
static enum rc
list_names(struct cli *cli, json_t **ret, struct fail *fail)
{

	if (cli->profile.token[0] == '\0') {
		*ret = json_array();
		return (RC_OK);
	}
	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	return (local_names(cli->local, ret, fail));
}

/* Returns true if ${word} is safe to offer.  A server could name a person
 * anything, and bash expands the offered words; so only the characters of
 * addresses are allowed, and no '-' at the beginning, as in an option. */
static bool
is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789._-@";

	return (word[0] != '\0' && word[0] != '-' &&
		word[strspn(word, plain)] == '\0');
}

enum rc
cmd_complete(struct cli *cli, struct fail *fail)
{
	const char *what = cli->args.operands[0];
	struct buf b = BUF_INIT;
	const char *word;
	json_t *words;
	size_t i;

	if (strcmp(what, "names") == 0) {
		if (list_names(cli, &words, fail) != RC_OK)
			return (fail->rc);
	} else if (strcmp(what, "profiles") == 0) {
		if (profile_names(&words, fail) != RC_OK)
			return (fail->rc);
	} else
		return (fail_set(fail, FAIL_USAGE,
		    "complete takes \"names\" or \"profiles\""));
	for (i = 0; i < json_array_size(words); i++) {
		word = json_string_value(json_array_get(words, i));
		/* The user's own name is not a useful recipient. */
		if (!is_plain(word) ||
		    (strcmp(what, "names") == 0 &&
			strcmp(word, cli->profile.user) == 0))
			continue;
		buf_adds(&b, word);
		buf_addc(&b, '\n');
	}
	json_decref(words);
	return (cli_print(&b, fail));
}
