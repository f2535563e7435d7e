/* SPDX-License-Identifier: MIT */
/*
 * Deadlines, intervals and pauses that are fixed in the program: one table, in
 * milliseconds.  A module takes these times from its options, so that a test
 * can pass short ones.  A time that an operator may choose is a setting instead
 * (config/config.h).  A time that follows from the kernel or a library is
 * defined where it is used.
 *
 * Builds with --enable-faults scale the times by the environment variable
 * TWINBOX_TIME_SCALE, so that a test need not wait for the deadlines of the
 * real server: "cluster=4,push_stalled=20" divides all members whose names
 * begin with cluster by 4, and those whose names begin with push_stalled by 20;
 * "10" divides all members by 10; "relay_poll=1/10" multiplies by 10.  If
 * several items match a member, only the last of them counts.  Numbers are 1 to
 * 100; results are rounded up.  More than 16 items, an item that cannot be
 * parsed, and an item that matches no member end the program at the first call
 * of timing_process().
 * tests/unit/test_timing.c checks the values of the table.
 */
#ifndef BASE_TIMING_H
#define BASE_TIMING_H

#include <stdint.h>

/* X(name, ms, meaning): the member is name_ms. */
#define TIMING_TABLE(X)                                                        \
	X(push_tick, 1000, "between two looks at the sessions' deadlines")     \
	X(push_arrival, 5000, "from a connection to its whole handshake")      \
	X(push_hello, 5000, "from a handshake to the frame hello")             \
	X(push_ping, 25000, "of silence before a session is pinged")           \
	X(push_silence, 35000, "of silence before a session is closed")        \
	X(push_stalled, 60000, "of a full window before the frame stalled")    \
	X(push_stuck, 60000, "that a socket may take nothing of a frame")      \
	X(push_close, 3000, "for what is queued when a session is closed")     \
	X(push_linger, 2000, "that a refused handshake's rest is read")        \
	X(push_drain_quiet, 250,                                               \
	    "of silence before a draining session closes")                     \
	X(push_drain_most, 1000, "that a draining session is served at most")  \
	X(http_linger, 2000, "that the rest of a refused request is read")     \
	X(http_accept_pause, 100, "without accepting, when files run out")     \
	X(http_log_window, 10000,                                              \
	    "in which the library's errors are one line")                      \
	X(http_stop, 1000, "for answers that are on their way at a stop")      \
	X(rest_stream_quiet, 25000,                                            \
	    "without an event before a stream sends a comment")                \
	X(cluster_recheck, 5000, "between two questions for missed notes")     \
	X(cluster_heartbeat, 2000, "between two heartbeats of a node")         \
	X(cluster_dead, 10000, "without a heartbeat before a node is dead")    \
	X(cluster_mark_dead, 60000,                                            \
	    "that a dead node's leases are tried at least")                    \
	X(cluster_tidy, 60000, "between two clean-ups of nodes' rows")         \
	X(cluster_away, 250, "before the database is connected to again")      \
	X(reader_retry, 1000,                                                  \
	    "before a reader that failed to begin tries again")                \
	X(relay_poll, 1000, "between two safety polls of the outbox")          \
	X(relay_pause, 200, "after an error of the database")                  \
	X(relay_pause_full, 2000, "after the disk was full")                   \
	X(relay_held, 250, "before a lane whose row is locked is tried again") \
	X(relay_reclaim, 10000, "between two looks for leases that ran out")   \
	X(relay_reclaim_again, 1000, "the same, when one was passed over")     \
	X(relay_contact, 10000, "between two probes because a peer wrote")     \
	X(relay_forget, 60000,                                                 \
	    "before the relay forgets a destination without messages")         \
	X(relay_release_again, 100, "before more scheduled rows are released") \
	X(directory_reload, 2000,                                              \
	    "before a peer's row is read again, when it is in use")            \
	X(directory_again, 60000,                                              \
	    "before another unknown key makes a peer's document be read")      \
	X(directory_failed, 600000,                                            \
	    "before a stranger's name is asked again that failed")             \
	X(document_fetch, 10000, "for a peer's document")                      \
	X(breaker_pause, 250, "after the first failure, doubling")             \
	X(breaker_first, 2000, "that a breaker is open at first, doubling")    \
	X(breaker_most, 600000, "that a breaker is open at most")              \
	X(keyring_refresh, 5000, "between two readings of this server's keys") \
	X(db_answer, 15000, "that PostgreSQL may leave a query unanswered")    \
	X(db_statement, 10000, "that a statement may run on PostgreSQL")       \
	X(db_idle, 10000, "that a transaction may ask nothing there")          \
	X(db_lock, 5000, "that a statement may wait for a lock there")         \
	X(db_patience, 50, "the same, while other units could go on")          \
	X(db_look, 100, "between two looks whether a held row is free")        \
	X(db_wait_again, 1000, "before units wait for held rows once more")    \
	X(db_open_again, 500, "before a start asks for its database again")    \
	X(db_retry_first, 100, "before a lost connection is made again")       \
	X(db_retry_most, 2000, "the same, after doubling")                     \
	X(stop_requests, 5000, "for requests under way at a stop")             \
	X(stop_answers, 2000, "for readers to give back what they have")       \
	X(stop_away, 20000, "the same, when the database does not answer")     \
	X(stop_quiet, 200, "without a request before connections close")       \
	X(stop_slow_client, 1000,                                              \
	    "for an answer that its client does not read")                     \
	X(log_stop, 1000, "for lines that wait when the log stops")            \
	X(log_outage, 60000, "between two lines about the same outage")        \
	X(log_wait, 10000, "between two lines about what a start waits for")

struct timing {
#define X(name, ms, meaning) int64_t name##_ms;
	TIMING_TABLE(X)
#undef X
};

/* Returns the values of the table.  Static storage.  Thread: any. */
const struct timing *timing_real(void);

/* Returns ${timing}, or the values of the table if it is NULL. */
static inline const struct timing *
timing_or_real(const struct timing *timing)
{

	return (timing != 0 ? timing : timing_real());
}

/* Returns the values that this process uses: those of the table, in builds with
 * --enable-faults scaled by TWINBOX_TIME_SCALE.  There the first call reads the
 * variable, and ends the program if its value is not valid.  Static storage.
 * Thread: any. */
const struct timing *timing_process(void);

#endif
