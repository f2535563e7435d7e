/* SPDX-License-Identifier: MIT */
/*
 * Writes the rows and reads them as text.  See columns.h.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/columns.h"

struct rig rig;
char said[SAID_SIZE];
static size_t nsaid;

/* ---- writing rows ---- */

/* Runs ${sql} after writing its values in the database's syntax: #7 is the id
 * with number 7, @7 a value of 16 bytes, $7 a value of 32 bytes. */
static void
write_rows(const char *sql)
{
	static char out[16384];
	const char *pg;
	char *end;
	size_t n = 0;
	long long number;
	int digits;

	for (; *sql != '\0'; sql++) {
		if (strchr("#@$", *sql) == NULL || !isdigit(sql[1])) {
			out[n++] = *sql;
			continue;
		}
		digits = *sql == '$' ? 64 : 32;
		pg = rig.pg == NULL ? "" : *sql == '#' ? "CAST(" : "decode(";
		number = strtoll(sql + 1, &end, 10);
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s'%0*lx'%s",
		    pg, rig.pg == NULL ? "X" : "", digits,
		    (unsigned long)number,
		    rig.pg == NULL ? ""
		    : *sql == '#'  ? " AS UUID)"
				   : ", 'hex')");
		assert_true(n < sizeof(out));
		sql = end - 1;
	}
	out[n] = '\0';
	(void)rig_exec(&rig, out);
}

static void
write_people(void)
{

	write_rows(
	    "INSERT INTO destinations (destination_id, name, breaker,"
	    " failures, successes, interval_ms, next_probe_at, failing_since,"
	    " last_success_at, last_failure_at, last_error, paused_at,"
	    " paused_by, pause_reason, per_second, created_at, updated_at)"
	    " VALUES (2, 'far.example', 'half_open', 301, 302, 303, 304, 305,"
	    " 306, 307, 'no route', 308, 'root', 'repairs', 309, 310, 311),"
	    " (3, 'near.example', 'open', 0, 0, 0, NULL, NULL, NULL, NULL,"
	    " NULL, NULL, NULL, NULL, 0, 0, 0);"
	    "INSERT INTO users (user_id, name, display_name, password_hash,"
	    " admin, created_at, disabled_at, destination_id,"
	    " password_once_until) VALUES"
	    " (1, 'ann', 'Ann A', 'hash', 1, 401, NULL, NULL, 405),"
	    " (2, 'bob', NULL, NULL, 0, 402, 403, NULL, 0),"
	    " (3, 'x@far.example', NULL, NULL, 0, 404, NULL, 2, NULL);"
	    "INSERT INTO devices (device_id, public_id, user_id, name,"
	    " token_hash, acked_seq, created_at, last_seen_at, revoked_at)"
	    " VALUES (11, #11, 1, 'phone', $11, 2, 412, 413, NULL),"
	    " (12, #12, 1, 'tablet', $12, 4, 415, 416, NULL),"
	    " (13, #13, 1, 'lost', $13, 1, 417, 418, 419),"
	    " (14, #14, 2, 'other', $14, 5, 420, 421, NULL);"
	    "INSERT INTO inboxes (user_id, trimmed, read_seq) VALUES"
	    " (1, 6, 8), (2, 0, 1);"
	    "INSERT INTO conversations (conversation_id, public_id, kind,"
	    " direct_key, created_at) VALUES (61, #61, 'direct', 'ann bob', 611),"
	    " (62, #62, 'direct', 'ann x@far.example', 612),"
	    " (63, #63, 'group', NULL, 613);"
	    "INSERT INTO participants (conversation_id, user_id, role,"
	    " joined_seq, left_seq, delivered_upto, acked_upto, read_upto,"
	    " shown_upto, acked_at, read_at, shown_at) VALUES"
	    " (61, 1, 'member', 1, NULL, 0, 0, 0, 0, NULL, NULL, NULL),"
	    " (61, 2, 'member', 2, 49, 48, 47, 46, 45, 621, 622, 623),"
	    " (62, 1, 'member', 1, NULL, 4, 3, 1, 1, 624, 625, 626)");
}

static void
write_messages(void)
{

	write_rows(
	    "INSERT INTO messages (mid, message_id, event_id, conversation_id,"
	    " conversation_seq, sender_id, body, content_type, metadata,"
	    " correlation_id, reply_to, priority, event_time, created_at,"
	    " fingerprint, salt, digest) VALUES"
	    " (71, #71, #81, 61, 43, 1, 'hello', 'text/markdown',"
	    " '{\"a\":\"b\"}', 'order', #99, 1, 711, 712, @713, @714, $715),"
	    " (72, #72, #82, 61, 44, 2, 'plain', NULL, NULL, NULL, NULL, 0,"
	    " 721, 722, @723, @724, $725),"
	    " (73, #73, #83, 62, NULL, 1, 'later', NULL, NULL, NULL, NULL, -1,"
	    " 731, 732, @733, @734, NULL);"
	    "INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind,"
	    " dest_id, class, priority, next_seq, last_published_seq, due_at,"
	    " lease_owner, lease_token, lease_until, updated_at,"
	    " destination_id, state, tail_seq, replay_seq) VALUES"
	    " (91, 61, 'user', 2, 0, 0, 12, 10, 0, NULL, 0, NULL, 911, 1,"
	    " 'local', 0, NULL),"
	    " (92, 62, 'server', 3, 1, -1, 22, 21, 921, 'node', 922, 923, 924,"
	    " 2, 'leased', 29, 20),"
	    " (93, 61, 'server', 3, 0, 1, 33, 31, 931, NULL, 932, NULL, 933, 2,"
	    " 'ready', 30, NULL)");
}

static void
write_outbox(void)
{

	write_rows(
	    "INSERT INTO outbox (id, event_id, kind, mid, conversation_id,"
	    " conversation_seq, sender_id, lane_id, lane_seq, dest_kind,"
	    " dest_id, priority, state, attempts, retry_count, rescue_count,"
	    " next_retry_at, deliver_at, expires_at, event_time, created_at,"
	    " last_attempt_at, last_status_at, sent_at, acked_at, last_error,"
	    " ack_deadline, reason, requeues) VALUES"
	    " (101, #81, 1, 71, 61, 43, 1, 91, 11, 'user', 2, 1, 'failed',"
	    " 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011,"
	    " 1012, 'broken', 1013, 'too_large', 1014),"
	    " (102, #82, 1, 72, 61, 44, 2, 91, 12, 'user', 1, -1, 'pending',"
	    " 1021, 1022, 1023, NULL, 1025, 1026, 1027, 1028, NULL, 1030, NULL,"
	    " NULL, NULL, NULL, NULL, 0),"
	    " (103, #83, 1, 73, 62, NULL, 1, 92, NULL, 'server', 3, -1,"
	    " 'pending', 0, 0, 0, NULL, 1031, 1032, 1033, 1034, NULL, 1035,"
	    " NULL, NULL, NULL, NULL, NULL, 0),"
	    " (104, #84, 2, 72, 62, 5, 2, 92, 28, 'server', 3, 1, 'sending',"
	    " 4, 0, 0, NULL, NULL, NULL, 1041, 1042, NULL, 1043, NULL, NULL,"
	    " NULL, NULL, NULL, 0);"
	    "INSERT INTO outbox_attempts (outbox_id, attempt, destination_id,"
	    " owner, started_at, finished_at, outcome, status, error) VALUES"
	    " (101, 1, 2, 'node', 1101, 1102, 'refused', 503, 'busy'),"
	    " (101, 2, 2, 'other', 1103, NULL, NULL, NULL, NULL),"
	    " (102, 3, 2, 'third', 1104, NULL, NULL, NULL, NULL);"
	    "INSERT INTO dead_letter_queue (dead_id, outbox_id, mid, sender_id,"
	    " dest_id, destination_id, state, reason, last_error, attempts,"
	    " retry_count, event_time, created_at, dead_at, resolution,"
	    " resolved_at, resolved_by) VALUES"
	    " (111, 101, 71, 1, 3, 2, 'failed', 'rejected', 'broken', 1111,"
	    " 1112, 1113, 1114, 1115, 'discarded', 1116, 'root'),"
	    " (112, 101, 71, 2, 1, 1, 'expired', 'expired', NULL, 1121, 1122,"
	    " 1123, 1124, 1125, NULL, NULL, NULL);"
	    "INSERT INTO audit_log (audit_id, at, actor, action, object,"
	    " detail) VALUES (121, 1211, 'root', 'pause', 'far.example',"
	    " 'repairs'), (122, 1212, 'ann', 'resume', '*', NULL);"
	    "INSERT INTO inbox (user_id, seq, kind, own, event_id, mid,"
	    " conversation_id, conversation_seq, actor_id, outbox_id,"
	    " event_time, delivered_at, attempt) VALUES"
	    " (2, 1, 1, 0, #81, 71, 61, 43, 1, 101, 1301, 1302, 3),"
	    " (2, 2, 1, 1, #82, 72, 61, 44, 2, NULL, 1303, 1304, 1),"
	    " (2, 3, 5, 1, #85, 72, 61, 44, 2, 101, 1305, 1306, 1),"
	    " (1, 9, 1, 0, #82, 72, 61, 44, 2, 102, 1307, 1308, 2)");
}

void
open_rows(void)
{

	rig_open(&rig);
	write_people();
	write_messages();
	write_outbox();
	/* PostgreSQL keeps in columns what SQLite computes. */
	if (rig.pg != NULL)
		write_rows(
		    "UPDATE inboxes SET head = 9, acked = 4 WHERE user_id = 1;"
		    "UPDATE conversations SET last_seq = 44,"
		    " last_digest = $725 WHERE conversation_id = 61;"
		    "UPDATE outbox_lanes SET tail_seq = 12"
		    " WHERE lane_id = 91");
}

/* ---- reading rows ---- */

void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsaid += (size_t)vsnprintf(said + nsaid, sizeof(said) - nsaid, fmt, ap);
	va_end(ap);
	assert_true(nsaid < sizeof(said));
}

int
id_number(const struct uuid *id)
{

	return (id->b[14] * 256 + id->b[15]);
}

/* Fills the stack with a value that no row holds, before a reader runs: a
 * member that the reader does not set then has this value. */
static void
dirty_stack(void)
{
	volatile char room[16384];
	size_t i;

	for (i = 0; i < sizeof(room); i++)
		room[i] = 0x55;
}

void
begin(void)
{

	nsaid = 0;
	said[0] = '\0';
	dirty_stack();
}
