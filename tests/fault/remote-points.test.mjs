// SPDX-License-Identifier: MIT
//
// Every fault point on the way to other servers: in one run for each of its
// first passages, the server is killed there.  Leased, sent, refused, dead,
// requeued and rescued messages reach the same final state, and no destination
// has a message twice.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the test is skipped; with TWINBOX_FAULTS_REQUIRED=1 it fails.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';

import {
	Server, User, eventually, expectStatus, killAll, users, uuid7,
} from '../e2e/harness.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { copyData, dropData, inParallel, isRemotePoint, pointsInSources } from './crash-scenario.mjs';
import { Peer, program, skip } from './remote.mjs';

const MAX = Number(process.env.POINTS_MAX ?? 8);
const WORKERS = Number(process.env.POINTS_WORKERS ?? 3);

/**
 * Makes data with a message that was under way when the server died, so that a
 * lease must be ended.
 */
async function prepare()
{
	const server = new Server({ program });

	await server.start();
	const [ann] = await users(server, 'ann');
	const ids = Array.from({ length: 5 }, () => uuid7());
	new Peer(server, 'slow').does({ silent: 1 });
	await ann.send('bob@slow.fault.test', 'on its way', { id: ids[4] });
	await eventually(async () => (await ann.entry(ids[4])).state === 'sending', 'it is on its way');
	await server.kill();
	new Peer(server, 'slow').does({});
	return { data: server.data, name: ann.name, token: ann.token, ids };
}

/** The scenario, which begins again after each death. */
class Story {
	constructor(made)
	{
		this.made = made;
		this.repaired = false;
	}

	async send(n, to)
	{
		await this.ann.send(to, `message ${n}`, { id: this.made.ids[n] });
	}

	/**
	 * Waits until message ${n} is in one of the states ${wanted}.  Returns
	 * it.  Fails at once if the server has died.
	 */
	async state(n, wanted)
	{
		const { server } = this;

		return eventually(async () => {
			try {
				const { state } = await this.ann.entry(this.made.ids[n]);
				return wanted.includes(state) && state;
			} catch (error) {
				error.final = !server.running;
				throw error;
			}
		}, `message ${n} is ${wanted.join(' or ')}`);
	}

	async run(server)
	{
		const { made } = this;

		this.server = server;
		this.ann = new User(server, made.name, made.token, 'first');
		this.no = new Peer(server, 'no');
		this.ok = new Peer(server, 'ok');
		this.slow = new Peer(server, 'slow');
		if (!this.repaired)
			this.no.does({ reject: 100 });
		for (const n of [0, 1, 2])
			await this.send(n, 'bob@ok.fault.test');
		await this.send(3, 'bob@no.fault.test');
		for (const n of [0, 1, 2, 4])
			await this.state(n, ['sent']);
		await this.state(3, this.repaired ? ['failed', 'pending', 'sending', 'sent'] : ['failed']);
		this.repaired = true;
		this.no.does({});
		if (await this.state(3, ['failed', 'pending', 'sending', 'sent']) === 'failed')
			expectStatus(await this.ann.post(`/v1/outbox/${made.ids[3]}/retry`), 200);
		await this.state(3, ['sent']);
	}

	async prove(server)
	{
		const { ids } = this.made;
		const { events } = await this.ann.inbox();

		assert.deepEqual(this.ok.has().map((got) => got.id), ids.slice(0, 3));
		assert.deepEqual(this.no.has().map((got) => got.id), [ids[3]]);
		assert.deepEqual(this.slow.has().map((got) => got.id), [ids[4]]);
		assert.deepEqual(events.filter((e) => e.kind === 'bounce').map((e) => e.of), [ids[3]]);
		assert.equal(events.filter((e) => e.kind === 'message' && e.own).length, 5);
		await assertSound(server);
	}
}

/**
 * Runs the scenario once on ${server}, with a fault point armed.  Returns true
 * if the server died there.
 */
async function play(story, server, env)
{
	try {
		await server.start({ env });
		await story.run(server);
	} catch (error) {
		await eventually(() => !server.running, `the end of the server after ${error.message}`);
		assert.equal(server.last.signal, 'SIGKILL', error.message);
		return true;
	}
	return false;
}

after(killAll);

it('R2 R4 R88 a kill at every point on the way to other servers ends the same',
	{ skip }, async (t) => {
	assert.ok(program, 'TWINBOXD_FAULTS is not set');
	const made = await prepare();
	const trace = path.join(path.dirname(made.data), 'trace');
	const first = new Server({ program, data: copyData(made.data) });
	const story = new Story(made);
	const points = new Map();

	assert.equal(await play(story, first, { TWINBOX_FAULT_TRACE: trace }), false);
	await story.prove(first);
	await first.kill();
	for (const name of fs.readFileSync(trace, 'utf8').split('\n').filter(isRemotePoint))
		points.set(name, (points.get(name) ?? 0) + 1);
	t.diagnostic(`points passed: ${JSON.stringify(Object.fromEntries(points))}`);
	assert.deepEqual([...points.keys()].sort(), pointsInSources().filter(isRemotePoint));
	const work = [...points].flatMap(([name, count]) =>
		Array.from({ length: Math.min(count, MAX) }, (_none, i) => [name, i + 1]));
	const killed = new Set();
	await inParallel(WORKERS, work, async ([name, n]) => {
		const server = new Server({ program, data: copyData(made.data) });
		const again = new Story(made);

		if (await play(again, server, { TWINBOX_FAULT: `${name}:${n}:kill` }))
			killed.add(name);
		else
			await server.kill();
		await server.start();
		await again.run(server);
		await again.prove(server);
		await server.kill();
		dropData(server.data);
	});
	t.diagnostic(`${work.length} runs, the same end each time`);
	assert.deepEqual([...killed].sort(), [...points.keys()].sort());
	dropData(made.data);
	dropData(first.data);
});
