/* SPDX-License-Identifier: MIT */
/*
 * Replays the log of a disk up to a power cut.
 *
 * Changes of the folder become durable in their order, as in a journalling file
 * system: when a file whose name is new is synced for the first time, or when
 * the folder is synced.  The sectors of a file become durable in any order, at
 * the latest when the file is synced.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/rnd.h"
#include "fault/plvfs_internal.h"

#define SECTOR 512

/* Positions in the log of operations that are not durable yet. */
struct list {
	size_t *ops;
	size_t n, cap;
};

struct replay_file {
	struct bytes durable;
	struct list pending;
};

struct plvfs_replay {
	const struct plvfs *v;
	size_t at;
	struct replay_file *files;
	struct folder folder;
	struct list folder_pending;
};

static void
list_add(struct list *l, size_t op)
{

	if (l->n == l->cap) {
		l->cap = l->cap * 2 + 32;
		l->ops = realloc(l->ops, l->cap * sizeof(*l->ops));
		assert(l->ops != NULL);
	}
	l->ops[l->n++] = op;
}

struct plvfs_replay *
plvfs_replay_new(const struct plvfs *v)
{
	struct plvfs_replay *r;
	size_t i;

	r = calloc(1, sizeof(*r));
	assert(r != NULL);
	r->v = v;
	r->files = calloc(v->nfiles + 1, sizeof(*r->files));
	assert(r->files != NULL);
	for (i = 0; i < v->nfiles; i++)
		bytes_put(&r->files[i].durable, 0, v->files[i]->base.p,
		    v->files[i]->base.n);
	r->folder = v->base_folder;
	return (r);
}

void
plvfs_replay_free(struct plvfs_replay *r)
{
	size_t i;

	if (r == NULL)
		return;
	for (i = 0; i < r->v->nfiles; i++) {
		free(r->files[i].durable.p);
		free(r->files[i].pending.ops);
	}
	free(r->files);
	free(r->folder_pending.ops);
	free(r);
}

static void
apply_to_folder(struct folder *f, const struct plvfs_op *op)
{

	if (op->kind == OP_LINK)
		folder_put(f, op->name, op->file);
	else
		folder_drop(f, op->name);
}

static void
sync_folder(struct plvfs_replay *r)
{
	size_t i;

	for (i = 0; i < r->folder_pending.n; i++)
		apply_to_folder(
		    &r->folder, &r->v->ops[r->folder_pending.ops[i]]);
	r->folder_pending.n = 0;
}

static void
sync_file(struct plvfs_replay *r, size_t file)
{
	struct replay_file *f = &r->files[file];
	const struct plvfs_op *op;
	size_t i;

	for (i = 0; i < f->pending.n; i++) {
		op = &r->v->ops[f->pending.ops[i]];
		if (op->kind == OP_WRITE)
			bytes_put(&f->durable, op->off, op->data, op->n);
		else
			bytes_resize(&f->durable, op->off);
	}
	f->pending.n = 0;
	for (i = 0; i < r->folder_pending.n; i++) {
		op = &r->v->ops[r->folder_pending.ops[i]];
		if (op->kind == OP_LINK && op->file == file) {
			sync_folder(r);
			return;
		}
	}
}

bool
plvfs_replay_next(struct plvfs_replay *r)
{
	const struct plvfs_op *op;

	if (r->at == r->v->nops)
		return (false);
	op = &r->v->ops[r->at];
	switch (op->kind) {
	case OP_WRITE:
	case OP_TRUNCATE:
		list_add(&r->files[op->file].pending, r->at);
		break;
	case OP_SYNC:
		sync_file(r, op->file);
		break;
	case OP_SYNC_LOST:
		r->files[op->file].pending.n = 0;
		break;
	case OP_LINK:
	case OP_UNLINK:
		list_add(&r->folder_pending, r->at);
		break;
	case OP_DIR_SYNC:
	default:
		sync_folder(r);
		break;
	}
	r->at++;
	return (true);
}

/* ---- images ---- */

struct dice {
	struct rnd_seeded rnd;
	unsigned keep, torn;
};

/* Applies a write, of which each sector is kept, lost or torn by itself. */
static void
put_sectors(struct bytes *b, const struct plvfs_op *op, struct dice *dice)
{
	size_t from, to, end;
	unsigned fate;

	for (from = op->off; from < op->off + op->n; from = end) {
		end = from - from % SECTOR + SECTOR;
		if (end > op->off + op->n)
			end = op->off + op->n;
		fate = (unsigned)rnd_below(&dice->rnd.rnd, 100);
		if (fate >= dice->keep + dice->torn)
			continue;
		to = end;
		if (fate >= dice->keep)
			to = from +
			     (size_t)rnd_below(&dice->rnd.rnd, end - from);
		bytes_put(b, from, op->data + (from - op->off), to - from);
	}
}

static size_t
image_file(const struct plvfs_replay *r, size_t file, struct dice *dice,
    struct plvfs *into)
{
	const struct replay_file *f = &r->files[file];
	const struct plvfs_op *op;
	struct file *made;
	size_t i, index;

	index = plvfs_file_new(into);
	made = into->files[index];
	bytes_put(&made->now, 0, f->durable.p, f->durable.n);
	for (i = 0; i < f->pending.n; i++) {
		op = &r->v->ops[f->pending.ops[i]];
		if (op->kind == OP_WRITE)
			put_sectors(&made->now, op, dice);
		else if (rnd_below(&dice->rnd.rnd, 100) < dice->keep)
			bytes_resize(&made->now, op->off);
	}
	bytes_put(&made->base, 0, made->now.p, made->now.n);
	return (index);
}

void
plvfs_replay_image(const struct plvfs_replay *r, uint64_t seed, unsigned keep,
    unsigned torn, struct plvfs *into)
{
	struct folder folder = r->folder;
	struct dice dice;
	size_t i;

	plvfs_clear(into);
	rnd_seeded_init(&dice.rnd, seed * 1000003 + r->at);
	dice.keep = keep;
	dice.torn = torn;
	for (i = 0; i < r->folder_pending.n; i++) {
		if (rnd_below(&dice.rnd.rnd, 100) >= keep)
			break;
		apply_to_folder(&folder, &r->v->ops[r->folder_pending.ops[i]]);
	}
	for (i = 0; i < folder.n; i++)
		folder_put(&into->folder, folder.names[i].name,
		    image_file(r, folder.names[i].file, &dice, into));
	into->base_folder = into->folder;
}

void
plvfs_cut(const struct plvfs *v, uint64_t seed, unsigned keep, unsigned torn,
    struct plvfs *into)
{
	struct plvfs_replay *r;

	r = plvfs_replay_new(v);
	while (plvfs_replay_next(r))
		continue;
	plvfs_replay_image(r, seed, keep, torn, into);
	plvfs_replay_free(r);
}
