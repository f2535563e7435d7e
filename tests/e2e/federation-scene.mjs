// SPDX-License-Identifier: MIT
//
// A server under test and two other servers that node plays (peer.mjs).  One of
// them misbehaves.  The other is healthy, so that a test can show that it is
// not slowed down.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { assertSound } from './fsck.mjs';
import { users } from './harness.mjs';
import { operator, sendMany, until } from './operator.mjs';
import { startSide } from './pair.mjs';
import { Peer } from './peer.mjs';
import { said } from './upkeep.mjs';

/**
 * Server a.example under test, peer b.example, which misbehaves, and peer
 * c.example, which does not.
 */
export class Scene {
	constructor({ args = [], env = {}, limits } = {})
	{
		this.ends = [];
		this.args = args;
		this.env = env;
		this.b = new Peer('b.example');
		this.c = new Peer('c.example');
		this.b.limits = limits;
	}

	after(act)
	{
		this.ends.push(act);
	}

	async start()
	{
		const peers = [this.b, this.c];

		for (const peer of peers) {
			await peer.listen();
			this.after(() => peer.close());
		}
		this.server = await startSide(this, { domain: 'a.example', args: this.args,
			env: this.env,
			peers: Object.fromEntries(peers.map((peer) => [peer.domain, peer.url])),
			unlimited: 'one user sends as fast as can be' });
		for (const peer of peers)
			peer.knows(this.server);
		[this.root, [this.ann]] = await Promise.all([operator(this.server), users(this.server, 'ann')]);
		return this;
	}

	async stop()
	{
		for (const end of this.ends)
			await end();
		const end = this.server?.last;
		assert.ok(!end || end.code === 0, `the server ended with ${JSON.stringify(end)}\n${this.server?.output()}`);
	}

	/** Asserts that c gets its messages, whatever b does. */
	async meanwhile(n = 3)
	{
		for (let i = 0; i < n; i++)
			await this.c.gets((await this.ann.send('carol@c.example', `meanwhile ${i}`)).id);
	}

	/** Sends ${n} messages to bob@b.example, which wait until resume(). */
	async waiting(n, more)
	{
		await this.root.pause('b.example');
		return sendMany(this.ann, 'bob@b.example', n, more);
	}

	/**
	 * Sends a first message to b.  Only a destination that exists can be
	 * paused.
	 */
	async known()
	{
		const { id } = await this.ann.send('bob@b.example', 'the first');

		await this.b.gets(id);
		await until(this.ann, id, 'sent');
		return id;
	}

	/**
	 * Returns the attempts of message ${id} as [outcome, status, error].
	 */
	async attempts(id)
	{
		const [row] = (await this.root.ask(`outbox/${id}`)).rows;

		return row.attempts.map((one) => [one.outcome, one.status, one.error]);
	}

	/**
	 * Waits until the server parks b.  Returns for how many milliseconds.
	 */
	async parkedFor()
	{
		const [, ms] = await said(this.server, /relay\.park .*destination=b\.example ms=(\d+)/);

		return Number(ms);
	}

	/**
	 * Asserts that b and c saw no error, and that fsck finds none in the
	 * server's database.
	 */
	async check()
	{
		this.b.check();
		this.c.check();
		await assertSound(this.server);
	}
}

/** Makes a scene for one test. */
export async function scene(t, options)
{
	const made = new Scene(options);

	t.after(() => made.stop());
	return made.start();
}

/** Makes a scene for the tests of a describe(). */
export function sceneForAll(options)
{
	const made = new Scene(options);

	before(() => made.start());
	after(() => made.stop());
	return made;
}

/**
 * The members of an entry that show a charge.  They are [0, null] if the
 * message was not charged.
 */
export const uncharged = (entry) => [entry.retry_count, entry.last_error];
