/* SPDX-License-Identifier: MIT */
/*
 * Threads by role.  Owns the role and the name of each thread.  Promises that
 * signals are blocked in every thread, and that only the main thread unblocks
 * some.  Excepted are the signals of a crash (SIGSEGV, SIGABRT and the like),
 * which must end the program at once, those of job control, because Ctrl-Z must
 * work, and the profiler's: these are never blocked.
 */
#include "base/thr.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"

struct thr {
	pthread_t thread;
	enum thr_role role;
	thr_fn fn;
	void *arg;
	char name[16]; /* the kernel's limit */
};

static const char *const role_names[] = {
#define X(role, name) [role] = name,
    THR_TABLE(X)
#undef X
};

static _Thread_local enum thr_role self_role = THR_OTHER;
static _Thread_local const char *self_name = "other";

static void
blocked_signals(sigset_t *ret)
{
	static const int left[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
	    SIGSYS, SIGABRT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGPROF};
	size_t i;

	(void)sigfillset(ret);
	for (i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		(void)sigdelset(ret, left[i]);
}

static void *
thread_main(void *arg)
{
	struct thr *thr = arg;

	self_role = thr->role;
	self_name = thr->name;
	(void)pthread_setname_np(pthread_self(), thr->name);
	thr->fn(thr->arg);
	return (NULL);
}

enum rc
thr_start(enum thr_role role, int index, thr_fn fn, void *arg, struct thr **ret,
    struct err *err)
{
	sigset_t blocked, before;
	struct thr *thr;
	int error;

	thr = mem_zalloc(1, sizeof(*thr));
	if (thr == NULL)
		return (err_set(err, RC_NO_MEMORY, "no memory for a thread"));
	thr->role = role;
	thr->fn = fn;
	thr->arg = arg;
	if (index > 0)
		(void)snprintf(thr->name, sizeof(thr->name), "%.8s%u",
		    role_names[role], (unsigned)index % 1000000);
	else
		(void)snprintf(
		    thr->name, sizeof(thr->name), "%s", role_names[role]);
	blocked_signals(&blocked);
	(void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
	error = pthread_create(&thr->thread, NULL, thread_main, thr);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		err_set_sys(err, RC_NO_MEMORY, error, "cannot start thread %s",
		    thr->name);
		mem_free(thr);
		return (RC_NO_MEMORY);
	}
	*ret = thr;
	return (RC_OK);
}

void
thr_join(struct thr **thr)
{
	int error;

	if (*thr == NULL)
		return;
	error = pthread_join((*thr)->thread, NULL);
	assert(error == 0);
	mem_free(*thr);
	*thr = NULL;
}

enum thr_role
thr_self(void)
{

	return (self_role);
}

const char *
thr_self_name(void)
{

	return (self_name);
}

void
thr_init_main(void)
{
	sigset_t blocked;

	self_role = THR_MAIN;
	self_name = role_names[THR_MAIN];
	blocked_signals(&blocked);
	(void)pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}
