/* SPDX-License-Identifier: MIT */
/*
 * The control socket.  Only who may enter the data directory reaches it.
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thr.h"
#include "crypt/crypt.h"
#include "main/control.h"
#include "main/core_internal.h"
#include "wire/json.h"
#include "wire/wire.h"

#define LINE_MAX_BYTES 8192
/* A caller that says nothing is cut. */
#define CALL_TIMEOUT_S 10

struct control {
	struct core *core;
	struct thr *thread;
	int fd;
	atomic_bool stopping;
	char path[CONFIG_TEXT_SIZE + 16];
};

static enum rc
make_address(const char *data, struct sockaddr_un *ret, struct err *err)
{
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/control", data);
	if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
		return (err_set(err, RC_INVALID,
		    "the path of the data directory is too long for a socket "
		    "(%zu bytes at most)",
		    sizeof(ret->sun_path) - sizeof("/control")));
	return (RC_OK);
}

static void
set_timeouts(int fd)
{
	struct timeval tv = {.tv_sec = CALL_TIMEOUT_S, .tv_usec = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

/* Reads up to a newline.  Returns its length without it, -1 on failure. */
static ssize_t
read_line(int fd, char *line, size_t size)
{
	size_t n;
	ssize_t k;

	for (n = 0; n < size; n += (size_t)k) {
		k = recv(fd, line + n, size - n, 0);
		if (k <= 0)
			return (-1);
		if (memchr(line + n, '\n', (size_t)k) != NULL)
			return ((char *)memchr(line, '\n', n + (size_t)k) -
			    line);
	}
	return (-1);
}

static bool
write_all(int fd, const struct buf *b)
{
	size_t n;
	ssize_t k;

	for (n = 0; n < b->len; n += (size_t)k) {
		k = send(fd, b->data + n, b->len - n, MSG_NOSIGNAL);
		if (k <= 0)
			return (false);
	}
	return (buf_ok(b));
}

/* ---- commands ---- */

enum rc
control_run(struct core *core, const char *command, const char *name,
    const char *password, bool admin, struct err *err)
{

	if (strcmp(command, "user add") == 0)
		return (core_user_add(core, name, password, admin, err));
	if (strcmp(command, "user passwd") == 0)
		return (core_user_passwd(core, name, password, err));
	if (strcmp(command, "user disable") == 0)
		return (core_user_disable(core, name, err));
	return (err_set(err, RC_INVALID, "unknown command \"%s\"", command));
}

/* A NUL-terminated copy of a span that a string of JSON gave. */
static void
copy(struct span s, char *ret, size_t size)
{

	(void)snprintf(ret, size, "%.*s", (int)s.n, s.p != NULL ? s.p : "");
}

static enum rc
serve_line(struct core *core, const char *line, size_t n, struct err *err)
{
	char command_text[32], name_text[LIMIT_NAME_LEN + 1];
	char password_text[LIMIT_PASSWORD_LEN + 1];
	struct span command = {0}, name = {0}, password = {0};
	struct refusal refusal = REFUSAL_INIT;
	struct wire_doc doc;
	bool admin = false;
	enum rc rc;
	const struct wire_field fields[] = {
	    {.name = "command", .type = WIRE_SPAN, .required = true,
	        .min_len = 1, .max_len = 31, .ret = &command},
	    {.name = "name", .type = WIRE_SPAN, .max_len = LIMIT_NAME_LEN,
	        .ret = &name},
	    {.name = "password", .type = WIRE_SPAN,
	        .max_len = LIMIT_PASSWORD_LEN, .ret = &password},
	    {.name = "admin", .type = WIRE_BOOL, .ret = &admin},
	};

	rc = wire_parse(line, n, &doc, &refusal);
	if (rc != RC_OK)
		return (err_set(err, rc, "%s", refusal.detail));
	rc = wire_object(doc.root, "", fields,
	    sizeof(fields) / sizeof(fields[0]), &refusal);
	if (rc == RC_OK) {
		copy(command, command_text, sizeof(command_text));
		copy(name, name_text, sizeof(name_text));
		copy(password, password_text, sizeof(password_text));
		log_event(LOG_EV_CONTROL_CALL, "command=%s user=%s",
		    command_text, name_text);
		rc = control_run(core, command_text, name_text, password_text,
		    admin, err);
		crypt_wipe(password_text, sizeof(password_text));
	} else {
		rc = err_set(err, rc, "%s", refusal.detail);
	}
	wire_doc_fini(&doc);
	return (rc);
}

static void
serve(struct control *c, int fd)
{
	char line[LINE_MAX_BYTES];
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	ssize_t n;
	enum rc rc;

	set_timeouts(fd);
	n = read_line(fd, line, sizeof(line));
	if (n < 0)
		return;
	rc = serve_line(c->core, line, (size_t)n, &err);
	crypt_wipe(line, sizeof(line));
	buf_addc(&b, '{');
	jw_bool(&b, "ok", rc == RC_OK);
	if (rc != RC_OK) {
		jw_int(&b, "rc", rc);
		jw_str(&b, "error", err.text);
	}
	buf_adds(&b, "}\n");
	(void)write_all(fd, &b);
	buf_fini(&b);
}

static void
loop(void *arg)
{
	struct control *c = arg;
	struct pollfd pfd = {.fd = c->fd, .events = POLLIN, .revents = 0};
	int fd;

	while (!atomic_load(&c->stopping)) {
		if (poll(&pfd, 1, 200) <= 0)
			continue;
		fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(c, fd);
		(void)close(fd);
	}
}

enum rc
control_start(struct core *core, struct control **ret, struct err *err)
{
	struct sockaddr_un address;
	struct control *c;
	enum rc rc;

	c = mem_zalloc(1, sizeof(*c));
	if (c == NULL)
		return (err_set(err, RC_NO_MEMORY, "control"));
	c->core = core;
	c->fd = -1;
	rc = make_address(core->config->data, &address, err);
	if (rc != RC_OK)
		goto undo;
	(void)snprintf(c->path, sizeof(c->path), "%s", address.sun_path);
	/* We hold the lock: a socket that is there is a leftover. */
	(void)unlink(c->path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 ||
	    bind(c->fd, (struct sockaddr *)(void *)&address,
	        sizeof(address)) != 0 ||
	    chmod(c->path, 0600) != 0 || listen(c->fd, 8) != 0) {
		rc = err_set_sys(err, RC_IO, errno, "%s", c->path);
		goto undo;
	}
	rc = thr_start(THR_CONTROL, 0, loop, c, &c->thread, err);
	if (rc != RC_OK)
		goto undo;
	*ret = c;
	return (RC_OK);

undo:
	control_stop(c);
	return (rc);
}

void
control_stop(struct control *c)
{

	if (c == NULL)
		return;
	atomic_store(&c->stopping, true);
	thr_join(&c->thread);
	if (c->fd >= 0) {
		(void)close(c->fd);
		(void)unlink(c->path);
	}
	mem_free(c);
}

/* ---- the caller's side ---- */

static enum rc
read_answer(const char *line, size_t n, struct err *err)
{
	struct refusal refusal = REFUSAL_INIT;
	struct span error = {0};
	struct wire_doc doc;
	int64_t code = RC_INTERNAL;
	bool ok = false;
	enum rc rc;
	const struct wire_field fields[] = {
	    {.name = "ok", .type = WIRE_BOOL, .required = true, .ret = &ok},
	    {.name = "rc", .type = WIRE_I64, .max = RC_COUNT - 1,
	        .ret = &code},
	    {.name = "error", .type = WIRE_SPAN, .ret = &error},
	};

	rc = wire_parse(line, n, &doc, &refusal);
	if (rc != RC_OK)
		return (err_set(err, RC_PEER, "the server's answer: %s",
		    refusal.detail));
	rc = wire_object(doc.root, "", fields,
	    sizeof(fields) / sizeof(fields[0]), &refusal);
	if (rc != RC_OK)
		rc = err_set(
		    err, RC_PEER, "the server's answer: %s", refusal.detail);
	else if (!ok)
		rc = err_set(
		    err, (enum rc)code, "%.*s", (int)error.n, error.p);
	wire_doc_fini(&doc);
	return (rc);
}

enum rc
control_call(const char *data, const char *command, const char *name,
    const char *password, bool admin, struct err *err)
{
	struct sockaddr_un address;
	char line[LINE_MAX_BYTES];
	struct buf b = BUF_INIT;
	ssize_t n;
	enum rc rc;
	int fd;

	rc = make_address(data, &address, err);
	if (rc != RC_OK)
		return (rc);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return (err_set_sys(err, RC_IO, errno, "socket"));
	if (connect(fd, (struct sockaddr *)(void *)&address,
	        sizeof(address)) != 0) {
		rc = err_set_sys(err, RC_CLOSED, errno,
		    "a server holds the lock of %s but does not answer at "
		    "its control socket",
		    data);
		goto undo_socket;
	}
	set_timeouts(fd);
	buf_addc(&b, '{');
	jw_str(&b, "command", command);
	jw_str(&b, "name", name);
	jw_str(&b, "password", password);
	jw_bool(&b, "admin", admin);
	buf_adds(&b, "}\n");
	n = write_all(fd, &b) ? read_line(fd, line, sizeof(line)) : -1;
	if (n < 0)
		rc = err_set(err, RC_UNCERTAIN,
		    "the server did not answer: it may or may not be done");
	else
		rc = read_answer(line, (size_t)n, err);
	buf_fini(&b);

undo_socket:
	(void)close(fd);
	return (rc);
}
