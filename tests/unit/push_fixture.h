/* SPDX-License-Identifier: MIT */
/*
 * The push module in one thread with a fake clock.  libwebsockets is a stand-in
 * (push_library.c), and so are the readers, the writer and the store
 * (push_store.c).
 *
 * The test is the loop: nothing happens outside of these calls.  A read that
 * push asks for waits until jobs_run(), a unit of work until finish_...().
 */
#ifndef TESTS_PUSH_FIXTURE_H
#define TESTS_PUSH_FIXTURE_H

#include "chat/ack.h"
#include "chat/read.h"
#include "chat/send.h"
#include "push/push_internal.h"
#include "unit/push_library.h"

/* The times that the module gets.  No two are equal, so that a test finds out
 * when the module uses one of them in place of another. */
extern const struct timing times;

/* A message's deadline, which equals none of the above. */
#define MESSAGE_DEADLINE_MS 17000

/* Users and devices are numbers from 1.  The token of user 1 on device 2 is
 * "u1d2"; the name of user 1 is "u1". */
#define USERS 8
#define DEVICES 16
#define JOBS 64
#define UNITS 128

/* A conversation of users 1, 2 and 3. */
#define CONVERSATION "01903b1e-0000-7000-8000-000000000001"

/* An inbox holds every event from oldest to head. */
struct inbox {
	int64_t head, oldest, unread;
};

struct scene {
	struct clk_fake clk;
	struct push *push;
	struct metrics *metrics;

	/* The contents of the store. */
	bool shared;     /* other nodes serve the same database */
	int64_t counted; /* bytes in the usage of user 1 */
	bool no_quota;
	struct inbox inboxes[USERS];
	int64_t acked[DEVICES];
	bool revoked[DEVICES];
	size_t body;        /* bytes of a message */
	enum rc store_rc;   /* the result of every read */
	int64_t gone;       /* an outbox entry that does not exist */
	bool replayed;      /* the next sends are replays */
	bool bad_recipient; /* the next sends have an invalid address */
	bool over_rate;     /* users have reached their rate limit */

	/* Requests that wait for a reader or for the writer, the oldest first.
	 * While readers_rc (writer_rc) is not RC_OK, every new request fails
	 * with it. */
	struct read_job *jobs[JOBS];
	int njobs;
	enum rc readers_rc;
	struct unit *units[UNITS];
	int nunits;
	enum rc writer_rc;
};
extern struct scene *scene;

/* For cmocka: makes a scene with empty inboxes; frees it. */
int scene_set_up(void **state);
int scene_tear_down(void **state);

/* ---- time ---- */

/* Runs the loop until push is idle: a turn. */
void turn(void);

/* Advances the clock by ${ms}, in steps of push_tick_ms with a turn and a tick
 * after each.  Every client that is not mute sends a WebSocket pong before each
 * tick. */
void pass(int64_t ms);

/* ---- clients ---- */

/* Sends a handshake from ${address}, which the next turn() answers; returns the
 * client's end of the connection. */
int client_dial(const char *address);

/* Connects, from ${address}.  The session waits for hello. */
struct lws *client_connect_from(const char *address);

/* The same, from one fixed address. */
struct lws *client_connect(void);

/* Connects and sends hello with ${token} and the members ${more} (such as
 * ",\"window\":4"). */
struct lws *client_hello(const char *token, const char *more);

/* The same, and runs all jobs, so that the session catches up.  Forgets the
 * frames. */
struct lws *client_open(const char *token, const char *more);

/* Sends a text frame, or ${count} of them in one write, and turns. */
void say(struct lws *c, const char *text);
void say_often(struct lws *c, const char *text, int count);

/* Sends {"type":"ack","upto":UPTO}. */
void say_ack(struct lws *c, int64_t upto);

/* Sends a frame that begins with the byte ${first}, and turns. */
void say_frame(struct lws *c, int first, const char *payload);

/* Closes the client's end. */
void hang_up(struct lws *c);

/* The session of ${c}; fails if it has ended. */
struct session *session_of(const struct lws *c);

/* Compares the frames that the client got since the last comparison. */
#define assert_frames(c, want)                                                 \
	do {                                                                   \
		assert_string_equal((c)->frames, (want));                      \
		(c)->frames[0] = '\0';                                         \
		(c)->len = 0;                                                  \
	} while (0)

/* ---- effects ---- */

/* Commits the next event to the inbox of ${user} and publishes it. */
void arrive(int64_t user);

/* Publishes an event, with or without the text of the message, and leaves the
 * inbox as it is. */
void publish_event(int64_t user, int64_t seq);
void publish_bare_event(int64_t user, int64_t seq);

/* Commits the next event, but drops its effects, as a full mailbox does. */
void arrive_dropped(int64_t user);

void publish_change(int64_t user, int64_t mid, enum outbox_event event);
void publish_acked(int64_t user, int64_t device, int64_t seq);
void publish_revoked(int64_t device);

/* ---- readers and writer ---- */

/* Runs the oldest job.  Its answer waits for the next turn. */
void job_read(void);

/* Runs all jobs, and the jobs that they lead to, and turns. */
void jobs_run(void);

/* Finishes the oldest unit, which must be an ack up to ${upto} (a read, a
 * send), and turns. */
void finish_ack(int64_t upto, enum rc rc);
void finish_read(int64_t upto, enum rc rc);
void finish_send(enum rc rc);

#endif
