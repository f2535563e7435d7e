/* SPDX-License-Identifier: MIT */
/*
 * SIGINT, SIGTERM and SIGHUP end a command, and the files that it has
 * registered as half-made are removed.  A signal that was ignored when the
 * command started (nohup) stays ignored.  The server does not use this: it
 * waits for its signals (serve.c).
 *
 * The handler may interrupt any code, also SQLite, so it only calls functions
 * that POSIX calls safe in a signal handler.  It unlinks the registered files,
 * restores the settings of the terminal if one is registered, and raises the
 * signal again with its default action, so that the parent process sees a death
 * by that signal.  Registrations change only while the signals are blocked.  A
 * transaction that was cut off is rolled back by the next process that opens an
 * SQLite file, or by the server of PostgreSQL.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "main/main_internal.h"

#define FILES_MAX 4

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static const char *const tails[] = {"", "-journal", "-shm", "-wal"};

#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))
#define NTAILS (sizeof(tails) / sizeof(tails[0]))

/* A half-made file and the files that SQLite puts beside it; "": no file. */
static char files[FILES_MAX][NTAILS][URL_SIZE + 16];
static int terminal = -1;
static struct termios settings_before;

static void
on_signal(int number)
{
	size_t i, k;

	for (i = 0; i < FILES_MAX; i++)
		for (k = 0; k < NTAILS && files[i][0][0] != '\0'; k++)
			(void)unlink(files[i][k]);
	if (terminal >= 0)
		(void)tcsetattr(terminal, TCSAFLUSH, &settings_before);
	/* SA_RESETHAND has restored the default action.  The signal is
	 * delivered when the handler returns. */
	(void)raise(number);
}

static void
block(int how)
{
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < NSIGNALS; i++)
		(void)sigaddset(&set, signals[i]);
	(void)sigprocmask(how, &set, NULL);
}

/* Blocks the signals and stores the previous mask in ${*ret}. */
static void
block_signals(sigset_t *ret)
{

	(void)sigprocmask(SIG_BLOCK, NULL, ret);
	block(SIG_BLOCK);
}

static void
let_go(const sigset_t *before)
{

	(void)sigprocmask(SIG_SETMASK, before, NULL);
}

void
interrupt_allow(void)
{
	struct sigaction action, before;
	size_t i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = (int)SA_RESETHAND;
	(void)sigemptyset(&action.sa_mask);
	for (i = 0; i < NSIGNALS; i++)
		(void)sigaddset(&action.sa_mask, signals[i]);
	for (i = 0; i < NSIGNALS; i++)
		/* nohup and a shell's background jobs ignore some signals.
		 * Leave these ignored. */
		if (sigaction(signals[i], NULL, &before) == 0 &&
		    before.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
	block(SIG_UNBLOCK);
}

void
interrupt_removes(const char *path)
{
	sigset_t before;
	size_t i, k;

	for (i = 0; i < FILES_MAX && files[i][0][0] != '\0'; i++)
		continue;
	assert(i < FILES_MAX);
	block_signals(&before);
	for (k = 0; k < NTAILS; k++)
		(void)snprintf(files[i][k], sizeof(files[i][k]), "%.*s%s",
		    URL_SIZE, path, tails[k]);
	let_go(&before);
}

void
interrupt_keeps(const char *path)
{
	sigset_t before;
	size_t i;

	block_signals(&before);
	for (i = 0; i < FILES_MAX; i++)
		if (strcmp(files[i][0], path) == 0)
			files[i][0][0] = '\0';
	let_go(&before);
}

void
interrupt_resets_terminal(int fd, const struct termios *settings)
{
	sigset_t before;

	block_signals(&before);
	terminal = fd;
	if (settings != NULL)
		settings_before = *settings;
	let_go(&before);
}
