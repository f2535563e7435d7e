/* SPDX-License-Identifier: MIT */
/*
 * Sources of randomness, which are passed as arguments.  The system's source is
 * getrandom(2).  The seeded source is for simulation and gives the same bytes
 * for the same seed and the same sequence of calls.
 */
#ifndef BASE_RND_H
#define BASE_RND_H

#include <stddef.h>
#include <stdint.h>

struct rnd {
	void (*fill)(struct rnd *rnd, void *p, size_t n);
};

/* The system's source (buffered per thread).  Static storage.  Thread: any. */
struct rnd *rnd_system(void);

/* Fills ${n} bytes at ${p} from the source ${rnd}.  Never reports a failure: if
 * getrandom(2) fails, the system's source aborts the process. */
static inline void
rnd_fill(struct rnd *rnd, void *p, size_t n)
{

	rnd->fill(rnd, p, n);
}

/* Returns a uniformly distributed number in [0, ${bound}); ${bound} > 0. */
uint64_t rnd_below(struct rnd *rnd, uint64_t bound);

struct rnd_seeded {
	struct rnd rnd; /* first: &seeded->rnd is the source */
	uint64_t s[4];  /* xoshiro256** */
};

/* Initialises ${seeded} from ${seed}.  Not for secrets.  Thread: one. */
void rnd_seeded_init(struct rnd_seeded *seeded, uint64_t seed);

#endif
