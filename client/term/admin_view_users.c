/* SPDX-License-Identifier: MIT */
/*
 * The tables of users and of the audit log.  Pure functions.
 */
#include "term/admin_view.h"
#include "term/human.h"

static void
add_user(struct grid *grid, const struct look *look, const json_t *row)
{

	render_member(grid_cell(grid, STYLE_PLAIN), row, "name", "?");
	render_member(grid_cell(grid, STYLE_PLAIN), row, "display_name", "");
	if (render_time_of(row, "disabled_at") != 0)
		buf_adds(grid_cell(grid, STYLE_RED), "disabled");
	else
		buf_adds(grid_cell(grid, STYLE_CYAN),
		    json_is_true(json_object_get(row, "admin")) ? "admin" : "");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "devices");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "pending");
	human_time(grid_cell(grid, STYLE_PLAIN), look,
	    render_time_of(row, "created_at"));
}

void
admin_view_users(struct buf *b, const struct look *look, const json_t *users)
{
	static const struct grid_column columns[] = {
	    {"NAME", false, 16},
	    {"DISPLAY NAME", false, 12},
	    {"ROLE", false, 0},
	    {"DEVICES", true, 0},
	    {"PENDING", true, 0},
	    {"CREATED", false, 0},
	};

	admin_view_list(b, look, users, &ADMIN_VIEW_TABLE(columns, add_user));
}

static void
add_audit(struct grid *grid, const struct look *look, const json_t *row)
{

	human_time(
	    grid_cell(grid, STYLE_PLAIN), look, render_time_of(row, "at"));
	render_member(grid_cell(grid, STYLE_CYAN), row, "actor", "?");
	render_member(grid_cell(grid, STYLE_PLAIN), row, "action", "?");
	render_member(grid_cell(grid, STYLE_PLAIN), row, "object", "");
	render_member(grid_note(grid, STYLE_DIM), row, "detail", "");
}

void
admin_view_audit(struct buf *b, const struct look *look, const json_t *entries)
{
	static const struct grid_column columns[] = {
	    {"WHEN", false, 0},
	    {"WHO", false, 8},
	    {"DID", false, 10},
	    {"TO", false, 12},
	};

	admin_view_list(
	    b, look, entries, &ADMIN_VIEW_TABLE(columns, add_audit));
}
