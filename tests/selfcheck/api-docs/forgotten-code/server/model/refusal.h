/* SPDX-License-Identifier: MIT */
/*
 * A sample: the problems that there are.
 */
#ifndef MODEL_REFUSAL_H
#define MODEL_REFUSAL_H

/* X(id, slug, http status) */
#define PROBLEM_TABLE(X)                                                       \
	X(BAD_REQUEST, "bad-request", 400)                                     \
	X(NOT_FOUND, "not-found", 404)                                     \
	X(BUSY, "busy", 503)

#endif
