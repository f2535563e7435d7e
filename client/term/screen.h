/* SPDX-License-Identifier: MIT */
/*
 * The terminal of a chat: lines of text, and below them one line that is being
 * edited (libedit).  There is one terminal, and so at most one screen.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "base/buf.h"

struct screen;

/* Called with an entered line, or NULL at the end of input. */
typedef void (*screen_line_fn)(void *arg, const char *line);

/* Takes the terminal over and shows the prompt.  Returns NULL when memory runs
 * out. */
struct screen *screen_open(const char *prompt, screen_line_fn fn, void *arg);

/* Restores the terminal and frees ${screen}, which may be NULL. */
void screen_close(struct screen *screen);

/* Reads typed characters.  Returns false when the terminal is gone or input has
 * ended. */
bool screen_read(struct screen *screen);

/* Prints the lines in ${b} (each with its line end) above the edited line, and
 * empties ${b}.  If ${b} ran out of memory, prints nothing.  ${tag} (copied;
 * NULL: none) names the lines for screen_replace(), which does not find a tag
 * of more than 63 bytes. */
void screen_print(struct screen *screen, struct buf *b, const char *tag);

/* Remembers the lines in ${b} for screen_replace(), as screen_print() does, but
 * does not print them: they are on the terminal already, above the prompt and
 * below lines printed or adopted before.  Empties ${b}. */
void screen_adopt(struct screen *screen, struct buf *b, const char *tag);

/* Replaces the lines of the last screen_print() or screen_adopt() with ${tag}
 * by ${b}, and empties ${b}.  Returns false, and changes neither the screen nor
 * ${b}, if those lines are no longer remembered or their first row has left the
 * screen, if ${b} ran out of memory or does not end with a line end, or if
 * memory runs out. */
bool screen_replace(struct screen *screen, struct buf *b, const char *tag);

/* Handles a new size of the terminal. */
void screen_resize(struct screen *screen);

/* screen_stop() stops the program, as Ctrl-Z does: restores the terminal, keeps
 * the edited line in memory, and blocks until SIGCONT.  Then the caller calls
 * screen_continue(), which takes the terminal over again and shows the edited
 * line.  screen_replace() cannot replace lines printed before
 * screen_continue(). */
void screen_stop(struct screen *screen);
void screen_continue(struct screen *screen);

/* Discards the edited line.  Returns false if it was empty. */
bool screen_clear_line(struct screen *screen);

#endif
