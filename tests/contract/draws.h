/* SPDX-License-Identifier: MIT */
/*
 * Parameters for a statement, drawn at random from what exists in the world of
 * twins.c, and sometimes beyond it.
 */
#ifndef CONTRACT_DRAWS_H
#define CONTRACT_DRAWS_H

#include <libpq-fe.h>

#include "db/db.h"

#define DRAWS_ROWS 3
#define DRAWS_PARAMS 32
#define DRAWS_COLUMNS 32

/* A statement as PostgreSQL describes it. */
struct shape {
	int stmt, nparams, ncolumns;
	Oid params[DRAWS_PARAMS], columns[DRAWS_COLUMNS];
};

/* Returns true if the statement runs for many rows at once: its parameters are
 * arrays. */
static inline bool
shape_is_set(const struct shape *s)
{

	return (s->nparams > 0 && s->params[0] >= 1000 &&
		s->params[0] != 1043 && s->params[0] != 2950);
}

/* Starts the random numbers from a seed that depends on ${name} only. */
void draw_begin(const char *name);

/* Returns a number below ${below}. */
uint64_t draw(uint64_t below);

/* Draws ${nrows} rows of parameters.  The rows of a set begin with different
 * numbers.  The parameters are valid until the next call. */
void draw_params(const struct shape *s, int nrows, struct db_val *v);

#endif
