/* SPDX-License-Identifier: MIT */
/*
 * seed: users u0, u1 … with a device each, written straight into a stopped
 * server's database, and their tokens into a file.  Registering 15,000 users
 * would be 30,000 times argon2, some 25 minutes, and would measure nothing.
 * The users have no password and cannot log in.  Messages are not made here:
 * loadgen fill sends them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "crypt/crypt.h"
#include "db/db.h"
#include "schema/sql.h"
#include "store/account.h"

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

static void
seed(const char *path, const char *tokens_path, int first, int users)
{
	struct db_options options = {.mode = DB_WRITER,
	    .sync = DB_SYNC_FULL,
	    .schema = &sql_sqlite_schema};
	struct db_checkpoint seen;
	struct err err = ERR_INIT;
	struct uuid_gen ids;
	char url[1024];
	struct db *db;
	int from, to;
	FILE *f;

	snprintf(url, sizeof(url), "sqlite:%s", path);
	options.url = url;
	f = fopen(tokens_path, "ae");
	if (f == NULL)
		bench_die("%s: %s", tokens_path, strerror(errno));
	uuid_gen_init(&ids, clk_system(), rnd_system());
	must(crypt_init(&err), &err);
	must(db_open(&options, &db, &err), &err);
	must(db_migrate(db, clk_wall_ms(clk_system()), &from, &to, &err), &err);
	must(db_begin(db, &err), &err);
	for (int i = first; i < first + users; i++)
		add_user(db, &ids, i, f);
	must(db_commit(db, &err), &err);
	must(db_checkpoint(db, true, &seen, &err), &err);
	db_close(db);
	if (fclose(f) != 0)
		bench_die("%s: %s", tokens_path, strerror(errno));
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"db", required_argument, NULL, 'd'},
	    {"tokens", required_argument, NULL, 't'},
	    {"users", required_argument, NULL, 'u'},
	    {"first-user", required_argument, NULL, 'f'},
	    {NULL, 0, NULL, 0},
	};
	const char *path = NULL, *tokens = NULL;
	int key, users = 0, first = 0;

	while ((key = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (key == 'd')
			path = optarg;
		else if (key == 't')
			tokens = optarg;
		else if (key == 'u')
			users = (int)bench_number("--users", optarg, 1);
		else if (key == 'f')
			first = (int)bench_number("--first-user", optarg, 0);
		else
			users = -1;
	if (path == NULL || tokens == NULL || users <= 0 || optind < argc) {
		fputs("usage: seed --db FILE --tokens FILE --users N"
		      " [--first-user N]\n",
		    stderr);
		return (64);
	}
	seed(path, tokens, first, users);
	return (0);
}
