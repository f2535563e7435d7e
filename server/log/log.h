/* SPDX-License-Identifier: MIT */
/*
 * The log: lines "time level event id key=value ..." (or JSON objects) to one
 * descriptor.  A log call puts its line into a bounded ring, from which the log
 * thread writes it.  So a log call waits for no I/O and never fails: if the
 * ring is full, the line is dropped and counted, and the count is logged later
 * (LOG_DROPPED).  Where no log thread runs (commands, the start and the end of
 * a program), a line is written to stderr at once, always as text, and this
 * write may block.
 *
 * Never log bodies, passwords or tokens.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/err.h"
#include "base/timing.h"

enum log_level { LVL_DEBUG, LVL_INFO, LVL_WARN, LVL_ERROR };

enum log_format { LOG_FMT_TEXT, LOG_FMT_JSON };

/* X(id, level, meaning): one row for each event, grouped by subject.  The
 * name of an event in the log is its id in lower case with '.' for the first
 * '_': SERVER_READY is logged as "server.ready". */
#define LOG_EVENT_TABLE(X)                                                     \
	X(SERVER_START, LVL_INFO, "the program begins to start")               \
	X(SERVER_SETTING, LVL_WARN,                                            \
	    "a setting exposes the server to strangers")                       \
	X(SERVER_LISTENING, LVL_INFO,                                          \
	    "where it listens; on standard output, with log-format json only") \
	X(SERVER_READY, LVL_INFO, "it listens and serves")                     \
	X(SERVER_STOP, LVL_INFO, "a signal stops it")                          \
	X(SERVER_LATE, LVL_WARN,                                               \
	    "the stop goes on without waiting longer for requests")            \
	X(SERVER_STOPPED, LVL_INFO, "everything is stopped")                   \
	X(SERVER_FAIL, LVL_ERROR, "it cannot start or go on")                  \
	X(DATA_READABLE, LVL_WARN,                                             \
	    "others may read the data directory or the database")              \
	X(STORE_WAIT, LVL_WARN, "the start waits for the database")            \
	X(STORE_OPEN, LVL_INFO, "the database is open")                        \
	X(STORE_MIGRATE, LVL_INFO, "a schema step was applied")                \
	X(STORE_FAIL, LVL_ERROR, "the store failed")                           \
	X(STORE_BACK, LVL_INFO, "the store takes transactions again")          \
	X(STORE_HELD, LVL_WARN, "units wait for rows that others have locked") \
	X(STORE_FREE, LVL_INFO, "no unit waits for locked rows any more")      \
	X(STORE_FULL, LVL_ERROR, "the disk is full; writes are refused")       \
	X(STORE_LOW, LVL_ERROR,                                                \
	    "the disk is nearly full; new messages are refused")               \
	X(STORE_ROOM, LVL_INFO, "the disk has room; messages are accepted")    \
	X(STORE_ABANDON, LVL_WARN,                                             \
	    "a batch was abandoned and is redone singly")                      \
	X(STORE_CHECKPOINT, LVL_DEBUG, "the write-ahead log was checkpointed") \
	X(STORE_COPY, LVL_INFO,                                                \
	    "the database was copied before its schema changes")               \
	X(MARK_MADE, LVL_INFO, "DATA/mark was missing; made anew")             \
	X(MARK_ROLLBACK, LVL_WARN,                                             \
	    "the database does not fit DATA/mark; it was given another epoch") \
	X(MARK_FAIL, LVL_WARN, "DATA/mark cannot be written")                  \
	X(UPKEEP_PURGE, LVL_DEBUG, "old rows were deleted")                    \
	X(UPKEEP_FAIL, LVL_WARN, "a purge failed; it will be repeated")        \
	X(UPKEEP_GOES, LVL_INFO, "purging works again")                        \
	X(SCRUB_FOUND, LVL_ERROR, "the scrubber found damage; run fsck")       \
	X(SCRUB_ROUND, LVL_INFO, "the scrubber has read everything once")      \
	X(CLUSTER_NODE, LVL_INFO, "another node of this database was seen")    \
	X(CLUSTER_DEAD, LVL_WARN, "another node is dead; its leases end")      \
	X(CLUSTER_FULL, LVL_WARN, "there are more nodes than are checked")     \
	X(CLUSTER_FIRST, LVL_INFO, "this node does the upkeep for all nodes")  \
	X(CLUSTER_AWAY, LVL_WARN, "notes of other nodes cannot be received")   \
	X(CLUSTER_BACK, LVL_INFO, "notes of other nodes are received again")   \
	X(CLUSTER_LINE, LVL_INFO,                                              \
	    "another database leads, with all commits: cursors stay valid")    \
	X(CLUSTER_EPOCH, LVL_WARN,                                             \
	    "the database may lack commits: it has another epoch, and the "    \
	    "server starts anew")                                              \
	X(CLUSTER_WAIT, LVL_INFO,                                              \
	    "another database leads; waits for nodes that know its commits")   \
	X(HTTP_REQUEST, LVL_DEBUG, "a request was answered")                   \
	X(HTTP_REFUSED, LVL_DEBUG, "a request was refused before a route")     \
	X(HTTP_FAIL, LVL_ERROR, "a request failed on the server's side")       \
	X(HTTP_DEADLINE, LVL_INFO, "a connection passed its deadline")         \
	X(HTTP_LIBRARY, LVL_WARN, "a message of libmicrohttpd")                \
	X(FRONT_ACCEPT, LVL_WARN, "a connection could not be accepted")        \
	X(PUSH_OPEN, LVL_DEBUG, "a WebSocket session began")                   \
	X(PUSH_CLOSE, LVL_DEBUG, "a WebSocket session ended")                  \
	X(PUSH_LIBRARY, LVL_WARN, "a message of libwebsockets")                \
	X(RELAY_TURN, LVL_DEBUG, "the relay delivered messages")               \
	X(RELAY_FAIL, LVL_WARN, "the relay met an error")                      \
	X(RELAY_BACK, LVL_INFO, "the relay's polls succeed again")             \
	X(RELAY_RECOVER, LVL_INFO, "the relay has read what is pending")       \
	X(RELAY_RESCUE, LVL_WARN, "leases ran out and were reclaimed")         \
	X(RELAY_LOST, LVL_WARN, "leases were lost with a request under way")   \
	X(RELAY_BREAKER, LVL_WARN, "a destination's breaker has changed")      \
	X(RELAY_PARK, LVL_INFO, "a destination asks for a pause")              \
	X(PEER_LEARN, LVL_INFO, "the document of another server was read")     \
	X(PEER_FAIL, LVL_WARN, "another server's document cannot be read")     \
	X(PEER_KEYS, LVL_WARN, "another server has other keys than before")    \
	X(PEER_EPOCH, LVL_WARN, "another server was restored from a backup")   \
	X(PEER_BACK, LVL_WARN,                                                 \
	    "another server counts from an earlier number: it was restored")   \
	X(PEER_ANSWER, LVL_WARN, "another server gave an unexpected answer")   \
	X(ALERT_WARNING, LVL_WARN, "an operator should look at this")          \
	X(ALERT_ERROR, LVL_ERROR, "an operator must act")                      \
	X(ALERT_CLEARED, LVL_INFO, "an alert is over")                         \
	X(CLOCK_JUMP, LVL_WARN, "the wall clock moved by itself")              \
	X(AUTH_LOGIN, LVL_INFO, "a device logged in")                          \
	X(AUTH_REFUSED, LVL_INFO, "a log-in was refused")                      \
	X(USER_ADDED, LVL_INFO, "a user was registered")                       \
	X(CONTROL_CALL, LVL_INFO, "a command came through the control socket") \
	X(LOG_DROPPED, LVL_WARN, "log lines were dropped")

enum log_event {
#define X(id, level, text) LOG_EV_##id,
	LOG_EVENT_TABLE(X)
#undef X
	    LOG_EV_COUNT
};

struct buf;

struct log_options {
	int fd;
	enum log_level level;
	enum log_format format;
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
};

/* Starts the log thread and sets the level; the caller makes sure that the
 * thread does not run yet.  Returns RC_NO_MEMORY if there is no memory or the
 * thread cannot be started; nothing has changed then.  ${options} is copied,
 * but its descriptor, clock and timing must last until log_stop() has returned,
 * and if log_stop() abandons the thread, until the program ends.  Before
 * log_start() and after log_stop(), lines go to stderr directly, but none after
 * log_last(). */
enum rc log_start(const struct log_options *options, struct err *err) MUST_USE;

/* Lets the log thread write the lines in the ring, for at most log_stop_ms, and
 * waits until the thread has ended.  Lines that are not written by then are
 * dropped and counted.  If the thread still hangs in a write 500 ms later, it
 * is abandoned and goes on using the descriptor and the clock; log_stop() does
 * not report this, so a program calls it just before its end.  Does nothing if
 * the thread does not run. */
void log_stop(void);

/* Changes the level while the log thread runs. */
void log_set_level(enum log_level level);

/* Returns true if lines of ${level} are written.  Check it before computing
 * costly arguments. */
bool log_enabled(enum log_level level);

/* Logs ${event}, unless its level is below that of the log.  ${fmt} gives the
 * fields: "user=%s n=%d".  A value ends at the next " key=" that is part of
 * ${fmt} itself, so no value can add a field (in a text line, an '=' in a value
 * that would look like the end of a key becomes '?').  Text before the first
 * key is the id of the event's subject; in JSON, the member "id", or "text" if
 * a space is in it.  In JSON a value is a number if its format is the
 * conversion of one decimal number and nothing else ("n=%d", not "n=%x" or
 * "n=%dms") and the result is a JSON number with at most 15 digits before the
 * point; other values are strings.  Values are cut at 512 bytes, all fields
 * together at about 4,000 bytes.  In values, control and format characters and
 * bytes that are not UTF-8 become '?'.  Leaves errno unchanged.  Thread: any.
 * Blocks: while the log thread runs, only for a short lock; else may block in
 * a write to stderr. */
void log_event(enum log_event event, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* As log_event(), without fields. */
void log_event_bare(enum log_event event);

/* As log_event(), with the text of ${err} (if it is empty: the text of its
 * result code) as the last field, "error".  If ${err} is NULL, there is no such
 * field. */
void log_error(enum log_event event, const struct err *err, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* As log_error(), without other fields. */
void log_error_bare(enum log_event event, const struct err *err);

/* As log_error(), for the last line of a program that is about to end: all
 * later lines are dropped, and not counted, until log_start() is called again.
 * Does not end the program or the log thread, and does not wait until the ring
 * is written: log_stop() does.  Thread: any. */
void log_last(enum log_event event, const struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As log_last(), without an error or fields. */
void log_last_bare(enum log_event event);

/* Logs nothing: formats ${event} and its fields as log_event() does, but in
 * ${format} and whatever the level is, and appends the line to ${out}.
 * Thread: any. */
void log_line_print(struct buf *out, enum log_format format,
    enum log_event event, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the number of lines dropped so far. */
uint64_t log_dropped(void);

/* Parses "debug", "info", "warn" or "error".  Returns an enum log_level, -1 for
 * any other text. */
int log_level_parse(const char *text);

#endif
