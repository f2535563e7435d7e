/* SPDX-License-Identifier: MIT */
/*
 * A scripted run of the main job on the rig over a power-loss disk, which
 * remembers what was promised to whom and at which crash point: accepted sends,
 * published events, acks, read marks.  And the check that a disk, however it
 * came about, keeps all of it.
 */
#ifndef FAULT_STORY_H
#define FAULT_STORY_H

#include "plvfs.h"
#include "tests/contract/rig.h"

#define STORY_USERS 3
#define STORY_SENDS 64
#define STORY_MARKS 32
#define STORY_EVENTS 256
#define STORY_BODY 8192
/* Every answer that was ever given. */
#define STORY_ALL (SIZE_MAX - 1)

enum story_user { ALICE, BOB, CAROL };

struct story_send {
	struct message_draft draft;
	char body[STORY_BODY];
	enum story_user from, to;
	struct send_unit unit;
	struct story *story;
	bool fatal; /* the store had failed when it was submitted */
	size_t submitted, answered; /* crash points; SIZE_MAX: never */
};

/* An ack or a read mark. */
struct story_mark {
	enum story_user user;
	bool read;
	int64_t upto;
	size_t answered;
};

struct story_event {
	int64_t user_id, seq;
	int kind;
	struct uuid event_id;
	size_t published;
};

/* More than may wait for their sync. */
#define STORY_DELIVERS 4

struct story_deliver {
	struct deliver_unit unit;
	struct story *story;
	bool fatal;
};

struct story {
	struct plvfs *disk;
	struct rig_options options;
	struct rig rig;
	struct {
		int64_t id, device;
		size_t answered;
	} users[STORY_USERS];
	struct story_send sends[STORY_SENDS];
	size_t nsends;
	struct story_mark marks[STORY_MARKS];
	size_t nmarks;
	struct story_event events[STORY_EVENTS];
	size_t nevents;
	int taken;         /* of the rig's events */
	bool unsafe_start; /* story_verify starts without the sequence */

	/* What the units came to. */
	size_t results[RC_COUNT];
	size_t ok_after_fatal, refused;

	/* Held: deliveries under way; the sync that is to come, after so many
	 * batches or writes; those that came among writes. */
	struct story_deliver delivers[STORY_DELIVERS];
	size_t ndelivers, owed, turn, countdown, among_writes;
	bool stalled; /* no sync comes */
};

/* Opens the rig over ${disk} and makes the users, none of which
 * may fail. */
void story_begin(struct story *s, struct plvfs *disk, enum db_sync sync);

/* The same with a log that SQLite writes itself, not buffered. */
void story_begin_plain(struct story *s, struct plvfs *disk, enum db_sync sync);

/* The same with commits as the product makes them (rig_options.held): syncs
 * come after 1, 2 or 3 batches, at once or among the writes of the next;
 * ${drops}: they are not made, as a control. */
void story_begin_held(struct story *s, struct plvfs *disk, bool drops);

/* Held: two sends and their delivery are committed, and not synced when the
 * process is killed and started again; what has no answer is sent again. */
void story_kill(struct story *s);

/* Closes the rig. */
void story_end(struct story *s);

/* Closes a rig as the kill of its process does: nothing of it reaches ${disk}.
 */
void story_kill_rig(struct plvfs *disk, struct rig *rig);

/* The script's two halves: batches of sends, deliveries, acks, reads, a
 * scheduled message and its release, checkpoints by the writer.  What fails is
 * counted in results and goes on. */
void story_first_half(struct story *s);
void story_second_half(struct story *s);

/* ${n} sends in one batch, with bodies from ${size} bytes on. */
void story_send(struct story *s, enum story_user from, enum story_user to,
    size_t n, size_t size);

/* Every how many places a sweep looks: each, but fewer in the slow builds with
 * sanitizers. */
size_t story_stride(void);

/* Delivers all there is. */
void story_deliver(struct story *s);

/* How many of the sends were answered. */
size_t story_answered(const struct story *s);

/* Sends again, in the open rig, what has no answer; all must be accepted. */
void story_retry(struct story *s);

/* Opens ${disk} with the start sequence, as after a crash at
 * ${point}; checks that what was answered until then is there; sends all again
 * by id, delivers, and checks that everything is there exactly once and in
 * order.  NULL, or what is wrong.  ${ret_started} (may be NULL): the crash
 * point of ${disk} at which it was ready to serve.  The answers to what was
 * sent again are kept in ${s} if ${adopt}. */
const char *story_verify(struct story *s, size_t point, struct plvfs *disk,
    bool adopt, size_t *ret_started);

#endif
