/* SPDX-License-Identifier: MIT */
/*
 * Parameters for a statement, drawn at random from what there is in the world
 * of twins.c, and a little beside it.
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

/* Whether it is run for many rows at once: its parameters are arrays. */
static inline bool
shape_is_set(const struct shape *s)
{

	return (s->nparams > 0 && s->params[0] >= 1000 &&
		s->params[0] != 1043 && s->params[0] != 2950);
}

/* What is drawn from here on depends on ${name} alone. */
void draw_begin(const char *name);

/* A number below ${below}. */
uint64_t draw(uint64_t below);

/* ${nrows} rows of parameters; those of a set begin with different numbers.
 * They are valid until the next call. */
void draw_params(const struct shape *s, int nrows, struct db_val *v);

#endif
