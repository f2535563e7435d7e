/* SPDX-License-Identifier: MIT */
/*
 * See state_drawing.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/state_drawing.h"

#define STATES_MAX 16
#define HEADER_MAX (64 * 1024)

struct drawing {
	const struct state_machine *machine;
	bool drawn[STATES_MAX][STATES_MAX];
	int moves, wrong;
};

static int
state_of(struct drawing *d, const char *name, size_t n)
{
	int i;

	for (i = 0; i < d->machine->n; i++)
		if (strlen(d->machine->names[i]) == n &&
		    strncmp(d->machine->names[i], name, n) == 0)
			return (i);
	print_message(
	    "# %s: no state %.*s\n", d->machine->header, (int)n, name);
	d->wrong++;
	return (-1);
}

/* Reads the moves of one line of a drawing, which begins at ${from}: states, "
 * --", a reason, "--> ", a state. */
static void
draw_line(struct drawing *d, const char *from, const char *line_end)
{
	const char *dashes = strstr(from, " --"), *arrow, *to;
	size_t n;
	int a, b;

	if (dashes == NULL || dashes >= line_end)
		return;
	arrow = strstr(dashes, "--> ");
	if (arrow == NULL || arrow >= line_end)
		return;
	to = arrow + strlen("--> ");
	b = state_of(d, to, (size_t)(line_end - to));
	while (from < dashes) {
		n = strcspn(from, ", ");
		a = state_of(d, from, n);
		if (a >= 0 && b >= 0) {
			d->drawn[a][b] = true;
			d->moves++;
		}
		from += n;
		from += strspn(from, ", ");
		if (*from == '-')
			break;
	}
}

static void
draw(struct drawing *d, const char *text)
{
	const char *line, *end;

	for (line = text; *line != '\0'; line = *end == '\0' ? end : end + 1) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, " *\t", 3) == 0)
			draw_line(d, line + 3, end);
	}
}

static int
differences(struct drawing *d, const char *text)
{
	const struct state_machine *m = d->machine;
	int a, b;

	assert_true(m->n <= STATES_MAX);
	draw(d, text);
	for (a = 0; a < m->n; a++)
		for (b = 0; b < m->n; b++) {
			if (d->drawn[a][b] == m->allows(a, b))
				continue;
			print_message("# %s: %s --> %s is %s\n", m->header,
			    m->names[a], m->names[b],
			    d->drawn[a][b] ? "drawn, and not allowed"
					   : "allowed, and not drawn");
			d->wrong++;
		}
	return (d->wrong);
}

int
state_drawing_differences(const struct state_machine *machine, const char *text)
{
	struct drawing d;

	memset(&d, 0, sizeof(d));
	d.machine = machine;
	return (differences(&d, text));
}

void
assert_state_drawing(const struct state_machine *machine)
{
	const char *source = getenv("TWINBOX_SOURCE");
	static char text[HEADER_MAX];
	char path[1024];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s",
	    source == NULL ? "." : source, machine->header);
	if ((f = fopen(path, "r")) == NULL)
		fail_msg("cannot open %s", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	assert_true(n > 0 && n < sizeof(text) - 1);
	text[n] = '\0';
	assert_int_equal(state_drawing_differences(machine, text), 0);
}
