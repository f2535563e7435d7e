// SPDX-License-Identifier: MIT
//
// Assertions that several test files share, about problem documents, outbox
// entries and events.  A failure shows the value.

import assert from 'node:assert/strict';

import { TIME, UUID } from './contract.mjs';

/**
 * Asserts that ${answer} is a problem document with ${status}, ${code} and, if
 * given, ${pointer}.
 */
export function problem(answer, status, code, pointer)
{
	const where = `${answer.method} ${answer.target}: ${answer.text}`;

	assert.equal(answer.status, status, where);
	problemBody(answer.body, code, pointer, where);
	assert.equal(answer.body.instance, answer.target.replace(/[?#].*$/, ''), where);
}

/**
 * Asserts that ${body} is a problem document with ${code} and, if given,
 * ${pointer}.
 */
export function problemBody(body, code, pointer, where = JSON.stringify(body))
{
	assert.equal(body.code, code, where);
	if (pointer !== undefined)
		assert.equal(body.pointer, pointer, where);
}

/**
 * Asserts that ${text} is a time in the form of the API.  Returns it in
 * milliseconds.
 */
export function time(text, what = 'a time')
{
	assert.match(String(text), TIME, what);
	return Date.parse(text);
}

/**
 * Asserts that ${entry} has the members that every outbox entry has, whatever
 * its state.
 */
export function entryForm(entry)
{
	const where = JSON.stringify(entry);

	assert.match(entry.id, UUID, where);
	assert.match(entry.conversation, UUID, where);
	assert.equal(entry.event_type, 'message.send', where);
	assert.ok(['pending', 'sending', 'sent', 'acked', 'failed', 'expired', 'canceled']
		.includes(entry.state), where);
	for (const member of ['attempts', 'retry_count', 'max_retries'])
		assert.ok(Number.isInteger(entry[member]) && entry[member] >= 0, `${member} ${where}`);
	time(entry.event_time, `event_time ${where}`);
	time(entry.created_at, `created_at ${where}`);
	for (const member of ['last_attempt_at', 'last_status_at', 'next_retry_at', 'deliver_at',
		'expires_at', 'sent_at', 'acked_at', 'read_at']) {
		assert.ok(entry[member] === null || TIME.test(entry[member]), `${member} ${where}`);
	}
	assert.ok(['low', 'normal', 'high'].includes(entry.priority), where);
	assert.ok(Array.isArray(entry.labels), where);
	for (const member of ['recipients', 'sent', 'acked', 'read', 'failed'])
		assert.ok(Number.isInteger(entry.counts[member]), `counts.${member} ${where}`);
	assert.ok(Array.isArray(entry.destinations), where);
}

/**
 * Asserts that ${entry} was just accepted: it is pending, or sent because it
 * was delivered at once.
 */
export function accepted(entry)
{
	entryForm(entry);
	const at_once = entry.state === 'sent';
	assert.ok(at_once || entry.state === 'pending', JSON.stringify(entry));
	assert.equal(entry.attempts, at_once ? 1 : 0);
	assert.equal(entry.sent_at, at_once ? entry.created_at : null);
	assert.equal(entry.last_attempt_at, entry.sent_at);
	assert.equal(entry.acked_at, null);
}

/**
 * Asserts that ${event} is the event of a message, with all the members that
 * the API names and its body.
 */
export function messageEvent(event, { id, from, to, body, own = false })
{
	const where = JSON.stringify(event);

	assert.equal(event.kind, 'message', where);
	assert.equal(event.id, id, where);
	assert.equal(event.from, from, where);
	assert.equal(event.to, to, where);
	assert.equal(event.body, body, where);
	assert.equal(event.own, own, where);
	assert.match(event.event_id, UUID, where);
	assert.match(event.conversation, UUID, where);
	assert.ok(Number.isInteger(event.seq) && event.seq > 0, where);
	assert.ok(Number.isInteger(event.conversation_seq) && event.conversation_seq > 0, where);
	time(event.event_time, where);
	time(event.delivered_at, where);
	for (const member of ['content_type', 'metadata', 'correlation_id', 'reply_to',
		'read_at', 'attempt'])
		assert.ok(member in event, `${member} is missing: ${where}`);
}

/**
 * Asserts that the seqs of ${events} are 1, 2, 3 … (or from ${first} on)
 * without a gap.
 */
export function contiguous(events, first = 1)
{
	assert.deepEqual(events.map((event) => event.seq),
		events.map((_event, i) => first + i), 'seq has holes');
}

/**
 * Returns the event without the member `type`, the only difference between
 * WebSocket and REST.
 */
export function bare({ type, ...event })
{
	assert.ok(type === undefined || type === 'event');
	return event;
}
