/* SPDX-License-Identifier: MIT */
/*
 * The ring of the log, the log thread, and the direct way to stderr while this
 * thread does not run.  Owns a byte ring from log_start() to log_stop().
 * Promises that, while the log thread runs, a log call waits for nothing but a
 * lock, which is held while at most one record is copied: only the log thread
 * writes to the descriptor, which may be a full pipe.  Relies on signals being
 * blocked in the log thread (so SIGPIPE does not end the program).
 *
 * Invariants, under the lock:
 *  1. head - tail bytes are in the ring, whole records only;
 *  2. no thread changes the bytes between tail and head, so the log thread
 *     reads them without the lock; only the log thread moves tail.
 */
#include "log/log.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thr.h"
#include "log/log_internal.h"

#define RING_SIZE (1U << 20) /* a power of two; about 8,000 lines */
#define OUT_SIZE 65536
/* A pipe that poll() reports as writable takes this many bytes without
 * blocking. */
#define PIPE_CHUNK 4096
/* log_stop() gives the log thread log_stop_ms (struct timing) to write, and
 * waits this many milliseconds more for its end.  Then log_stop() abandons the
 * thread. */
#define STOP_GRACE_MS 500

enum sink { SINK_FILE, SINK_PIPE, SINK_SOCKET };

struct log_run {
	struct log_options options;
	enum sink sink;
	unsigned char *ring; /* RING_SIZE bytes */
	uint64_t head;
	uint64_t tail;
	uint64_t lines; /* records in the ring */
	bool waiting;   /* the log thread waits for a record */
	bool done;      /* the log thread has ended */
	struct thr *thr;
	struct buf out;    /* OUT_SIZE bytes, never grows */
	uint64_t reported; /* the value of dropped in the last report */
	/* Monotonic time until which the log thread may write; 0: log_stop()
	 * was not called. */
	_Atomic int64_t stop_by_ms;
};

static struct lock lock = LOCK_INIT(LOCK_LOG);
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ended;    /* with CLOCK_MONOTONIC, made by log_start() */
static struct log_run *current; /* under the lock; NULL: straight to stderr */
static bool closed;             /* under the lock: log_last() was called */
static atomic_int min_level = LVL_INFO;
static _Atomic uint64_t dropped;

static struct lock direct_lock = LOCK_INIT(LOCK_LOG_DIRECT);

static int64_t
now_ms(void)
{

	return (clk_mono_ms(clk_system()));
}

void
log_set_level(enum log_level level)
{

	atomic_store_explicit(&min_level, (int)level, memory_order_relaxed);
}

bool
log_enabled(enum log_level level)
{

	return ((int)level >=
		atomic_load_explicit(&min_level, memory_order_relaxed));
}

uint64_t
log_dropped(void)
{

	return (atomic_load(&dropped));
}

static void
ring_put(struct log_run *run, const void *p, size_t n)
{
	size_t at = run->head & (RING_SIZE - 1), first = RING_SIZE - at;

	if (first > n)
		first = n;
	memcpy(run->ring + at, p, first);
	memcpy(run->ring, (const unsigned char *)p + first, n - first);
	run->head += n;
}

static uint64_t
ring_get(const struct log_run *run, uint64_t tail, void *p, size_t n)
{
	size_t at = tail & (RING_SIZE - 1), first = RING_SIZE - at;

	if (first > n)
		first = n;
	memcpy(p, run->ring + at, first);
	memcpy((unsigned char *)p + first, run->ring, n - first);
	return (tail + n);
}

static void
record_init(struct log_record *rec, enum log_event event, size_t len)
{

	memset(rec, 0, sizeof(*rec));
	rec->event = (uint16_t)event;
	rec->len = (uint16_t)len;
	(void)snprintf(rec->thread, sizeof(rec->thread), "%s", thr_self_name());
}

/* Sets the time of ${rec} and puts it with ${fields} into the ring.  Returns
 * true also if the record is dropped: because the ring has no room for it (then
 * the record is counted), or because log_last() was called since log_start()
 * (not counted).  Returns false if there is no ring: the caller then writes the
 * line to stderr.  ${last}: the call is from log_last(), and drops all later
 * records. */
static bool
submit(struct log_record *rec, const char *fields, bool last)
{
	struct log_run *run;
	bool wake = false;

	lock_take(&lock);
	if (closed) {
		lock_drop(&lock);
		return (true);
	}
	closed = last;
	run = current;
	if (run == NULL) {
		lock_drop(&lock);
		return (false);
	}
	if (sizeof(*rec) + rec->len > RING_SIZE - (run->head - run->tail)) {
		atomic_fetch_add(&dropped, 1);
	} else {
		/* Take the time under the lock, so that the lines are in the
		 * order of their times. */
		rec->wall_ms = clk_wall_ms(run->options.clk);
		ring_put(run, rec, sizeof(*rec));
		ring_put(run, fields, rec->len);
		run->lines++;
		wake = run->waiting;
		run->waiting = false;
	}
	lock_drop(&lock);
	if (wake)
		(void)pthread_cond_signal(&arrived);
	return (true);
}

/* Writes a line to stderr, where no log thread runs.  May block. */
static void
write_direct(struct log_record *rec, const char *fields)
{
	static char line[LOG_LINE_MAX + 1];
	struct buf out = BUF_INIT;
	size_t off;
	ssize_t n;

	lock_take(&direct_lock);
	out.data = line;
	out.cap = out.limit = LOG_LINE_MAX;
	rec->wall_ms = clk_wall_ms(clk_system());
	log_line_add(&out, LOG_FMT_TEXT, rec, fields);
	for (off = 0; off < out.len; off += (size_t)n) {
		n = write(STDERR_FILENO, line + off, out.len - off);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0) {
			atomic_fetch_add(&dropped, 1);
			break;
		}
	}
	lock_drop(&direct_lock);
}

static void __attribute__((format(printf, 4, 0))) emit(enum log_event event,
    bool last, const char *story, const char *fmt, va_list ap)
{
	char fields[LOG_FIELDS_MAX];
	struct log_record rec;
	int saved = errno;

	record_init(&rec, event, log_fields_print(fields, story, fmt, ap));
	if (!submit(&rec, fields, last))
		write_direct(&rec, fields);
	errno = saved;
}

void
log_event(enum log_event event, const char *fmt, ...)
{
	va_list ap;

	assert(event < LOG_EV_COUNT);
	if (!log_enabled(log_event_level(event)))
		return;
	va_start(ap, fmt);
	emit(event, false, NULL, fmt, ap);
	va_end(ap);
}

/* Returns the text of ${err}, or the text of its result code if its own text is
 * empty; NULL if ${err} is NULL.  The result is borrowed. */
static const char *
story_of(const struct err *err)
{

	if (err == NULL)
		return (NULL);
	return (err->text[0] != '\0' ? err->text : rc_text(err->rc));
}

void
log_error(enum log_event event, const struct err *err, const char *fmt, ...)
{
	va_list ap;

	assert(event < LOG_EV_COUNT);
	if (!log_enabled(log_event_level(event)))
		return;
	va_start(ap, fmt);
	emit(event, false, story_of(err), fmt, ap);
	va_end(ap);
}

void
log_last(enum log_event event, const struct err *err, const char *fmt, ...)
{
	va_list ap;

	assert(event < LOG_EV_COUNT);
	if (!log_enabled(log_event_level(event))) {
		lock_take(&lock);
		closed = true;
		lock_drop(&lock);
		return;
	}
	va_start(ap, fmt);
	emit(event, true, story_of(err), fmt, ap);
	va_end(ap);
}

void
log_line_print(struct buf *out, enum log_format format, enum log_event event,
    const char *fmt, ...)
{
	char fields[LOG_FIELDS_MAX];
	struct log_record rec;
	va_list ap;

	assert(event < LOG_EV_COUNT);
	va_start(ap, fmt);
	record_init(&rec, event, log_fields_print(fields, NULL, fmt, ap));
	va_end(ap);
	rec.wall_ms = clk_wall_ms(clk_system());
	log_line_add(out, format, &rec, fields);
}

/* ---- without fields ---- */

static const char no_fields[] = "";

void
log_event_bare(enum log_event event)
{

	log_event(event, "%s", no_fields);
}

void
log_error_bare(enum log_event event, const struct err *err)
{

	log_error(event, err, "%s", no_fields);
}

void
log_last_bare(enum log_event event)
{

	log_last(event, NULL, "%s", no_fields);
}

/* ---- the log thread ---- */

/* Waits until poll() reports the descriptor as writable or as broken, and
 * returns true; if the descriptor is broken, the next write fails at once.  For
 * a file, returns true without waiting, and the write may block.  Returns false
 * if log_stop() was called, log_stop_ms are over, and poll() still reports
 * neither. */
static bool
wait_writable(const struct log_run *run)
{
	struct pollfd pfd = {.fd = run->options.fd, .events = POLLOUT};
	int64_t stop_by;

	if (run->sink == SINK_FILE)
		return (true);
	for (;;) {
		if (poll(&pfd, 1, 50) > 0)
			return (true);
		stop_by = atomic_load(&run->stop_by_ms);
		if (stop_by != 0 && now_ms() >= stop_by)
			return (false);
	}
}

/* Waits for the descriptor (wait_writable()) and writes the first of the ${n}
 * bytes at ${p}, at most PIPE_CHUNK unless the log is a file.  Returns the
 * number of bytes written, 0 if the caller is to try again, -1 if a write fails
 * or the time of log_stop() is over. */
static ssize_t
write_piece(const struct log_run *run, const char *p, size_t n)
{
	static const struct timespec pause = {0, 2000000};
	ssize_t done;

	if (!wait_writable(run))
		return (-1);
	if (run->sink != SINK_FILE && n > PIPE_CHUNK)
		n = PIPE_CHUNK;
	if (run->sink == SINK_SOCKET)
		done = send(run->options.fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		done = write(run->options.fd, p, n);
	if (done >= 0)
		return (done);
	if (errno == EAGAIN)
		(void)nanosleep(&pause, NULL);
	return (errno == EAGAIN || errno == EINTR ? 0 : -1);
}

/* Writes the formatted lines.  Lines that cannot be written are dropped and
 * counted. */
static void
flush_out(struct log_run *run)
{
	struct buf *out = &run->out;
	size_t off = 0;
	ssize_t n = 0;

	while (off < out->len && n >= 0) {
		n = write_piece(run, out->data + off, out->len - off);
		if (n > 0)
			off += (size_t)n;
	}
	for (; off < out->len; off++) {
		if (out->data[off] == '\n')
			atomic_fetch_add(&dropped, 1);
	}
	buf_reset(out);
}

/* Prints the fields of a line that the log thread itself logs into ${out}
 * (LOG_FIELDS_MAX bytes), and returns their length.  Such a line does not go
 * through the ring, which may be full. */
static size_t __attribute__((format(printf, 2, 3)))
own_fields(char *out, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = log_fields_print(out, NULL, fmt, ap);
	va_end(ap);
	return (len);
}

/* If lines were dropped since the last report, appends to the output buffer a
 * line with their number.  If the level of the log suppresses this line, they
 * count as reported all the same. */
static void
report_dropped(struct log_run *run)
{
	char fields[LOG_FIELDS_MAX];
	struct log_record rec;
	uint64_t total;
	size_t len;

	total = atomic_load(&dropped);
	if (total == run->reported)
		return;
	len = own_fields(fields, "n=%llu total=%llu",
	    (unsigned long long)(total - run->reported),
	    (unsigned long long)total);
	run->reported = total;
	if (!log_enabled(log_event_level(LOG_EV_LOG_DROPPED)))
		return;
	record_init(&rec, LOG_EV_LOG_DROPPED, len);
	rec.wall_ms = clk_wall_ms(run->options.clk);
	log_line_add(&run->out, run->options.format, &rec, fields);
}

/* Formats the records from ${tail} up to ${head}, or until the output buffer
 * has too little room for the next one, adds the report of dropped lines, and
 * writes the buffer to the descriptor; lines that cannot be written are dropped
 * and counted.  Returns the position behind the last formatted record, for the
 * caller to store as the new tail.  *ret_lines: how many records were
 * formatted. */
static uint64_t
write_batch(
    struct log_run *run, uint64_t tail, uint64_t head, uint64_t *ret_lines)
{
	char fields[LOG_FIELDS_MAX];
	struct log_record rec;

	*ret_lines = 0;
	while (tail != head && OUT_SIZE - run->out.len >= 2 * LOG_LINE_MAX) {
		tail = ring_get(run, tail, &rec, sizeof(rec));
		tail = ring_get(run, tail, fields, rec.len);
		log_line_add(&run->out, run->options.format, &rec, fields);
		++*ret_lines;
	}
	report_dropped(run);
	flush_out(run);
	return (tail);
}

static void
log_main(void *arg)
{
	struct log_run *run = arg;
	uint64_t head, tail = 0, lines;
	int64_t stop_by;
	bool last;

	lock_take(&lock);
	do {
		while (run->head == run->tail &&
		       atomic_load(&run->stop_by_ms) == 0) {
			run->waiting = true;
			lock_wait(&lock, &arrived);
		}
		run->waiting = false;
		head = run->head;
		last = head == run->tail;
		lock_drop(&lock);
		tail = write_batch(run, tail, head, &lines);
		lock_take(&lock);
		run->tail = tail;
		run->lines -= lines;
		stop_by = atomic_load(&run->stop_by_ms);
		if (stop_by != 0 && now_ms() >= stop_by)
			last = true;
	} while (!last);
	atomic_fetch_add(&dropped, run->lines);
	run->done = true;
	(void)pthread_cond_broadcast(&ended);
	lock_drop(&lock);
}

static void
run_free(struct log_run *run)
{

	if (run == NULL)
		return;
	mem_free(run->ring);
	buf_fini(&run->out);
	mem_free(run);
}

static struct log_run *
run_new(const struct log_options *options)
{
	struct log_run *run;
	struct stat st;

	run = mem_zalloc(1, sizeof(*run));
	if (run == NULL)
		return (NULL);
	run->options = *options;
	run->options.timing = timing_or_real(options->timing);
	buf_init(&run->out, OUT_SIZE);
	run->ring = mem_alloc(RING_SIZE);
	if (run->ring == NULL || buf_reserve(&run->out, OUT_SIZE) == NULL) {
		run_free(run);
		return (NULL);
	}
	run->reported = atomic_load(&dropped);
	run->sink = SINK_PIPE;
	if (fstat(options->fd, &st) == 0) {
		if (S_ISREG(st.st_mode))
			run->sink = SINK_FILE;
		else if (S_ISSOCK(st.st_mode))
			run->sink = SINK_SOCKET;
	}
	return (run);
}

static void
init_ended(void)
{

	lock_cond_init(&ended);
}

enum rc
log_start(const struct log_options *options, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct log_run *run;
	enum rc rc;

	(void)pthread_once(&once, init_ended);
	run = run_new(options);
	if (run == NULL)
		return (err_set(err, RC_NO_MEMORY, "no memory for the log"));
	rc = thr_start(THR_LOG, 0, log_main, run, &run->thr, err);
	if (rc != RC_OK) {
		run_free(run);
		return (rc);
	}
	log_set_level(options->level);
	lock_take(&lock);
	assert(current == NULL);
	current = run;
	closed = false;
	lock_drop(&lock);
	return (RC_OK);
}

void
log_stop(void)
{
	struct log_run *run;
	struct timespec by;
	int64_t stop_by;
	bool late = false;

	lock_take(&lock);
	run = current;
	current = NULL;
	if (run != NULL) {
		stop_by = now_ms() + run->options.timing->log_stop_ms;
		by.tv_sec = (time_t)((stop_by + STOP_GRACE_MS) / 1000);
		by.tv_nsec = (long)((stop_by + STOP_GRACE_MS) % 1000) * 1000000;
		atomic_store(&run->stop_by_ms, stop_by);
		(void)pthread_cond_broadcast(&arrived);
		while (!run->done && !late)
			late = !lock_wait_until(&lock, &ended, &by);
	}
	lock_drop(&lock);
	/* If the thread is still blocked in write(), leave it and its memory
	 * alone: the program is about to end and must not hang with it. */
	if (run == NULL || late)
		return;
	thr_join(&run->thr);
	run_free(run);
}
