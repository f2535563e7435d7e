/* SPDX-License-Identifier: MIT */
/*
 * The router: the table of routes, compiled into one pattern for each distinct
 * path (names of placeholders included) and sorted by the number of segments.
 * If several patterns match a path, the one with the fewest placeholders wins,
 * and among equals the one that comes first in the table.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "http/router_internal.h"

struct router {
	struct pattern *patterns;
	int count;
	int first[SEGMENTS_MAX + 2]; /* by segments: [first[n], first[n+1]) */
};

static const char *const method_names[METHOD_COUNT] = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

enum method
router_method_find(const char *name)
{
	int i;

	for (i = 0; i < (int)METHOD_COUNT; i++)
		if (strcmp(method_names[i], name) == 0)
			return ((enum method)i);
	return (METHOD_COUNT);
}

const char *
router_method_text(enum method method)
{

	return (method == METHOD_COUNT ? "" : method_names[method]);
}

/* Splits the path of a route into ${p}. */
static enum rc
pattern_parse(struct pattern *p, const char *path, struct err *err)
{
	struct segment *s;
	char *at, *slash;

	if (path[0] != '/')
		return (err_set(err, RC_INVALID, "route %s: no path", path));
	if ((p->text = mem_strdup(path + 1)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "route %s", path));
	for (at = p->text; *at != '\0'; at = slash) {
		if (p->segments == SEGMENTS_MAX)
			return (err_set(
			    err, RC_INVALID, "route %s is too deep", path));
		slash = strchrnul(at, '/');
		s = &p->segment[p->segments];
		s->text = at;
		s->len = (size_t)(slash - at);
		if (*slash == '/')
			*slash++ = '\0';
		if (at[0] == '{') {
			if (s->len < 3 || at[s->len - 1] != '}' ||
			    p->params == PARAMS_MAX)
				return (err_set(err, RC_INVALID,
				    "route %s: bad placeholder", path));
			at[s->len - 1] = '\0';
			s->text = at + 1;
			s->len -= 2;
			p->is_param[p->segments] = true;
			p->params++;
		}
		p->segments++;
	}
	return (RC_OK);
}

/* Returns true if two patterns are the same, including the names of their
 * placeholders. */
static bool
pattern_same(const struct pattern *a, const struct pattern *b)
{
	int i;

	if (a->segments != b->segments)
		return (false);
	for (i = 0; i < a->segments; i++)
		if (a->is_param[i] != b->is_param[i] ||
		    strcmp(a->segment[i].text, b->segment[i].text) != 0)
			return (false);
	return (true);
}

/* Returns true if ${a} is sorted before ${b}. */
static bool
pattern_before(const struct pattern *a, const struct pattern *b)
{

	if (a->segments != b->segments)
		return (a->segments < b->segments);
	return (a->params < b->params);
}

static void
pattern_write_allow(struct pattern *p)
{
	size_t used = 0;
	int i, n;

	for (i = 0; i < (int)METHOD_COUNT; i++) {
		if (p->route[i] == NULL && i != (int)METHOD_OPTIONS)
			continue;
		n = snprintf(p->allow + used, sizeof(p->allow) - used, "%s%s",
		    used == 0 ? "" : ", ", method_names[i]);
		assert(n > 0 && (size_t)n < sizeof(p->allow) - used);
		used += (size_t)n;
	}
}

/* Adds ${route}, which is in the list of ${table}, to ${router}.  A route for
 * GET serves HEAD as well.  RC_EXISTS: the path has a route for this method
 * already.  RC_INVALID: the method or the path is malformed.  RC_NO_MEMORY:
 * there is no memory. */
static enum rc
router_add(struct router *router, const struct http_route *route,
    const struct http_routes *table, struct err *err)
{
	struct pattern fresh, *p = NULL;
	enum method method = router_method_find(route->method);
	enum rc rc;
	int i;

	if (method == METHOD_COUNT)
		return (
		    err_set(err, RC_INVALID, "route %s: method", route->path));
	memset(&fresh, 0, sizeof(fresh));
	if ((rc = pattern_parse(&fresh, route->path, err)) != RC_OK) {
		mem_free(fresh.text);
		return (rc);
	}
	for (i = 0; i < router->count; i++)
		if (pattern_same(&router->patterns[i], &fresh))
			p = &router->patterns[i];
	if (p != NULL) {
		mem_free(fresh.text);
	} else {
		for (i = router->count;
		     i > 0 && pattern_before(&fresh, &router->patterns[i - 1]);
		     i--)
			router->patterns[i] = router->patterns[i - 1];
		p = &router->patterns[i];
		*p = fresh;
		router->count++;
	}
	if (p->route[method] != NULL)
		return (err_set(err, RC_EXISTS, "route %s %s stands twice",
		    route->method, route->path));
	p->route[method] = route;
	p->module[method] = table->module;
	p->gate[method] = table->gate;
	if (method == METHOD_GET) {
		p->route[METHOD_HEAD] = route;
		p->module[METHOD_HEAD] = table->module;
		p->gate[METHOD_HEAD] = table->gate;
	}
	return (RC_OK);
}

enum rc
router_new(
    const struct http_routes *routes, struct router **ret, struct err *err)
{
	const struct http_routes *table;
	const struct http_route *route;
	struct router *router;
	enum rc rc = RC_OK;
	size_t n = 0;
	int i, depth;

	for (table = routes; table->list != NULL; table++)
		for (route = table->list; route->method != NULL; route++)
			n++;
	if ((router = mem_zalloc(1, sizeof(*router))) == NULL ||
	    (router->patterns = mem_zalloc(n + 1, sizeof(*router->patterns))) ==
		NULL) {
		rc = err_set(err, RC_NO_MEMORY, "routes");
		goto free_router;
	}
	for (table = routes; table->list != NULL; table++)
		for (route = table->list; route->method != NULL; route++)
			if ((rc = router_add(router, route, table, err)) !=
			    RC_OK)
				goto free_router;
	for (i = 0, depth = 0; depth <= SEGMENTS_MAX + 1; depth++) {
		while (
		    i < router->count && router->patterns[i].segments < depth)
			i++;
		router->first[depth] = i;
	}
	for (i = 0; i < router->count; i++)
		pattern_write_allow(&router->patterns[i]);
	*ret = router;
	return (RC_OK);

free_router:
	router_free(router);
	return (rc);
}

void
router_free(struct router *router)
{
	int i;

	if (router == NULL)
		return;
	for (i = 0; i < router->count; i++)
		mem_free(router->patterns[i].text);
	mem_free(router->patterns);
	mem_free(router);
}

const struct pattern *
router_find(const struct router *router, const struct segment *segments, int n)
{
	const struct pattern *p, *end;
	int i;

	assert(n >= 0 && n <= SEGMENTS_MAX);
	p = &router->patterns[router->first[n]];
	end = &router->patterns[router->first[n + 1]];
	for (; p < end; p++) {
		for (i = 0; i < n; i++) {
			if (p->is_param[i] && segments[i].len > 0)
				continue;
			if (p->is_param[i] ||
			    p->segment[i].len != segments[i].len ||
			    memcmp(p->segment[i].text, segments[i].text,
				segments[i].len) != 0)
				break;
		}
		if (i == n)
			return (p);
	}
	return (NULL);
}
