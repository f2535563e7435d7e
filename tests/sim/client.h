/* SPDX-License-Identifier: MIT */
/*
 * People and their clients: they send, cancel, ack, read and look, repeat
 * what was not answered, and remember what they were told.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/marks.h"
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
	struct talk talks[MARK_TALKS];
	size_t ntalks;
	bool look_ahead; /* a look is under way */
};

extern const char *const client_names[SIM_CLIENTS];

/* The people of a run. */
struct client *clients_new(void);
void clients_free(struct sim *s);

/* ${client} does one thing of his own: a send, an ack, a cancel … */
void client_acts(struct sim *s, size_t client);

/* One person sends another here ${n} messages. */
void client_piles_up(struct sim *s, int64_t n);

/* Something has come for ${user_id}: he may look soon. */
void client_hears(struct sim *s, int64_t user_id);

/* The server is gone: what was asked has no answer, and is asked again. */
void clients_lose(struct sim *s);

/* The server has another epoch, which ends all requests: what people were shown
 * and answered is what they had when ${then} was copied.  The server is down.
 */
void clients_go_back(struct sim *s, const struct client *then);

/* The same, by those who decide what he does: he sends ${m}, cancels it, acks
 * or reads, or looks into his inbox. */
void client_send(struct sim *s, struct message *m);
void client_cancel(struct sim *s, struct message *m);
void client_mark(struct sim *s, size_t client, const struct mark *m);
void client_looks(struct sim *s, size_t client);

/* Something for ${c} to ack or to read; false: there is nothing. */
bool client_draw_mark(
    struct sim *s, const struct client *c, bool ack, struct mark *ret);

/* Everybody looks, and acks all that he has. */
void clients_catch_up(struct sim *s);

/* How many requests are under way. */
size_t clients_busy(const struct sim *s);

#endif
