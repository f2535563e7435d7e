/* SPDX-License-Identifier: MIT */
/*
 * The terminal of a chat: lines of text above, one line being edited below
 * (libedit).  There is one terminal, and so one screen.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "base/buf.h"

struct screen;

/* Called with a line that was entered, NULL at the end of input. */
typedef void (*screen_line_fn)(void *arg, const char *line);

/* Takes the terminal over and shows the prompt.  NULL: no memory. */
struct screen *screen_open(const char *prompt, screen_line_fn fn, void *arg);

/* Gives the terminal back.  NULL is allowed. */
void screen_close(struct screen *screen);

/* Reads what was typed; false when the terminal is gone. */
bool screen_read(struct screen *screen);

/* Puts the lines in ${b} (each with its end) above the line being edited, and
 * empties ${b}.  ${tag} (copied, NULL: none) names them. */
void screen_print(struct screen *screen, struct buf *b, const char *tag);

/* The lines in ${b}, which is emptied, stand on the terminal already, above the
 * prompt and what was printed or adopted before. */
void screen_adopt(struct screen *screen, struct buf *b, const char *tag);

/* Puts ${b} in the place of the last lines that were printed with ${tag}, if
 * they are still on the screen, and empties ${b}; false (and leaves ${b})
 * otherwise. */
bool screen_replace(struct screen *screen, struct buf *b, const char *tag);

/* The terminal has another size. */
void screen_resize(struct screen *screen);

/* Stops the program, as Ctrl-Z does: the terminal is given back, the edited
 * line is kept.  Blocks: until SIGCONT, after which screen_continue() takes the
 * terminal again. */
void screen_stop(struct screen *screen);
void screen_continue(struct screen *screen);

/* Forgets what is being typed; false if there was nothing. */
bool screen_clear_line(struct screen *screen);

#endif
