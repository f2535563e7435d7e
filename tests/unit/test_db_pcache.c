/* SPDX-License-Identifier: MIT */
/*
 * The filter in front of SQLite's page cache, over a cache that is only a list
 * of page numbers.  After each truncation the cache has no page beyond the end,
 * and the renamings of a split of a page do not make the next truncation walk
 * the cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rnd.h"
#include "db/db_sqlite_internal.h"

#define PAGES 40
/* The page of the lock byte, which lies beyond every page of a small
 * database. */
#define LOCK_PAGE 262145

/* The cache below the filter: it has page i if number[i] is not 0. */
static unsigned number[PAGES];
static sqlite3_pcache_page page[PAGES];
static int truncations, created, destroyed;
static bool exhausted;

/* The allocator of SQLite. */
static sqlite3_mem_methods memory;
static bool no_memory;

static void *
allocate(int n)
{

	return (no_memory ? NULL : memory.xMalloc(n));
}

static size_t
find(unsigned key)
{
	size_t i;

	for (i = 0; i < PAGES && number[i] != key; i++)
		continue;
	return (i);
}

static int
list_init(void *arg)
{

	(void)arg;
	return (SQLITE_OK);
}

static void
list_shutdown(void *arg)
{

	(void)arg;
}

static sqlite3_pcache *
list_create(int page_size, int extra_size, int purgeable)
{

	assert_int_equal(page_size, 4096);
	assert_int_equal(extra_size, 64);
	assert_int_equal(purgeable, 1);
	if (exhausted)
		return (NULL);
	created++;
	memset(number, 0, sizeof(number));
	return ((sqlite3_pcache *)(void *)number);
}

static void
list_destroy(sqlite3_pcache *p)
{

	assert_ptr_equal(p, number);
	destroyed++;
}

static void
list_cachesize(sqlite3_pcache *p, int pages)
{

	assert_ptr_equal(p, number);
	assert_int_equal(pages, 7);
}

static int
list_pagecount(sqlite3_pcache *p)
{
	int n = 0;
	size_t i;

	assert_ptr_equal(p, number);
	for (i = 0; i < PAGES; i++)
		n += number[i] != 0 ? 1 : 0;
	return (n);
}

static sqlite3_pcache_page *
list_fetch(sqlite3_pcache *p, unsigned key, int create)
{
	size_t i = find(key);

	assert_ptr_equal(p, number);
	if (i == PAGES && create != 0 && (i = find(0)) < PAGES)
		number[i] = key;
	return (i < PAGES ? &page[i] : NULL);
}

static void
list_unpin(sqlite3_pcache *p, sqlite3_pcache_page *one, int discard)
{

	assert_ptr_equal(p, number);
	if (discard)
		number[one - page] = 0;
}

static void
list_rekey(
    sqlite3_pcache *p, sqlite3_pcache_page *one, unsigned from, unsigned to)
{
	size_t there = find(to);

	assert_ptr_equal(p, number);
	assert_int_equal(number[one - page], from);
	if (there < PAGES)
		number[there] = 0;
	number[one - page] = to;
}

static void
list_truncate(sqlite3_pcache *p, unsigned limit)
{
	size_t i;

	assert_ptr_equal(p, number);
	truncations++;
	for (i = 0; i < PAGES; i++)
		if (number[i] >= limit)
			number[i] = 0;
}

static void
list_shrink(sqlite3_pcache *p)
{

	assert_ptr_equal(p, number);
}

static sqlite3_pcache_methods2 filter;

static int
setup(void **state)
{
	static sqlite3_pcache_methods2 list = {.iVersion = 1,
	    .xInit = list_init,
	    .xShutdown = list_shutdown,
	    .xCreate = list_create,
	    .xCachesize = list_cachesize,
	    .xPagecount = list_pagecount,
	    .xFetch = list_fetch,
	    .xUnpin = list_unpin,
	    .xRekey = list_rekey,
	    .xTruncate = list_truncate,
	    .xDestroy = list_destroy,
	    .xShrink = list_shrink};
	sqlite3_mem_methods methods;

	(void)state;
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory), SQLITE_OK);
	methods = memory;
	methods.xMalloc = allocate;
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_PCACHE2, &list), SQLITE_OK);
	db_sqlite_pcache_install();
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &filter), SQLITE_OK);
	assert_ptr_not_equal(filter.xTruncate, list_truncate);
	assert_int_equal(filter.xInit(filter.pArg), SQLITE_OK);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	filter.xShutdown(filter.pArg);
	return (0);
}

static sqlite3_pcache *
open_cache(void)
{
	sqlite3_pcache *p = filter.xCreate(4096, 64, 1);

	assert_non_null(p);
	filter.xCachesize(p, 7);
	truncations = 0;
	return (p);
}

/* SQLite exchanges two pages by renaming one to the lock page. */
static void
swap(sqlite3_pcache *p, unsigned a, unsigned b)
{
	sqlite3_pcache_page *pa = filter.xFetch(p, a, 2);
	sqlite3_pcache_page *pb = filter.xFetch(p, b, 2);

	filter.xRekey(p, pa, a, LOCK_PAGE);
	filter.xRekey(p, pb, b, a);
	filter.xRekey(p, pa, LOCK_PAGE, b);
}

static void
test_split(void **state)
{
	sqlite3_pcache *p = open_cache();
	unsigned i;

	(void)state;
	for (i = 1; i <= 20; i++) {
		swap(p, i, i + 1);
		filter.xTruncate(p, 22);
	}
	assert_int_equal(truncations, 0);
	assert_int_equal(filter.xPagecount(p), 21);
	/* The database becomes smaller. */
	filter.xTruncate(p, 12);
	assert_int_equal(truncations, 1);
	assert_int_equal(filter.xPagecount(p), 11);
	filter.xTruncate(p, 12);
	assert_int_equal(truncations, 1);
	/* All pages are dropped. */
	filter.xTruncate(p, 1);
	assert_int_equal(truncations, 2);
	assert_int_equal(filter.xPagecount(p), 0);
	filter.xTruncate(p, 1);
	assert_int_equal(truncations, 2);
	filter.xShrink(p);
	filter.xDestroy(p);
}

/* A rollback comes between the renamings of a split. */
static void
test_split_undone(void **state)
{
	sqlite3_pcache *p = open_cache();

	(void)state;
	filter.xRekey(p, filter.xFetch(p, 3, 2), 3, LOCK_PAGE);
	filter.xTruncate(p, 4);
	assert_int_equal(truncations, 1);
	assert_int_equal(filter.xPagecount(p), 0);
	filter.xTruncate(p, 4);
	assert_int_equal(truncations, 1);
	filter.xDestroy(p);
}

/* After any sequence of calls, no page beyond the end is left. */
static void
test_any(void **state)
{
	sqlite3_pcache_page *one;
	sqlite3_pcache *p;
	struct rnd_seeded rnd;
	unsigned limit;
	int round, step;
	size_t i;

	(void)state;
	for (round = 0; round < 200; round++) {
		rnd_seeded_init(&rnd, (uint64_t)round);
		p = open_cache();
		for (step = 0; step < 300; step++) {
			i = rnd_below(&rnd.rnd, PAGES);
			switch (rnd_below(&rnd.rnd, 4)) {
			case 0:
				(void)filter.xFetch(p,
				    1 + (unsigned)rnd_below(&rnd.rnd, 60),
				    (int)rnd_below(&rnd.rnd, 3));
				break;
			case 1:
				if (number[i] != 0)
					filter.xUnpin(p, &page[i],
					    (int)rnd_below(&rnd.rnd, 2));
				break;
			case 2:
				one = &page[i];
				limit =
				    rnd_below(&rnd.rnd, 3) == 0
					? LOCK_PAGE
					: 1 + (unsigned)rnd_below(&rnd.rnd, 60);
				if (number[i] != 0 && number[i] != limit)
					filter.xRekey(p, one, number[i], limit);
				break;
			default:
				limit = 1 + (unsigned)rnd_below(&rnd.rnd, 70);
				filter.xTruncate(p, limit);
				for (i = 0; i < PAGES; i++)
					assert_true(number[i] < limit);
				break;
			}
		}
		filter.xDestroy(p);
	}
	assert_int_equal(created, destroyed);
}

static void
test_no_memory(void **state)
{

	(void)state;
	exhausted = true;
	assert_null(filter.xCreate(4096, 64, 1));
	exhausted = false;
	no_memory = true;
	assert_null(filter.xCreate(4096, 64, 1));
	no_memory = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_split),
	    cmocka_unit_test(test_split_undone),
	    cmocka_unit_test(test_any),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, setup, teardown));
}
