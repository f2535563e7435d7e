/* SPDX-License-Identifier: MIT */
/*
 * A scripted run of sends, deliveries and acks on the rig, over a power-loss
 * disk.  It records each promise with its crash point: accepted sends,
 * published events, acks, read marks. story_verify() checks that a disk keeps
 * all of them, in whatever way the disk came about.
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
/* As a point: after every answer of the run. */
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

/* More than the deliveries that can wait for a sync at one time. */
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
	int taken;         /* events of the rig copied so far */
	bool unsafe_start; /* control: verify without start sequence */

	/* The results of the units. */
	size_t results[RC_COUNT];
	size_t ok_after_fatal, refused;

	/* Held: the deliveries under way; the batches since the last sync, the
	 * number of syncs, the writes until the next one; the syncs that came
	 * among writes. */
	struct story_deliver delivers[STORY_DELIVERS];
	size_t ndelivers, owed, turn, countdown, among_writes;
	bool stalled; /* no sync comes */
};

/* Opens the rig over ${disk} and makes the users.  None of this may fail. */
void story_begin(struct story *s, struct plvfs *disk, enum db_sync sync);

/* Like story_begin(), but SQLite writes the log itself, without the log
 * buffer. */
void story_begin_plain(struct story *s, struct plvfs *disk, enum db_sync sync);

/* Like story_begin(), but with commits as the product makes them
 * (rig_options.held).  A sync comes after 1, 2 or 3 batches, at once or among
 * the writes of the next batch.  ${drops}: as a control, syncs are skipped. */
void story_begin_held(struct story *s, struct plvfs *disk, bool drops);

/* Held: commits two sends and their delivery, kills the process before they are
 * synced, and starts it again.  Sends again what has no answer. */
void story_kill(struct story *s);

/* Closes the rig. */
void story_end(struct story *s);

/* Closes a rig as if its process was killed: nothing more reaches ${disk}. */
void story_kill_rig(struct plvfs *disk, struct rig *rig);

/* The two halves of the script: batches of sends, deliveries, acks, reads, a
 * scheduled message and its release, checkpoints by the writer.  A failure is
 * counted in results, and the script continues. */
void story_first_half(struct story *s);
void story_second_half(struct story *s);

/* Makes ${n} sends in one batch, with bodies of ${size} bytes and more. */
void story_send(struct story *s, enum story_user from, enum story_user to,
    size_t n, size_t size);

/* Returns the step of a sweep over crash points: 1, or more in the slow builds
 * with sanitizers. */
size_t story_stride(void);

/* Delivers all messages that wait. */
void story_deliver(struct story *s);

/* Returns the number of sends that were answered. */
size_t story_answered(const struct story *s);

/* Sends again, in the open rig, each message without an answer.  All must be
 * accepted. */
void story_retry(struct story *s);

/* Opens ${disk} with the start sequence, as after a crash at ${point}.  Checks
 * that everything that was answered until ${point} is there.  Then sends all
 * messages again by id, delivers, and checks that every message is there
 * exactly once and in order.  Returns NULL, or what is wrong.  *${ret_started}
 * (may be NULL) becomes the crash point of ${disk} at which the store was ready
 * to serve.  If ${adopt}, the answers to the repeated sends are recorded in
 * ${s}. */
const char *story_verify(struct story *s, size_t point, struct plvfs *disk,
    bool adopt, size_t *ret_started);

#endif
