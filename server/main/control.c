/* SPDX-License-Identifier: MIT */
/*
 * The control socket, DATA/control (DATA is the data directory).  The server
 * that holds the lock of the data directory listens there.  A command such as
 * `twinboxd user add` that finds the lock held sends its operation to that
 * server, because only the server may write to an SQLite database.  A
 * connection carries one request and one answer, each a line of JSON of at most
 * LINE_MAX_LEN bytes with its newline; the server serves one connection at a
 * time.  Each side gives up when the other has neither sent nor taken a byte
 * for PATIENCE_S seconds.  The socket has mode 0600, and nothing else is
 * checked: a program that may open it may send commands.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/container.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "log/log.h"
#include "main/main_internal.h"
#include "wire/json.h"
#include "wire/wire.h"

#define LINE_MAX_LEN 4096
#define PATIENCE_S 5
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct control {
	int dir_fd;
	int listen_fd;
	int wake_fd;
	struct writer *writer;
	struct readers *readers;
	struct thr *thr;
};

/* Returns the address of the socket DATA/control as a path through ${dir_fd},
 * the descriptor of the data directory, because the path of the directory may
 * be longer than a socket address allows.  ${dir_fd} must be open while the
 * address is used. */
static struct sockaddr_un
control_address(int dir_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path),
	    "/proc/self/fd/%d/control", dir_fd);
	return (addr);
}

static void
set_patience(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* Reads a line from ${fd} into ${line}, a buffer of LINE_MAX_LEN bytes.
 * Returns the length of the line without its newline; no NUL is added, and
 * bytes after the newline are lost.  Returns -1 if the input ends before a
 * newline, on an error or a time-out, or if the line with its newline is longer
 * than the buffer. */
static ssize_t
read_line(int fd, char *line)
{
	size_t n = 0;
	ssize_t got;
	char *end;

	while (n < LINE_MAX_LEN) {
		got = recv(fd, line + n, LINE_MAX_LEN - n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (-1);
		end = memchr(line + n, '\n', (size_t)got);
		n += (size_t)got;
		if (end != NULL)
			return (end - line);
	}
	return (-1);
}

static bool
write_all(int fd, const struct buf *b)
{
	size_t done = 0;
	ssize_t n;

	if (!buf_ok(b))
		return (false);
	while (done < b->len) {
		n = send(fd, b->data + done, b->len - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (false);
		done += (size_t)n;
	}
	return (true);
}

/* ---- the server's side ---- */

/* A request on the control socket.  The control thread waits while a reader
 * thread prepares the operation and the writer thread commits it. */
struct control_request {
	struct control *control;
	struct operation operation;
	struct read_job job;
	struct lock lock;
	pthread_cond_t cond;
	bool done;
	struct err err;
};

static void
control_request_done(struct control_request *c)
{

	lock_take(&c->lock);
	c->done = true;
	(void)pthread_cond_signal(&c->cond);
	lock_drop(&c->lock);
}

/* Thread: sync or writer. */
static void
call_finish(struct unit *unit)
{
	struct control_request *c = operation_of(unit)->arg;

	(void)!operation_result(&c->operation, &c->err);
	control_request_done(c);
}

/* Thread: reader. */
static void
call_read(struct read_job *job, struct db *db, struct err *err)
{
	struct control_request *c =
	    CONTAINER_OF(job, struct control_request, job);
	enum rc rc;

	if (db == NULL) {
		c->err = *err;
		control_request_done(c);
		return;
	}
	rc = operation_prepare(&c->operation, db, call_finish, &c->err);
	if (rc == RC_OK) {
		c->operation.arg = c;
		rc = writer_submit(c->control->writer, &c->operation.work.unit);
		if (rc == RC_OK)
			return;
		(void)err_set(&c->err, rc, "the server takes nothing now");
	}
	control_request_done(c);
}

static enum rc
control_request_run(struct control_request *c)
{
	enum rc rc;

	lock_init(&c->lock, LOCK_CONTROL);
	lock_cond_init(&c->cond);
	c->job.run = call_read;
	rc = readers_submit(c->control->readers, &c->job);
	if (rc == RC_OK) {
		lock_take(&c->lock);
		while (!c->done)
			lock_wait(&c->lock, &c->cond);
		lock_drop(&c->lock);
	} else {
		(void)err_set(&c->err, rc, "the server takes nothing now");
	}
	(void)pthread_cond_destroy(&c->cond);
	lock_fini(&c->lock);
	return (c->err.rc);
}

/* Writes the answer to ${c}, one line. */
static void
write_answer(const struct control_request *c, struct buf *b)
{

	buf_addc(b, '{');
	jw_bool(b, "ok", c->err.rc == RC_OK);
	jw_int(b, "rc", c->err.rc);
	jw_str(b, "error", c->err.rc == RC_OK ? NULL : c->err.text);
	if (c->err.rc == RC_OK && c->operation.text[0] != '\0')
		jw_str(b, "text", c->operation.text);
	buf_adds(b, "}\n");
}

static void
serve(struct control *control, int fd)
{
	char line[LINE_MAX_LEN];
	struct control_request c = {.control = control, .err = ERR_INIT};
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct buf b = BUF_INIT;
	ssize_t n;

	operation_init(&c.operation, OPERATIONS);
	set_patience(fd);
	if ((n = read_line(fd, line)) < 0)
		return;
	if (wire_parse(line, (size_t)n, &doc, &r) != RC_OK) {
		(void)err_set(&c.err, RC_INVALID, "%s", r.detail);
	} else {
		if (operation_read(doc.root, &c.operation, &c.err) == RC_OK)
			(void)control_request_run(&c);
		wire_doc_fini(&doc);
	}
	log_event(LOG_EV_CONTROL_CALL, "command=%s about=%s result=%s",
	    operation_name(&c.operation), operation_about(&c.operation),
	    rc_text(c.err.rc));
	write_answer(&c, &b);
	(void)write_all(fd, &b);
	buf_fini(&b);
	operation_fini(&c.operation);
}

static void
control_main(void *arg)
{
	struct control *control = arg;
	struct pollfd fds[2] = {{.fd = control->listen_fd, .events = POLLIN},
	    {.fd = control->wake_fd, .events = POLLIN}};
	int fd;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[1].revents != 0)
			return;
		if (fds[0].revents == 0)
			continue;
		fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve(control, fd);
		(void)close(fd);
	}
}

enum rc
control_start(const struct data *data, struct writer *writer,
    struct readers *readers, struct control **ret, struct err *err)
{
	struct sockaddr_un addr = control_address(data->dir_fd);
	struct control *control;

	if ((control = mem_zalloc(1, sizeof(*control))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "control"));
	control->dir_fd = data->dir_fd;
	control->writer = writer;
	control->readers = readers;
	control->wake_fd = eventfd(0, EFD_CLOEXEC);
	control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Remove the socket that a killed server has left.  No running server
	 * listens on it, because this process holds the lock of the data
	 * directory. */
	(void)unlinkat(data->dir_fd, "control", 0);
	if (control->wake_fd < 0 || control->listen_fd < 0 ||
	    bind(control->listen_fd, (const struct sockaddr *)(void *)&addr,
		sizeof(addr)) != 0 ||
	    fchmodat(data->dir_fd, "control", 0600, 0) != 0 ||
	    listen(control->listen_fd, 8) != 0) {
		(void)err_set_sys(err, rc_of_opening(errno), errno,
		    "control socket in %s", data->dir);
		control_stop(control);
		return (err->rc);
	}
	if (thr_start(THR_CONTROL, 0, control_main, control, &control->thr,
		err) != RC_OK) {
		control_stop(control);
		return (err->rc);
	}
	*ret = control;
	return (RC_OK);
}

void
control_stop(struct control *control)
{
	const uint64_t one = 1;

	if (control == NULL)
		return;
	if (control->wake_fd >= 0) {
		(void)!write(control->wake_fd, &one, sizeof(one));
		thr_join(&control->thr);
		(void)close(control->wake_fd);
	}
	if (control->listen_fd >= 0) {
		(void)close(control->listen_fd);
		(void)unlinkat(control->dir_fd, "control", 0);
	}
	mem_free(control);
}

/* ---- the command's side ---- */

/* Reads the answer into ${o} and ${err}. */
static enum rc
read_answer(const char *line, size_t n, struct operation *o, struct err *err)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct span error = {NULL, 0}, text = {NULL, 0};
	int64_t rc = RC_INTERNAL;
	bool ok = false;
	const struct wire_field fields[] = {
	    {.name = "ok", .type = WIRE_BOOL, .required = true, .ret = &ok},
	    {.name = "rc", .type = WIRE_I64, .required = true, .ret = &rc},
	    {.name = "error", .type = WIRE_SPAN, .ret = &error},
	    {.name = "text", .type = WIRE_SPAN, .ret = &text}};

	if (wire_parse(line, n, &doc, &r) != RC_OK)
		return (
		    err_set(err, RC_PEER, "the server's answer: %s", r.detail));
	if (wire_object(doc.root, "", fields, COUNT(fields), &r) != RC_OK)
		(void)err_set(
		    err, RC_PEER, "the server's answer: %s", r.detail);
	else if (!ok)
		(void)err_set(err,
		    rc > RC_OK && rc < RC_COUNT ? (enum rc)rc : RC_PEER, "%.*s",
		    (int)error.n, error.n > 0 ? error.p : "");
	else
		(void)snprintf(o->text, sizeof(o->text), "%.*s", (int)text.n,
		    text.n > 0 ? text.p : "");
	wire_doc_fini(&doc);
	return (err->rc);
}

enum rc
control_call(const struct data *data, struct operation *o, struct err *err)
{
	struct sockaddr_un addr = control_address(data->dir_fd);
	char line[LINE_MAX_LEN];
	struct buf b = BUF_INIT;
	ssize_t n = -1;
	int fd;

	*err = (struct err)ERR_INIT;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)(void *)&addr,
			  sizeof(addr)) != 0) {
		(void)err_set_sys(err, RC_PEER, errno,
		    "a server holds %s but does not answer at its control "
		    "socket",
		    data->dir);
	} else {
		set_patience(fd);
		operation_write(o, &b);
		buf_addc(&b, '\n');
		if (write_all(fd, &b) && (n = read_line(fd, line)) >= 0)
			(void)read_answer(line, (size_t)n, o, err);
		else
			(void)err_set(err, RC_UNCERTAIN,
			    "the server did not answer in time");
		buf_fini(&b);
	}
	if (fd >= 0)
		(void)close(fd);
	return (err->rc);
}
