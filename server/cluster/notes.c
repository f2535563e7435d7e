/* SPDX-License-Identifier: MIT */
/*
 * Writes and parses notes.  A note is a hint that something has happened, and
 * may be lost.  A note contains no chat messages: the node that receives the
 * note reads them from the database.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/cluster_internal.h"
#include "model/event.h"

#define HASH_LEN 32

struct head {
	int64_t user_id;
	int64_t seq;
};

/* ---- writing ---- */

bool
notes_out_init(struct notes_out *o)
{

	memset(o, 0, sizeof(*o));
	o->heads = htab_new(sizeof(int64_t));
	return (o->heads != NULL);
}

static void
forget_heads(struct notes_out *o)
{
	size_t pos = 0;
	void *p;

	while ((p = htab_next(o->heads, &pos)) != NULL)
		mem_free(p);
	htab_clear(o->heads);
}

void
notes_out_fini(struct notes_out *o)
{
	size_t i;

	for (i = 0; i < NOTES_MAX; i++)
		buf_fini(&o->notes[i]);
	if (o->heads != NULL)
		forget_heads(o);
	htab_free(o->heads);
}

void
notes_out_word(struct notes_out *o, const char *word)
{
	size_t n = strlen(word) + 1;

	/* Leave room for the number of the node and the NUL. */
	if (o->n == 0 || o->notes[o->n - 1].len + n > NOTE_BYTES - 32) {
		if (o->n == NOTES_MAX) {
			o->lost = true;
			return;
		}
		buf_reset(&o->notes[o->n++]);
	}
	buf_addc(&o->notes[o->n - 1], ' ');
	buf_adds(&o->notes[o->n - 1], word);
}

static void
add_head(struct notes_out *o, int64_t user_id, int64_t seq)
{
	struct head *head = htab_find(o->heads, &user_id);

	if (head == NULL) {
		if ((head = mem_zalloc(1, sizeof(*head))) == NULL) {
			o->lost = true;
			return;
		}
		head->user_id = user_id;
		if (htab_set(o->heads, &head->user_id, head) != RC_OK) {
			mem_free(head);
			o->lost = true;
			return;
		}
	}
	if (head->seq < seq)
		head->seq = seq;
}

static void
add_revoked(struct notes_out *o, const struct effect_revoked *r)
{
	char word[32 + 2 * HASH_LEN + 1];
	int i, n;

	n = snprintf(word, sizeof(word), "%c%lld:", r->kept ? 'U' : 'R',
	    (long long)r->device_id);
	for (i = 0; i < HASH_LEN; i++)
		n += snprintf(word + n, sizeof(word) - (size_t)n, "%02x",
		    r->token_hash[i]);
	notes_out_word(o, word);
}

void
notes_out_effects(struct notes_out *o, const struct effects *effects)
{
	char word[80];
	size_t i;

	for (i = 0; i < effects->nevents; i++)
		add_head(o, effects->events[i].user_id, effects->events[i].seq);
	for (i = 0; i < effects->nchanges; i++) {
		(void)snprintf(word, sizeof(word), "C%lld:%lld:%d",
		    (long long)effects->changes[i].user_id,
		    (long long)effects->changes[i].mid,
		    (int)effects->changes[i].event);
		notes_out_word(o, word);
	}
	for (i = 0; i < effects->nacked; i++) {
		(void)snprintf(word, sizeof(word), "A%lld:%lld:%lld",
		    (long long)effects->acked[i].user_id,
		    (long long)effects->acked[i].device_id,
		    (long long)effects->acked[i].seq);
		notes_out_word(o, word);
	}
	for (i = 0; i < effects->nrevoked; i++)
		add_revoked(o, &effects->revoked[i]);
}

bool
notes_out_empty(const struct notes_out *o)
{

	return (o->n == 0 && !o->lost && htab_count(o->heads) == 0);
}

/* Appends a word for each inbox that has grown. */
static void
write_heads(struct notes_out *o)
{
	const struct head *head;
	char word[64];
	size_t pos = 0;

	while ((head = htab_next(o->heads, &pos)) != NULL) {
		(void)snprintf(word, sizeof(word), "H%lld:%lld",
		    (long long)head->user_id, (long long)head->seq);
		notes_out_word(o, word);
	}
	forget_heads(o);
}

enum rc
notes_out_send(struct notes_out *o, int64_t node,
    enum rc (*each)(void *arg, const char *note, struct err *err), void *arg,
    struct err *err)
{
	char note[NOTE_BYTES + 1];
	enum rc rc = RC_OK;
	size_t i;

	write_heads(o);
	for (i = 0; i < o->n && rc == RC_OK; i++) {
		o->lost = o->lost || !buf_ok(&o->notes[i]);
		if (!buf_ok(&o->notes[i]))
			continue;
		(void)snprintf(note, sizeof(note), "N%lld%.*s", (long long)node,
		    (int)o->notes[i].len, o->notes[i].data);
		rc = each(arg, note, err);
	}
	if (rc == RC_OK && o->lost) {
		(void)snprintf(note, sizeof(note), "N%lld *", (long long)node);
		rc = each(arg, note, err);
	}
	o->n = 0;
	o->lost = false;
	return (rc);
}

/* ---- reading ---- */

/* Parses up to three numbers separated by ':', and returns how many there
 * are. */
static int
numbers(const char *p, int64_t ret[3])
{
	char *end;
	int n;

	for (n = 0; n < 3; n++) {
		if (*p < '0' || *p > '9')
			return (n);
		ret[n] = strtoll(p, &end, 10);
		p = end;
		if (*p != ':')
			return (n + 1);
		p++;
	}
	return (n);
}

/* Adds the effect that the inbox of ${user_id} has events up to ${seq}.  Only
 * these two numbers are known (the kind is a placeholder), so the sessions of
 * this user read the events from the database. */
static enum rc
add_event(
    struct effects *effects, int64_t user_id, int64_t seq, struct err *err)
{
	const struct effect_event e = {
	    .user_id = user_id, .seq = seq, .kind = EVENT_MESSAGE};

	return (effects_add_event(effects, &e, err));
}

static int
hex_digit(char c)
{

	if (c >= '0' && c <= '9')
		return (c - '0');
	return (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1);
}

static enum rc
read_revoked(struct effects *effects, const char *word, struct err *err)
{
	const char *hex = strchr(word, ':');
	uint8_t hash[HASH_LEN];
	int i, high, low;

	if (hex == NULL || strspn(++hex, "0123456789abcdef") < 2 * HASH_LEN)
		return (RC_OK);
	for (i = 0; i < HASH_LEN; i++) {
		high = hex_digit(hex[2 * i]);
		low = hex_digit(hex[2 * i + 1]);
		hash[i] = (uint8_t)(high * 16 + low);
	}
	if (word[0] == 'U')
		return (effects_add_kept(
		    effects, strtoll(word + 1, NULL, 10), hash, err));
	return (effects_add_revoked(
	    effects, strtoll(word + 1, NULL, 10), hash, err));
}

/* Adds the server named by ${word} to the changed ones.  Skips a name that is
 * too long, and servers beyond NOTES_PEERS in one note: the rows of servers
 * that are in use are read again every directory_reload_ms in any case. */
static void
read_peer(struct notes_in *in, const char *word)
{
	const size_t n = strcspn(word, " ");

	if (n > LIMIT_DOMAIN_LEN || in->npeers == NOTES_PEERS)
		return;
	memcpy(in->peers[in->npeers], word, n);
	in->peers[in->npeers++][n] = '\0';
}

static enum rc
read_word(const char *word, struct notes_in *in, struct err *err)
{
	int64_t v[3];
	int n = numbers(word + 1, v);

	switch (word[0]) {
	case 'N':
		in->node = n >= 1 ? v[0] : 0;
		return (RC_OK);
	case 'H':
		return (
		    n >= 2 ? add_event(in->effects, v[0], v[1], err) : RC_OK);
	case 'C':
		if (n < 3 || v[2] < 0 || v[2] >= OUTBOX_EVENTS)
			return (RC_OK);
		return (effects_add_change(in->effects,
		    &(struct effect_change){
			v[0], v[1], (enum outbox_event)v[2]},
		    err));
	case 'A':
		if (n < 3)
			return (RC_OK);
		return (effects_add_acked(in->effects,
		    &(struct effect_acked){v[0], v[1], v[2]}, err));
	case 'R':
	case 'U':
		return (read_revoked(in->effects, word, err));
	case 'D':
		in->destinations_changed = true;
		return (RC_OK);
	case 'P':
		read_peer(in, word + 1);
		return (RC_OK);
	case 'E':
		in->epoch = true;
		return (RC_OK);
	case 'J':
		in->began = true;
		return (RC_OK);
	case '*':
		in->missed = true;
		return (RC_OK);
	default:
		return (RC_OK);
	}
}

void
notes_in_read(const char *text, struct notes_in *ret)
{
	struct err err = ERR_INIT;

	memset(ret, 0, sizeof(*ret));
	if ((ret->effects = effects_new()) == NULL) {
		ret->missed = true;
		return;
	}
	while (*text != '\0') {
		if (read_word(text, ret, &err) != RC_OK)
			ret->missed = true;
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	if (effects_empty(ret->effects)) {
		effects_free(ret->effects);
		ret->effects = NULL;
	}
}
