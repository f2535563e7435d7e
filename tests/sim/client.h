/* SPDX-License-Identifier: MIT */
/*
 * People and their clients: they send, cancel, ack, read and look, repeat
 * what was not answered, and remember what they were told.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/sim.h"

#define CLIENT_DEVICES 2
#define CLIENT_SEEN 1024

/* An event of an inbox as it was shown. */
struct seen {
	struct uuid event_id;
	int kind;
	bool own;
	int64_t mid;
	int64_t conversation, conversation_seq, actor;
};

struct client {
	int64_t user_id;
	int64_t devices[CLIENT_DEVICES];
	struct seen seen[CLIENT_SEEN]; /* seq 1 and on */
	int64_t nseen;
	int64_t acked[CLIENT_DEVICES]; /* as answered */
	int64_t read;
	bool look_ahead; /* a look is under way */
};

/* The people of a run. */
struct client *clients_new(void);
void clients_free(struct sim *s);

/* ${client} does one thing of his own: a send, an ack, a cancel … */
void client_acts(struct sim *s, size_t client);

/* Something has come for ${user_id}: he may look soon. */
void client_hears(struct sim *s, int64_t user_id);

/* The server is gone: what was asked has no answer, and is asked again. */
void clients_lose(struct sim *s);

/* Everybody looks, and acks all that he has. */
void clients_catch_up(struct sim *s);

/* How many requests are under way. */
size_t clients_busy(const struct sim *s);

#endif
