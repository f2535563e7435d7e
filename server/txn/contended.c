/* SPDX-License-Identifier: MIT */
/*
 * See contended.h.
 */
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "txn/contended.h"

struct contended {
	struct htab *rows; /* of struct contended_row, each its own key */
};

struct contended *
contended_new(void)
{
	struct contended *set;

	set = mem_zalloc(1, sizeof(*set));
	if (set == NULL)
		return (NULL);
	set->rows = htab_new(sizeof(struct contended_row));
	if (set->rows == NULL) {
		mem_free(set);
		return (NULL);
	}
	return (set);
}

void
contended_free(struct contended *set)
{

	if (set == NULL)
		return;
	contended_clear(set);
	htab_free(set->rows);
	mem_free(set);
}

enum rc
contended_add(struct contended *set, const struct contended_row *row)
{
	struct contended_row *copy;
	enum rc rc;

	if (contended_has(set, row))
		return (RC_OK);
	copy = mem_zalloc(1, sizeof(*copy));
	if (copy == NULL)
		return (RC_NO_MEMORY);
	*copy = *row;
	rc = htab_set(set->rows, copy, copy);
	if (rc != RC_OK)
		mem_free(copy);
	return (rc);
}

void
contended_remove(struct contended *set, const struct contended_row *row)
{

	mem_free(htab_remove(set->rows, row));
}

void
contended_clear(struct contended *set)
{
	size_t pos = 0;
	void *row;

	while ((row = htab_next(set->rows, &pos)) != NULL)
		mem_free(row);
	htab_clear(set->rows);
}

bool
contended_has(const struct contended *set, const struct contended_row *row)
{

	return (htab_find(set->rows, row) != NULL);
}

size_t
contended_count(const struct contended *set)
{

	return (htab_count(set->rows));
}

const struct contended_row *
contended_next(const struct contended *set, size_t *pos)
{

	return (htab_next(set->rows, pos));
}

int64_t
contended_send_id(int64_t sender_id, const char *to)
{
	const uint64_t parts[2] = {
	    (uint64_t)sender_id, htab_hash(to, strlen(to))};

	return ((int64_t)htab_hash(parts, sizeof(parts)));
}
