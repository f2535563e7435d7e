/* SPDX-License-Identifier: MIT */
/*
 * The protocol of redis; see resp.h.
 */
#include <string.h>

#include "resp.h"
#include "util.h"

void
resp_command(struct buf *b, int n)
{

	buf_addf(b, "*%d\r\n", n);
}

size_t
resp_word(struct buf *b, const char *p, size_t n)
{
	size_t at;

	buf_addf(b, "$%zu\r\n", n);
	at = b->len;
	buf_add(b, p, n);
	buf_adds(b, "\r\n");
	return (at);
}

void
resp_words(struct buf *b, const char *word)
{

	(void)resp_word(b, word, strlen(word));
}

/* Reads the line at ${p}: the number after its first character.  Returns its
 * length with the line end, 0 if it is not complete yet. */
static size_t
line(const char *p, size_t n, int64_t *ret)
{
	const char *end = memchr(p, '\n', n);
	const char *q = p + 1;
	bool negative;

	if (end == NULL)
		return (0);
	negative = *q == '-';
	*ret = 0;
	for (q += negative; *q >= '0' && *q <= '9'; q++)
		*ret = *ret * 10 + (*q - '0');
	if (negative)
		*ret = -*ret;
	return ((size_t)(end - p) + 1);
}

size_t
resp_reply(const char *p, size_t n)
{
	int64_t open = 1, number;
	size_t at = 0, used;

	/* ${open} values follow; an array adds its members. */
	while (open > 0) {
		if (at >= n || (used = line(p + at, n - at, &number)) == 0)
			return (0);
		if (p[at] == '-')
			bench_die(
			    "redis refuses: %.*s", (int)(used - 2), p + at);
		if (p[at] == '*' && number > 0)
			open += number;
		else if (p[at] == '$' && number >= 0)
			used += (size_t)number + 2;
		else if (strchr("+:*$", p[at]) == NULL)
			bench_die("not a reply: %.*s", (int)used, p + at);
		at += used;
		open--;
	}
	return (at <= n ? at : 0);
}

bool
resp_string(
    const char *p, size_t n, size_t *at, const char **ret, size_t *ret_n)
{
	int64_t number;
	size_t used;

	while (*at < n && (used = line(p + *at, n - *at, &number)) != 0) {
		if (p[*at] != '$' || number < 0) {
			*at += used;
			continue;
		}
		*ret = p + *at + used;
		*ret_n = (size_t)number;
		*at += used + (size_t)number + 2;
		return (true);
	}
	return (false);
}
