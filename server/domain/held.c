/* SPDX-License-Identifier: MIT */
/*
 * See held.h.
 */
#include <string.h>

#include "base/htab.h"
#include "base/mem.h"
#include "domain/held.h"

struct held {
	struct htab *rows; /* of struct held_row, each its own key */
};

struct held *
held_new(void)
{
	struct held *held;

	held = mem_zalloc(1, sizeof(*held));
	if (held == NULL)
		return (NULL);
	held->rows = htab_new(sizeof(struct held_row));
	if (held->rows == NULL) {
		mem_free(held);
		return (NULL);
	}
	return (held);
}

void
held_free(struct held *held)
{

	if (held == NULL)
		return;
	held_clear(held);
	htab_free(held->rows);
	mem_free(held);
}

enum rc
held_add(struct held *held, const struct held_row *row)
{
	struct held_row *copy;
	enum rc rc;

	if (held_has(held, row))
		return (RC_OK);
	copy = mem_zalloc(1, sizeof(*copy));
	if (copy == NULL)
		return (RC_NO_MEMORY);
	*copy = *row;
	rc = htab_set(held->rows, copy, copy);
	if (rc != RC_OK)
		mem_free(copy);
	return (rc);
}

void
held_remove(struct held *held, const struct held_row *row)
{

	mem_free(htab_remove(held->rows, row));
}

void
held_clear(struct held *held)
{
	size_t pos = 0;
	void *row;

	while ((row = htab_next(held->rows, &pos)) != NULL)
		mem_free(row);
	htab_clear(held->rows);
}

bool
held_has(const struct held *held, const struct held_row *row)
{

	return (htab_find(held->rows, row) != NULL);
}

size_t
held_count(const struct held *held)
{

	return (htab_count(held->rows));
}

const struct held_row *
held_next(const struct held *held, size_t *pos)
{

	return (htab_next(held->rows, pos));
}

int64_t
held_send_id(int64_t sender_id, const char *to)
{
	const uint64_t parts[2] = {
	    (uint64_t)sender_id, htab_hash(to, strlen(to))};

	return ((int64_t)htab_hash(parts, sizeof(parts)));
}
