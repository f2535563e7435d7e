/* SPDX-License-Identifier: MIT */
/*
 * Values in PostgreSQL's binary formats (the *_send and *_recv functions of its
 * source; documentation, "Frontend/Backend Protocol"): integers in network byte
 * order, a boolean as one byte (0 or 1), text and bytea unchanged, a uuid as
 * its 16 bytes.  An array of one dimension has a header (number of dimensions,
 * whether it contains NULLs, element type, number of elements, lower bound),
 * and then for each element its length in bytes (-1: NULL) and its bytes.
 */
#include <endian.h>
#include <string.h>

#include "db/db_postgres_internal.h"

/* Object ids of the built-in types, which never change (pg_type.dat). */
#define PG_BOOL 16
#define PG_BYTEA 17
#define PG_INT8 20
#define PG_INT2 21
#define PG_INT4 23
#define PG_TEXT 25
#define PG_VARCHAR 1043
#define PG_UUID 2950

static const struct {
	Oid type, array;
	enum db_type as;
	int size; /* of an integer, in bytes */
} types[] = {
    {PG_INT8, 1016, DB_I64, 8},
    {PG_INT4, 1007, DB_I64, 4},
    {PG_INT2, 1005, DB_I64, 2},
    {PG_BOOL, 1000, DB_I64, 1},
    {PG_TEXT, 1009, DB_TEXT, 0},
    {PG_VARCHAR, 1015, DB_TEXT, 0},
    {PG_BYTEA, 1001, DB_BLOB, 0},
    {PG_UUID, 2951, DB_BLOB, 0},
};
#define NTYPES (sizeof(types) / sizeof(types[0]))

/* Returns the index in types[] of ${type} or, if ${type} is an array, of the
 * type of its elements; NTYPES: the type is not known.  *ret_array: whether
 * ${type} is such an array. */
static size_t
find(Oid type, bool *ret_array)
{
	size_t i;

	for (i = 0; i < NTYPES; i++) {
		*ret_array = types[i].array == type;
		if (types[i].type == type || types[i].array == type)
			break;
	}
	return (i);
}

bool
db_postgres_type_known(Oid type, bool *ret_array)
{

	return (find(type, ret_array) < NTYPES);
}

/* Writes ${v} to ${room} in network byte order: as an integer if ${size} is 8,
 * 4 or 2 bytes, as a boolean if ${size} is 1.  Returns false if ${v} does not
 * fit (a boolean is 0 or 1); the bytes in ${room} are then not valid. */
static bool
put_integer(int64_t v, int size, uint8_t room[8])
{
	uint64_t be64 = htobe64((uint64_t)v);
	uint32_t be32 = htobe32((uint32_t)v);
	uint16_t be16 = htobe16((uint16_t)v);

	switch (size) {
	case 8:
		memcpy(room, &be64, 8);
		return (true);
	case 4:
		memcpy(room, &be32, 4);
		return (v >= INT32_MIN && v <= INT32_MAX);
	case 2:
		memcpy(room, &be16, 2);
		return (v >= INT16_MIN && v <= INT16_MAX);
	default:
		room[0] = v != 0;
		return (v == 0 || v == 1);
	}
}

/* Encodes ${v} as the type types[${t}].  *ret_p: the bytes, which are in
 * ${room} for a number, and for a text or blob are those that ${v} points to,
 * without a copy; NULL for a NULL.  *ret_n: the number of bytes.  RC_INTERNAL:
 * ${v} does not fit the type. */
static enum rc
put_value(size_t t, const struct db_val *v, uint8_t room[8], const void **ret_p,
    size_t *ret_n, struct err *err)
{

	*ret_p = NULL;
	*ret_n = 0;
	if (v->type == DB_NULL)
		return (RC_OK);
	if (v->type != types[t].as)
		return (err_set(err, RC_INTERNAL,
		    "a parameter of another kind than type %u", types[t].type));
	if (v->type == DB_I64) {
		if (!put_integer(v->u.i64, types[t].size, room))
			return (err_set(err, RC_INTERNAL,
			    "a number too large for type %u", types[t].type));
		*ret_p = room;
		*ret_n = (size_t)types[t].size;
		return (RC_OK);
	}
	if (types[t].type == PG_UUID && v->u.bytes.n != 16)
		return (err_set(
		    err, RC_INTERNAL, "a uuid of %zu bytes", v->u.bytes.n));
	*ret_p = v->u.bytes.p != NULL ? v->u.bytes.p : "";
	*ret_n = v->u.bytes.n;
	return (RC_OK);
}

enum rc
db_postgres_encode(const struct db_postgres_stmt *st, const struct db_val *v,
    struct db_postgres_params *ret, struct err *err)
{
	const void *p;
	size_t n;
	bool array;
	enum rc rc;
	int i;

	ret->n = st->nparams;
	for (i = 0; i < ret->n; i++) {
		rc = put_value(find(st->types[i], &array), &v[i], ret->room[i],
		    &p, &n, err);
		if (rc != RC_OK)
			return (err_wrap(err, "$%d", i + 1));
		ret->values[i] = p;
		ret->lengths[i] = (int)n;
		ret->formats[i] = 1;
	}
	return (RC_OK);
}

static void
add_i32(struct buf *b, int32_t v)
{
	uint32_t be = htobe32((uint32_t)v);

	buf_add(b, &be, sizeof(be));
}

/* Appends column ${col} of ${nrows} rows as an array. */
static enum rc
add_array(struct buf *b, const struct db_postgres_stmt *st, int col,
    const struct db_val *v, size_t nrows, struct err *err)
{
	size_t i, n, t;
	const void *p;
	uint8_t room[8];
	bool array, nulls = false;
	enum rc rc;

	t = find(st->types[col], &array);
	for (i = 0; i < nrows; i++)
		nulls = nulls || v[i * st->nparams].type == DB_NULL;
	add_i32(b, 1);
	add_i32(b, nulls ? 1 : 0);
	add_i32(b, (int32_t)types[t].type);
	add_i32(b, (int32_t)nrows);
	add_i32(b, 1);
	for (i = 0; i < nrows; i++) {
		rc = put_value(t, &v[i * st->nparams], room, &p, &n, err);
		if (rc != RC_OK)
			return (
			    err_wrap(err, "$%d of row %zu", col + 1, i + 1));
		add_i32(b, p == NULL ? -1 : (int32_t)n);
		if (p != NULL)
			buf_add(b, p, n);
	}
	return (RC_OK);
}

enum rc
db_postgres_encode_set(const struct db_postgres_stmt *st,
    const struct db_val *v, size_t nrows, struct buf *room,
    struct db_postgres_params *ret, struct err *err)
{
	size_t at[DB_POSTGRES_PARAMS_MAX + 1];
	enum rc rc;
	int i;

	ret->n = st->nparams;
	buf_reset(room);
	for (i = 0; i < ret->n; i++) {
		at[i] = room->len;
		rc = add_array(room, st, i, v + i, nrows, err);
		if (rc != RC_OK)
			return (rc);
	}
	at[i] = room->len;
	if (!buf_ok(room))
		return (err_set(err, RC_NO_MEMORY, "parameters"));
	for (i = 0; i < ret->n; i++) {
		ret->values[i] = (const char *)room->data + at[i];
		ret->lengths[i] = (int)(at[i + 1] - at[i]);
		ret->formats[i] = 1;
	}
	return (RC_OK);
}

int64_t
db_postgres_i64(const PGresult *result, int row, int col)
{
	const char *p = PQgetvalue(result, row, col);
	uint64_t be64;
	uint32_t be32;
	uint16_t be16;

	if (PQgetisnull(result, row, col))
		return (0);
	switch (PQgetlength(result, row, col)) {
	case 8:
		memcpy(&be64, p, sizeof(be64));
		return ((int64_t)be64toh(be64));
	case 4:
		memcpy(&be32, p, sizeof(be32));
		return ((int32_t)be32toh(be32));
	case 2:
		memcpy(&be16, p, sizeof(be16));
		return ((int16_t)be16toh(be16));
	case 1:
		return (*p != 0);
	default:
		return (0);
	}
}
