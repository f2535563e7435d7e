// SPDX-License-Identifier: MIT
//
// A server has no memory while it reads what another server has answered.  The
// fault is its own: neither the message nor the other server is charged, and
// the message arrives once.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { scene, uncharged } from '../e2e/federation-scene.mjs';
import { until } from '../e2e/operator.mjs';
import { skip } from './remote.mjs';

/* Which answer of b.example is lost: the server reads its document first. */
const DOCUMENT = 1, ACKS = 2;

/** Plays a message whose answer number ${n} finds no memory. */
async function without(t, n)
{
	const s = await scene(t, { env: { TWINBOX_FAULT: `transfer.answer.memory:${n}:fail` } });
	const { id } = await s.ann.send('bob@b.example', 'twice on the way, once there');

	await s.b.gets(id);
	assert.deepEqual(uncharged(await until(s.ann, id, 'sent')), [0, null]);
	const { failures, breaker } = await s.root.destination('b.example');
	assert.deepEqual([failures, breaker], [0, 'closed']);
	assert.deepEqual(s.b.messages(), [id]);
	await s.check();
	return s;
}

describe('no memory for an answer', { skip }, () => {
	it('of acks: the message goes again, and its peer recognises it', async (t) => {
		const { b } = await without(t, ACKS);

		assert.equal(b.requests.length, 2);
		assert.deepEqual(b.requests.map(({ envelopes }) => envelopes[0].attempt), [1, 2]);
	});

	it('of a document: it is read again, and then the message goes', async (t) => {
		const { b } = await without(t, DOCUMENT);

		assert.equal(b.documents, 2);
		assert.equal(b.requests.length, 1);
	});
});
