/* SPDX-License-Identifier: MIT */
/*
 * The routes by path and method (router.c).
 */
#ifndef HTTP_ROUTER_INTERNAL_H
#define HTTP_ROUTER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

#define SEGMENTS_MAX 8
#define PARAMS_MAX 4

/* The methods that exist here, in the order of the Allow header. */
enum method {
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_PATCH,
	METHOD_DELETE,
	METHOD_OPTIONS,
	METHOD_COUNT
};

/* METHOD_COUNT if ${name} is none of them. */
enum method router_method_find(const char *name);

/* The name of ${method}, "" for METHOD_COUNT.  Static storage. */
const char *router_method_text(enum method method);

struct router;
struct segment {
	const char *text; /* NUL-terminated, decoded */
	size_t len;
};

/* A path of the table with its methods. */
struct pattern {
	struct segment segment[SEGMENTS_MAX];
	bool is_param[SEGMENTS_MAX]; /* text is the name, len its length */
	int segments;
	int params;
	const struct http_route *route[METHOD_COUNT];
	void *module[METHOD_COUNT];
	const struct http_gate *gate[METHOD_COUNT]; /* NULL: the options' */
	char allow[64];
	char *text; /* the memory of segment[].text */
};

/* Compiles ${routes}, whose lists it keeps. */
enum rc router_new(const struct http_routes *routes, struct router **ret,
    struct err *err) MUST_USE;

/* NULL is allowed. */
void router_free(struct router *router);

/* The pattern for a path, NULL if there is none. */
const struct pattern *router_find(
    const struct router *router, const struct segment *segments, int n);

#endif
