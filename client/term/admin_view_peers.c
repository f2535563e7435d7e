/* SPDX-License-Identifier: MIT */
/*
 * The tables of other servers and of their keys.  Pure functions.
 */
#include "term/admin_view.h"
#include "term/human.h"

/* If ${peer} is blocked, appends the age of the block and the operator who
 * blocked ${peer}; otherwise appends nothing. */
static void
add_block(struct buf *b, const struct look *look, const json_t *peer)
{

	if (render_time_of(peer, "blocked_at") == 0)
		return;
	buf_adds(b, "blocked ");
	admin_view_age(b, look, peer, "blocked_at");
	buf_adds(b, " ago by ");
	render_member(b, peer, "blocked_by", "?");
}

/* Appends the cell with the state of ${peer}. */
static void
add_state(struct grid *grid, const json_t *peer)
{

	if (render_time_of(peer, "blocked_at") != 0)
		buf_adds(grid_cell(grid, STYLE_RED), "blocked");
	else if (admin_view_integer(peer, "pinned_keys", 0) > 0)
		buf_adds(grid_cell(grid, STYLE_CYAN), "pinned");
	else
		buf_adds(grid_cell(grid, STYLE_PLAIN), "open");
}

static void
add_peer(struct grid *grid, const struct look *look, const json_t *row)
{

	render_member(grid_cell(grid, STYLE_PLAIN), row, "domain", "?");
	add_state(grid, row);
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "live_keys");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "pinned_keys");
	human_time(grid_cell(grid, STYLE_PLAIN), look,
	    render_time_of(row, "first_seen_at"));
	human_time(grid_cell(grid, STYLE_PLAIN), look,
	    render_time_of(row, "last_seen_at"));
	add_block(grid_note(grid, STYLE_DIM), look, row);
}

void
admin_view_peers(struct buf *b, const struct look *look, const json_t *peers)
{
	static const struct grid_column columns[] = {
	    {"SERVER", false, 16},
	    {"STATE", false, 0},
	    {"KEYS", true, 0},
	    {"PINNED", true, 0},
	    {"FIRST SEEN", false, 0},
	    {"LAST SEEN", false, 0},
	};

	admin_view_list(b, look, peers, &ADMIN_VIEW_TABLE(columns, add_peer));
}

/* ---- one ---- */

/* Appends the cell that says whether signatures by ${key} are accepted. */
static void
add_trust(struct grid *grid, const json_t *key)
{

	if (json_is_true(json_object_get(key, "verifies")))
		buf_adds(grid_cell(grid, STYLE_GREEN), "verifies");
	else if (render_time_of(key, "retired_at") != 0)
		buf_adds(grid_cell(grid, STYLE_DIM), "retired");
	else
		buf_adds(grid_cell(grid, STYLE_YELLOW), "not pinned");
}

static void
add_key(struct grid *grid, const struct look *look, const json_t *row)
{
	struct buf *note;

	render_member(grid_cell(grid, STYLE_PLAIN), row, "id", "?");
	add_trust(grid, row);
	human_time(grid_cell(grid, STYLE_PLAIN), look,
	    render_time_of(row, "first_seen_at"));
	human_time(grid_cell(grid, STYLE_PLAIN), look,
	    render_time_of(row, "last_seen_at"));
	render_member(grid_cell(grid, STYLE_CYAN), row, "pinned_by", "");
	note = grid_note(grid, STYLE_DIM);
	render_member(note, row, "public", "?");
}

void
admin_view_peer(struct buf *b, const struct look *look, const json_t *peer)
{
	static const struct grid_column columns[] = {
	    {"KEY", false, 12},
	    {"STATE", false, 0},
	    {"FIRST SEEN", false, 0},
	    {"LAST SEEN", false, 0},
	    {"PINNED BY", false, 8},
	};
	const json_t *keys = json_object_get(peer, "keys");
	json_t *alone = json_pack("[O]", peer);

	admin_view_peers(b, look, alone);
	json_decref(alone);
	if (json_array_size(keys) == 0)
		return;
	buf_addc(b, '\n');
	admin_view_list(b, look, keys, &ADMIN_VIEW_TABLE(columns, add_key));
}
