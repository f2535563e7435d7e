/* SPDX-License-Identifier: MIT */
/*
 * See timing.h.
 */
#include "base/timing.h"

#ifdef TWINBOX_FAULTS
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

#define VARIABLE "TWINBOX_TIME_SCALE"
#define SCALE_MAX 100
#define ITEMS_MAX 16
#endif

static const struct timing table = {
#define X(name, ms, meaning) .name##_ms = (ms),
    TIMING_TABLE(X)
#undef X
};

const struct timing *
timing_real(void)
{

	return (&table);
}

#ifdef TWINBOX_FAULTS

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct timing scaled;

/* Scales ${ms}, the time of the member ${name}, by the last item of ${text}
 * (the value of TWINBOX_TIME_SCALE) that matches ${name}, and returns the
 * result; ${ms} if no item matches.  The item "N" matches every name,
 * "PREFIX=N" the names that begin with PREFIX; N divides and rounds up, "1/N"
 * in its place multiplies by N.  For each item that matches ${name}, sets the
 * bit with the item's index (from 0) in *used.  Ends the program if ${text} is
 * not valid. */
static int64_t
scale_one(const char *text, const char *name, int64_t ms, uint32_t *used)
{
	const char *end, *equals, *number;
	int64_t by = 1, times = 1;
	bool longer;
	int item;
	long n;

	for (item = 0;; item++, text = end + 1) {
		end = text + strcspn(text, ",");
		equals = memchr(text, '=', (size_t)(end - text));
		number = equals == NULL ? text : equals + 1;
		longer = strncmp(number, "1/", 2) == 0;
		number += longer ? 2 : 0;
		if (!fault_read_number(number, (size_t)(end - number), &n) ||
		    equals == text || n > SCALE_MAX || item == ITEMS_MAX)
			fault_refuse(VARIABLE, text);
		if (equals == NULL ||
		    strncmp(name, text, (size_t)(equals - text)) == 0) {
			by = longer ? 1 : n;
			times = longer ? n : 1;
			*used |= UINT32_C(1) << item;
		}
		if (*end == '\0')
			break;
	}
	return ((ms * times + by - 1) / by);
}

static void
scale(void)
{
	const char *text = getenv(VARIABLE), *p;
	uint32_t used = 0, all = 1;

	scaled = table;
	if (text == NULL)
		return;
#define X(name, ms, meaning)                                                   \
	scaled.name##_ms = scale_one(text, #name, (ms), &used);
	TIMING_TABLE(X)
#undef X
	/* End the program if an item matches no member: with a misspelt name
	 * the test would run with unscaled times and might pass. */
	for (p = text; *p != '\0'; p++)
		if (*p == ',')
			all = all << 1 | 1;
	if (used != all)
		fault_refuse(VARIABLE, text);
}

const struct timing *
timing_process(void)
{

	(void)pthread_once(&once, scale);
	return (&scaled);
}

#else

const struct timing *
timing_process(void)
{

	return (&table);
}

#endif
