// SPDX-License-Identifier: MIT
// tags: store
//
// What an administrator can do to users: disable, enable, promote, demote.
// Each change has an entry in the audit log.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { expectStatus, login, serverForFile, users } from './harness.mjs';
import { problem } from './expect.mjs';
import { operator } from './operator.mjs';

const server = serverForFile({ before, after, afterEach });

const change = (root, name, word) => root.do('POST', `users/${name}/${word}`);

/**
 * Asserts that the action ${word} on user ${name} is refused with ${status},
 * ${code} and the text ${detail}.
 */
async function refused(root, name, word, status, code, detail)
{
	const answer = await root.post(`/v1/admin/users/${name}/${word}`);

	problem(answer, status, code);
	assert.equal(answer.body.detail, detail);
}

/** The newest ${n} entries of the audit log, oldest first. */
async function audit(root, n)
{
	const { entries } = await root.ask(`audit?limit=${n}`);

	return entries.map((e) => [e.actor, e.action, e.object, e.detail]).reverse();
}

describe('users as an administrator changes them', () => {
	it('disable ends the devices, enable lets the user log in again', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');

		const gone = await change(root, ann.name, 'disable');
		assert.deepEqual({ ...gone, disabled_at: 0, created_at: 0 },
			{ name: ann.name, display_name: null, admin: false, disabled_at: 0, created_at: 0, devices: 0 });
		assert.ok(gone.disabled_at >= gone.created_at);
		expectStatus(await ann.get('/v1/inbox'), 401);
		await refused(root, ann.name, 'disable', 409, 'conflict', `user "${ann.name}" is disabled already`);
		assert.equal((await change(root, ann.name, 'enable')).disabled_at, null);
		await refused(root, ann.name, 'enable', 409, 'conflict', `user "${ann.name}" is not disabled`);
		expectStatus(await ann.get('/v1/inbox'), 401);
		expectStatus(await (await login(server, ann.name)).get('/v1/inbox'), 200);
		assert.deepEqual(await audit(root, 2), [
			[root.name, 'user_disable', ann.name, null], [root.name, 'user_enable', ann.name, null]]);
	});

	it('promote and demote change what the user may do, at once', async () => {
		const root = await operator(server);
		const [ann] = await users(server, 'ann');

		expectStatus(await ann.get('/v1/admin/users'), 403);
		const { admin, devices } = await change(root, ann.name, 'promote');
		assert.deepEqual({ admin, devices }, { admin: true, devices: 1 });
		expectStatus(await ann.get('/v1/admin/users'), 200);
		await refused(root, ann.name, 'promote', 409, 'conflict', `user "${ann.name}" is an administrator already`);
		// An administrator may demote others and also themselves.
		const demoted = expectStatus(await ann.post(`/v1/admin/users/${ann.name}/demote`), 200).body;
		assert.equal(demoted.admin, false);
		expectStatus(await ann.get('/v1/admin/users'), 403);
		await refused(root, ann.name, 'demote', 409, 'conflict', `user "${ann.name}" is not an administrator`);
		assert.deepEqual(await audit(root, 2), [
			[root.name, 'user_promote', ann.name, null], [ann.name, 'user_demote', ann.name, null]]);
	});

	it('who is not a user here is not found', async () => {
		const root = await operator(server);

		for (const name of ['nobody-of-that-name', 'x@b.example', 'Capital', 'x'.repeat(33)]) {
			for (const word of ['disable', 'enable', 'promote', 'demote']) {
				await refused(root, encodeURIComponent(name), word, 404, 'not_found',
					`there is no user called "${name}" on this server`);
			}
		}
	});
});
