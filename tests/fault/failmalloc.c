/* SPDX-License-Identifier: MIT */
/*
 * A shared object for LD_PRELOAD that makes allocations of a whole program fail
 * at random.  It covers the program and its libraries, because both find
 * malloc() here first.  An allocation that does not fail goes on to the next
 * malloc() in the order of the libraries: glibc's, or AddressSanitizer's.  The
 * sanitizer's library must come after this one, which it forbids by default
 * (verify_asan_link_order=0 permits it).  Before this one, it would handle
 * every call itself.
 *
 * Without a sanitizer each block stands between canaries, which free() and
 * realloc() check.  A freed block is filled with a pattern and kept for some
 * thousand calls of free(): a write after free() changes the pattern.  Damage
 * ends the program with SIGABRT.  FAILMALLOC_GUARDS=0 turns the canaries off,
 * because they change what glibc would do with an overrun.
 *
 * FAILMALLOC names a file of one page, which the test maps or writes.  The test
 * sets the rate of failures and their seed; this library counts calls and
 * failures (struct control, whose layout memory.mjs knows).
 */
#include "failmalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct control) <= 4096, "one page");

static struct control nobody; /* until the file is mapped */
struct control *control = &nobody;

struct allocator next;
static bool guarded;

/* NULL unless AddressSanitizer is in the program. */
extern void __asan_init(void) __attribute__((weak));

/* dlsym() may call malloc() while malloc() looks up its successor.  Such a call
 * gets a block from `early`, which is never freed.  The flag is volatile
 * because dlsym() is declared as a leaf function: the compiler assumes that it
 * does not call back into this file. */
static volatile bool resolving;
static alignas(16) char early[4096];
static size_t early_used;

#define PUBLIC __attribute__((visibility("default")))
/* The room for the variable is reserved when a thread starts, so its first use
 * allocates nothing. */
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

/* ---- which calls fail --------------------------------------------------- */

static THREAD_LOCAL uint64_t draws;
static _Atomic uint64_t threads;

static uint64_t
draw(void)
{

	if (draws == 0)
		draws = ((uint64_t)control->seed << 20 ^
			    atomic_fetch_add(&threads, 1)) *
			    UINT64_C(0x9E3779B97F4A7C15) |
			1;
	draws ^= draws << 13;
	draws ^= draws >> 7;
	draws ^= draws << 17;
	return (draws >> 16);
}

static void
module_count(const void *caller)
{
	const void *none;
	const char *name;
	Dl_info info;
	int i;

	if (dladdr(caller, &info) == 0)
		return;
	for (i = 0; i < MODULES; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(
			&control->modules[i].base, &none, info.dli_fbase)) {
			name = strrchr(info.dli_fname, '/');
			name = name == NULL ? info.dli_fname : name + 1;
			snprintf(
			    control->modules[i].name, MODULE_NAME, "%s", name);
		} else if (none != info.dli_fbase)
			continue;
		atomic_fetch_add(&control->modules[i].failures, 1);
		return;
	}
}

/* Returns true if this call has to fail.  Sets errno then. */
static bool
fails(const void *caller)
{
	uint32_t rate;

	rate = atomic_load_explicit(&control->rate, memory_order_relaxed);
	if (rate == 0)
		return (false);
	atomic_fetch_add_explicit(&control->calls, 1, memory_order_relaxed);
	if ((uint32_t)draw() >= rate)
		return (false);
	atomic_fetch_add_explicit(&control->failures, 1, memory_order_relaxed);
	module_count(caller);
	errno = ENOMEM;
	return (true);
}

/* ---- the next allocator -------------------------------------------------- */

static void *
early_block(size_t n)
{
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (n > sizeof(early) - early_used)
		abort();
	p = early + early_used;
	early_used += n;
	return (p);
}

static bool
is_early(const void *p)
{

	return ((const char *)p >= early &&
		(const char *)p < early + sizeof(early));
}

static void
resolve(void)
{
	const char *guards;

	resolving = true;
	*(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next.free = dlsym(RTLD_NEXT, "free");
	*(void **)&next.usable = dlsym(RTLD_NEXT, "malloc_usable_size");
	guards = getenv("FAILMALLOC_GUARDS");
	guarded =
	    __asan_init == NULL && (guards == NULL || strcmp(guards, "0") != 0);
	*(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
	resolving = false;
}

/* Prints the stack at the program's death.  An assertion that fails without
 * memory prints nothing itself. */
static void
on_death(int signal)
{
	void *frames[64];

	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
	(void)raise(signal);
}

static void
watch_death(void)
{
	static const int deaths[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
	struct sigaction once = {
	    .sa_handler = on_death, .sa_flags = (int)SA_RESETHAND};
	void *frame;
	size_t i;

	(void)backtrace(&frame, 1); /* loads libgcc now, with memory */
	for (i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
		(void)sigaction(deaths[i], &once, NULL);
}

__attribute__((constructor)) static void
begin(void)
{
	const char *file;
	void *p;
	int fd;

	file = getenv("FAILMALLOC");
	fd = file == NULL ? -1 : open(file, O_RDWR | O_CLOEXEC);
	if (fd == -1)
		return;
	p = mmap(
	    NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	control = p;
	if (next.malloc == NULL)
		resolve();
	control->guarded = guarded;
	/* AddressSanitizer prints the stack itself (handle_abort=1). */
	if (__asan_init == NULL)
		watch_death();
}

/* ---- the public functions ------------------------------------------------ */

static void *
block(const void *caller, size_t align, size_t n)
{

	if (next.malloc == NULL) {
		if (resolving)
			return (early_block(n));
		resolve();
	}
	if (fails(caller))
		return (NULL);
	if (guarded)
		return (guarded_block(align, n));
	return (align == 16 ? next.malloc(n) : next.memalign(align, n));
}

PUBLIC void *
malloc(size_t n)
{

	return (block(__builtin_return_address(0), 16, n));
}

PUBLIC void *
calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return (NULL);
	}
	p = block(__builtin_return_address(0), 16, bytes);
	return (p == NULL ? NULL : memset(p, 0, bytes));
}

PUBLIC void
free(void *p)
{
	int saved;

	if (p == NULL || is_early(p))
		return;
	saved = errno;
	if (guarded)
		guarded_free(p);
	else
		next.free(p);
	errno = saved;
}

PUBLIC void *
realloc(void *p, size_t n)
{

	if (p == NULL)
		return (block(__builtin_return_address(0), 16, n));
	if (n == 0) {
		free(p);
		return (NULL);
	}
	if (fails(__builtin_return_address(0)))
		return (NULL);
	return (guarded ? guarded_realloc(p, n) : next.realloc(p, n));
}

PUBLIC void *
memalign(size_t align, size_t n)
{

	return (block(__builtin_return_address(0), align < 16 ? 16 : align, n));
}

PUBLIC void *
aligned_alloc(size_t align, size_t n)
{

	return (block(__builtin_return_address(0), align < 16 ? 16 : align, n));
}

PUBLIC int
posix_memalign(void **ret, size_t align, size_t n)
{
	void *p;

	p = block(__builtin_return_address(0), align < 16 ? 16 : align, n);
	if (p == NULL)
		return (ENOMEM);
	*ret = p;
	return (0);
}

PUBLIC size_t
malloc_usable_size(void *p)
{

	if (p == NULL)
		return (0);
	return (guarded ? guarded_bytes(p) : next.usable(p));
}

/* AddressSanitizer has its own strdup(), which would never fail. */
PUBLIC char *
strdup(const char *s)
{
	size_t n;
	char *p;

	n = strlen(s) + 1;
	p = block(__builtin_return_address(0), 16, n);
	return (p == NULL ? NULL : memcpy(p, s, n));
}

PUBLIC char *
strndup(const char *s, size_t n)
{
	char *p;

	n = strnlen(s, n);
	p = block(__builtin_return_address(0), 16, n + 1);
	if (p == NULL)
		return (NULL);
	p[n] = '\0';
	return (memcpy(p, s, n));
}
