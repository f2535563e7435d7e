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

/* The methods that the server knows, in the order of the Allow header. */
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

/* Returns METHOD_COUNT if ${name} is not a known method. */
enum method router_method_find(const char *name);

/* Returns the name of ${method}, or "" for METHOD_COUNT.  Static storage. */
const char *router_method_text(enum method method);

struct router;
struct segment {
	const char *text; /* NUL-terminated, decoded */
	size_t len;
};

/* A path of the table with its methods.  The arrays by method are parallel. */
struct pattern {
	struct segment segment[SEGMENTS_MAX];
	bool is_param[SEGMENTS_MAX]; /* a placeholder: text is its name */
	int segments;
	int params;
	const struct http_route *route[METHOD_COUNT];
	void *module[METHOD_COUNT];
	const struct http_gate *gate[METHOD_COUNT]; /* NULL: the options' */
	char allow[64];
	char *text; /* owns the memory of segment[].text */
};

/* Compiles ${routes}, an array that ends with an element whose list is NULL,
 * into *ret, which router_free() frees; *ret is set on success only.  Keeps
 * pointers to the routes, modules and gates, which must last until
 * router_free().  RC_INVALID: a method or a path is malformed.  RC_EXISTS: two
 * routes have the same method and path.  RC_NO_MEMORY: there is no memory. */
enum rc router_new(const struct http_routes *routes, struct router **ret,
    struct err *err) MUST_USE;

/* Frees ${router}.  NULL is allowed. */
void router_free(struct router *router);

/* Returns the pattern that matches the ${n} ${segments} of a path, whatever
 * methods the pattern has; among several, the one with the fewest placeholders.
 * NULL: no pattern matches.  ${router} owns the pattern.  The caller makes sure
 * that ${n} is from 0 to SEGMENTS_MAX. */
const struct pattern *router_find(
    const struct router *router, const struct segment *segments, int n);

#endif
