/* SPDX-License-Identifier: MIT */
/*
 * What server.c needs of the core beyond server.h.
 */
#ifndef MAIN_CORE_INTERNAL_H
#define MAIN_CORE_INTERNAL_H

#include <stdatomic.h>

#include "domain/auth.h"
#include "main/server.h"
#include "metrics/metrics.h"
#include "store/reader.h"
#include "store/writer.h"

struct core {
	const struct config *config;
	char url[CONFIG_TEXT_SIZE + 32];
	char epoch[40];
	int lock_fd;
	int schema_from, schema_to;
	bool fresh; /* there was no user yet */
	bool threaded; /* the writer has its thread */
	struct db_options db_options;
	struct db *db;
	struct metrics *metrics;
	struct auth *auth;
	struct domain *domain;
	struct domain_sinks sinks;
	struct writer *writer;

	/* Where news and wake-ups go once the server is up. */
	struct push *_Atomic push;
	struct relay *_Atomic relay;
};

#endif
