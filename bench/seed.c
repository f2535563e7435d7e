/* SPDX-License-Identifier: MIT */
/*
 * seed: writes users u0, u1 … with one device each straight into the database
 * of a stopped server, and their tokens into a file.  Registering 15,000 users
 * through the API would run argon2 30,000 times, for some 25 minutes, and would
 * measure nothing.  These users have no password and cannot log in.
 *
 * With --pile it also, or only, writes messages to another server (pile.h), in
 * numbers that would take too long to send.  Messages to this server's inboxes
 * are sent by loadgen fill.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "crypt/crypt.h"
#include "db/db.h"
#include "schema/sql.h"
#include "store/account.h"

#include "pile.h"
#include "util.h"

static void
must(enum rc rc, const struct err *err)
{

	if (rc != RC_OK)
		bench_die("seed: %s", err->text);
}

static void
add_user(struct db *db, struct uuid_gen *ids, int i, FILE *tokens)
{
	struct store_device device = {.name = "bench"};
	struct store_user user = {.user_id = 0};
	uint8_t hash[CRYPT_HASH_SIZE];
	char token[CRYPT_TOKEN_LEN + 1];
	struct err err = ERR_INIT;
	int64_t id;

	snprintf(user.name, sizeof(user.name), "u%d", i);
	device.created_at = clk_wall_ms(clk_system());
	must(store_user_insert(
		 db, &user, device.created_at, &device.user_id, &err),
	    &err);
	crypt_token_new(rnd_system(), token, hash);
	device.public_id = uuid_gen_next(ids);
	must(store_device_insert(db, &device, hash, &id, &err), &err);
	fprintf(tokens, "%s %s\n", user.name, token);
}

struct wishes {
	const char *path, *tokens;
	int users, first;
	struct pile pile;
};

static void
add_users(struct db *db, const struct wishes *w)
{
	struct err err = ERR_INIT;
	struct uuid_gen ids;
	FILE *f;

	f = fopen(w->tokens, "ae");
	if (f == NULL)
		bench_die("%s: %s", w->tokens, strerror(errno));
	uuid_gen_init(&ids, clk_system(), rnd_system());
	must(db_begin(db, &err), &err);
	for (int i = w->first; i < w->first + w->users; i++)
		add_user(db, &ids, i, f);
	must(db_commit(db, &err), &err);
	if (fclose(f) != 0)
		bench_die("%s: %s", w->tokens, strerror(errno));
}

static void
seed(const struct wishes *w)
{
	struct db_options options = {.mode = DB_WRITER,
	    .sync = DB_SYNC_FULL,
	    .schema = &sql_sqlite_schema};
	struct db_checkpoint seen;
	struct err err = ERR_INIT;
	char url[1024];
	struct db *db;
	int from, to;

	snprintf(url, sizeof(url), "sqlite:%s", w->path);
	options.url = url;
	must(crypt_init(&err), &err);
	must(db_open(&options, &db, &err), &err);
	must(db_migrate(db, clk_wall_ms(clk_system()), &from, &to, &err), &err);
	if (w->users > 0)
		add_users(db, w);
	if (w->pile.messages > 0)
		pile_write(db, &w->pile);
	must(db_checkpoint(db, true, &seen, &err), &err);
	db_close(db);
}

/* Sets option ${key}.  Returns false if it is unknown. */
static bool
take_option(struct wishes *w, int key)
{

	if (key == 'd')
		w->path = optarg;
	else if (key == 't')
		w->tokens = optarg;
	else if (key == 'u')
		w->users = (int)bench_number("--users", optarg, 1);
	else if (key == 'f')
		w->first = (int)bench_number("--first-user", optarg, 0);
	else if (key == 'p')
		w->pile.messages = bench_number("--pile", optarg, 1);
	else if (key == 'l')
		w->pile.lanes = (int)bench_number("--lanes", optarg, 1);
	else if (key == 's')
		w->pile.senders = (int)bench_number("--senders", optarg, 1);
	else if (key == 'D')
		w->pile.domain = optarg;
	else if (key == 'S')
		w->pile.settled = true;
	else
		return (false);
	return (true);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"db", required_argument, NULL, 'd'},
	    {"tokens", required_argument, NULL, 't'},
	    {"users", required_argument, NULL, 'u'},
	    {"first-user", required_argument, NULL, 'f'},
	    {"pile", required_argument, NULL, 'p'},
	    {"lanes", required_argument, NULL, 'l'},
	    {"senders", required_argument, NULL, 's'},
	    {"domain", required_argument, NULL, 'D'},
	    {"settled", no_argument, NULL, 'S'},
	    {NULL, 0, NULL, 0},
	};
	struct wishes w = {
	    .pile = {
		.domain = "gone.fault.test", .lanes = 10000, .senders = 1000}};
	bool good = true;
	int key;

	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1)
		good = good && take_option(&w, key);
	if (!good || w.path == NULL || optind < argc ||
	    (w.users > 0) != (w.tokens != NULL) ||
	    (w.users == 0 && w.pile.messages == 0)) {
		fputs("usage: seed --db FILE [--tokens FILE --users N"
		      " [--first-user N]]\n"
		      "    [--pile MESSAGES [--lanes N] [--senders N]"
		      " [--domain NAME] [--settled]]\n",
		    stderr);
		return (64);
	}
	seed(&w);
	return (0);
}
