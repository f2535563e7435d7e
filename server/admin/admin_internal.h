/* SPDX-License-Identifier: MIT */
/*
 * What the files of this module share.
 */
#ifndef ADMIN_ADMIN_INTERNAL_H
#define ADMIN_ADMIN_INTERNAL_H

#include <pthread.h>

#include "admin/admin.h"
#include "api/api.h"

struct admin {
	struct admin_options o;
	int64_t start_ms;
	pthread_mutex_t lock; /* of the counters that are taken over */
};

/* A file of docs/, made part of the program by the build. */
struct document {
	const unsigned char *data;
	size_t len;
};

extern const struct document document_openapi;
extern const struct document document_asyncapi;

/* Appends what the kernel says of this process, as Prometheus text. */
void process_metrics_write(struct buf *b, int64_t start_ms);

/* Handlers; the argument is the api. */
void admin_health(struct http_request *req, void *arg);
void admin_ready(struct http_request *req, void *arg);
void admin_metrics(struct http_request *req, void *arg);
void admin_openapi(struct http_request *req, void *arg);
void admin_asyncapi(struct http_request *req, void *arg);
void admin_problems(struct http_request *req, void *arg);
void admin_problem(struct http_request *req, void *arg);
void admin_front(struct http_request *req, void *arg);

#endif
