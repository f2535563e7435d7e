/* SPDX-License-Identifier: MIT */
/*
 * What an operator watches, read in one go: by the page of metrics, by the
 * server's own alerts, by whoever shows figures.  Nothing here costs more when
 * more waits: totals are one row, and each walk has a bound.
 */
#ifndef STORE_FIGURES_H
#define STORE_FIGURES_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

/* Destinations that are told of: the label's values.  Those with trouble come
 * first. */
#define FIGURES_DESTINATIONS 100
/* What is counted, or walked, at most. */
#define FIGURES_ROWS 10000
#define FIGURES_LANES 1000

enum figures_breaker {
	FIGURES_CLOSED,
	FIGURES_OPEN,
	FIGURES_HALF_OPEN,
	FIGURES_BREAKERS
};

/* Its word in the database and in labels. */
const char *figures_breaker_word(enum figures_breaker breaker);

struct figures_destination {
	int64_t destination_id;
	char name[LIMIT_ADDRESS_LEN + 1];
	enum figures_breaker breaker;
	bool paused;
	bool ready;           /* lanes to it wait */
	int64_t pending_rows; /* in its first FIGURES_LANES lanes */
	int64_t oldest_at;    /* since when the oldest waits; 0: none */
};

/* Messages (not receipts) by state, and what has ever happened to them. */
struct figures_totals {
	int64_t pending, scheduled, sending, sent, failed, expired, canceled;
	int64_t accepted_total, sent_total, acked_total, retries_total;
	int64_t failed_total, expired_total, canceled_total, requeued_total;
	int64_t rescues_total, fenced_total;
};

/* Open dead letters by reason; at most FIGURES_ROWS are counted. */
struct figures_dead {
	int64_t all, max_retries, rejected, expired, poison, too_large;
};

struct figures {
	struct figures_totals totals;
	struct figures_dead dead;
	int64_t oldest_sending_at; /* 0: none is being sent */
	int64_t lanes_ready;       /* at most FIGURES_ROWS */
	int64_t destinations;      /* how many there are */
	size_t n;                  /* how many are in the list */
	struct figures_destination list[FIGURES_DESTINATIONS];
};

/* Reads them.  ${ret} is about 50 KB: not for a stack.
 * Thread: the owner of ${db}. */
enum rc store_figures(
    struct db *db, struct figures *ret, struct err *err) MUST_USE;

#endif
