/* SPDX-License-Identifier: MIT */
/*
 * Sends lines of any bytes to the control socket, which the real thread serves.
 * The store is replaced by functions of this file.  Claims that every line is
 * answered with one line of JSON, and that only a valid command reaches the
 * store.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "model/message.h"
#include "wire/wire.h"

static struct data data = DATA_INIT;
static char dir[] = "/tmp/fuzz-control-XXXXXX";
static struct control *control;

/* ---- the store ---- */

static int calls;

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{
	struct err err = ERR_INIT;
	static char db;

	(void)readers;
	job->run(job, (struct db *)(void *)&db, &err);
	return (RC_OK);
}

enum rc
store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err)
{

	(void)db;
	(void)err;
	MUST(model_name_valid(name, n));
	memset(ret, 0, sizeof(*ret));
	return (name[0] == 'x' ? RC_NOT_FOUND : RC_OK);
}

void
account_unit_init(struct account_unit *u, enum account_op op)
{

	memset(u, 0, sizeof(*u));
	u->op = op;
}

void
server_keys_unit_init(struct server_keys_unit *u, enum server_keys_op op,
    const char *by, struct rnd *rnd)
{

	(void)by;
	(void)rnd;
	memset(u, 0, sizeof(*u));
	u->op = op;
}

static void
check_user(const struct operation *o)
{
	const struct account_unit *u = &o->work.account;
	const size_t n = strlen(u->user.name);

	MUST(model_name_valid(u->user.name, n));
	MUST(o->id != OPERATION_USER_ADD || model_name_fits(u->user.name, n));
	MUST((o->id == OPERATION_USER_ADD) == (u->op == ACCOUNT_ADD));
	if (u->op == ACCOUNT_ADD || u->op == ACCOUNT_PASSWORD)
		MUST(strncmp(u->user.password_hash, "$argon2id$", 10) == 0);
}

static void
check_key(const struct operation *o)
{
	const char *key_id = o->work.keys.key_id;

	if (o->id == OPERATION_KEYS_ROTATE)
		MUST(key_id[0] == '\0');
	else
		MUST(operation_key_id_valid(key_id, strlen(key_id)));
}

enum rc
writer_submit(struct writer *writer, struct unit *unit)
{
	const struct operation *o = operation_of(unit);

	(void)writer;
	calls++;
	MUST(o->id < OPERATIONS);
	if (o->id <= OPERATION_USER_DEMOTE)
		check_user(o);
	else
		check_key(o);
	unit->finish(unit);
	return (RC_OK);
}

/* ---- the client ---- */

static void
stop(void)
{

	control_stop(control);
	(void)close(data.dir_fd);
	(void)rmdir(dir);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct err err = ERR_INIT;

	(void)argc;
	(void)argv;
	wire_init();
	log_set_level(LVL_ERROR);
	MUST(mkdtemp(dir) != NULL);
	data.dir = dir;
	data.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(data.dir_fd >= 0);
	MUST(control_start(&data, NULL, NULL, &control, &err) == RC_OK);
	(void)atexit(stop);
	return (0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct buf b = BUF_INIT;
	char answer[1024];
	json_t *json;
	ssize_t got;
	size_t n = 0;
	int before = calls, fd;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/control", dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(fd >= 0 &&
	     connect(fd, (struct sockaddr *)(void *)&addr, sizeof(addr)) == 0);
	if (size > 0)
		(void)!send(fd, in, size, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	while ((got = recv(fd, answer + n, sizeof(answer) - n, 0)) > 0)
		n += (size_t)got;
	(void)close(fd);
	MUST(calls - before <= 1);
	if (n == 0) {
		/* The input has no line, or its line is too long: there is no
		 * answer, and no command has run. */
		MUST(calls == before);
		return (0);
	}
	MUST(memchr(in, '\n', size) != NULL);
	MUST(answer[n - 1] == '\n' && memchr(answer, '\n', n - 1) == NULL);
	buf_add(&b, answer, n);
	json = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	MUST(json_is_object(json));
	MUST(json_is_boolean(json_object_get(json, "ok")));
	MUST(!json_is_true(json_object_get(json, "ok")) || calls > before);
	json_decref(json);
	buf_fini(&b);
	return (0);
}
