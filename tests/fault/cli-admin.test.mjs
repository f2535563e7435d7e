// SPDX-License-Identifier: MIT
//
// The admin commands while other servers fail: what they show, and what
// operators can do.
//
// Needs a build with --enable-faults, whose program TWINBOXD_FAULTS names.
// Without it the tests are skipped; with TWINBOX_FAULTS_REQUIRED=1 they fail.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { TWINBOX, people } from '../e2e/cli-client.mjs';
import { operator } from '../e2e/cli-admin-standin.mjs';
import { Terminal } from '../e2e/cli-terminal.mjs';
import { eventually } from '../e2e/harness.mjs';
import { faultServer, Peer, skip } from './remote.mjs';

/**
 * Returns a server, its operator, a sender, and another server that behaves as
 * ${does} says.
 */
async function trouble(t, name, does)
{
	const server = await faultServer(t);
	const root = await operator(server);
	const [ann] = await people(server.url, 'ann');
	const peer = new Peer(server, name);

	peer.does(does);
	return { root, ann, peer, to: `bob@${peer.name}` };
}

/** Waits until `admin ${words}`, run by ${root}, shows ${wanted}. */
async function shows(root, words, wanted)
{
	let out = '';

	try {
		return await eventually(async () => {
			({ out } = await root.run('admin', ...words));
			return wanted.test(out) && out;
		}, String(wanted), 30_000);
	} catch (cause) {
		throw new Error(`admin ${words.join(' ')} does not show ${wanted}:\n${out}`, { cause });
	}
}

describe('an operator and other servers', { skip }, () => {
	it('one that is down is seen; when it is back, so is what waited (R82)', async (t) => {
		const { root, ann, peer, to } = await trouble(t, 'down', { down: 1 });
		const { id } = await ann.json('send', to, 'are you there?');

		await shows(root, ['destinations'], /^down\.fault\.test +open +0\/1 +1 /m);
		const out = await shows(root, ['destinations'], /failing for/);
		assert.match(out, /^ {4}failing for \S+, next probe (in \S+|now): .*\w/m);
		assert.match((await root.run('admin', 'outbox', '--destination', peer.name)).out,
			new RegExp(`^${id} +(pending|retrying) .*\\n {4}${ann.name} → ${to}`, 'm'));
		await shows(root, ['show', id], /^ +1 +\d\d:\d\d:\d\d +\S+ +\w+ /m);
		const screen = new Terminal(TWINBOX, ['admin', 'top', '--interval', '1s'], { env: root.env });
		t.after(() => screen.kill());
		await screen.shows(/^down\.fault\.test +open /m);
		screen.type('4');
		await screen.shows(/^ +\d+ +bob@down\S+ +messages +(ready|leased) +1 /m);
		peer.does({});
		await peer.gets(1);
		await screen.shows('no lane has anything to send');
		screen.type('1');
		await screen.shows(/^down\.fault\.test +(half_open|closed) /m);
		screen.type('q');
		assert.equal(await screen.ended(), 0);
	});

	it('what it rejects is a dead letter, and goes out when requeued (R83)', async (t) => {
		const { root, ann, peer, to } = await trouble(t, 'no', { reject: 100 });

		for (let i = 0; i < 12; i++)
			await ann.run('send', to, `number ${i}`);
		await shows(root, ['stats'], /^dead letters +12$/m);
		const { dead_letters: dead } = await root.page('admin', 'dlq', '--reason', 'rejected');
		assert.equal(dead.length, 12);
		assert.ok(dead.every((one) => one.to === to && one.destination === peer.name));
		const refused = await root.try(['admin', 'requeue', '--all', '--destination', peer.name]);
		assert.match(refused.err, /this would requeue 12 dead letters; add --yes/);
		peer.does({});
		assert.equal((await root.run('admin', 'requeue', '--all', '--destination', peer.name, '--yes')).out,
			'requeued 12\n');
		assert.equal((await peer.gets(12)).length, 12);
		await shows(root, ['stats'], /^dead letters +0$/m);
	});

	it('a pause holds one of them; a rewound lane is offered again (R385 R418)', async (t) => {
		const { root, ann, peer, to } = await trouble(t, 'calm', { forget: 1 });

		await ann.run('send', to, 'first');
		await peer.gets(1);
		await root.run('admin', 'pause', peer.name, '--reason', 'they asked');
		await ann.run('send', to, 'second');
		await shows(root, ['destinations'], /^calm\.fault\.test +paused .*\n {4}paused .*: they asked$/m);
		assert.equal(peer.has().length, 1);
		await root.run('admin', 'resume', peer.name);
		const ids = (await peer.gets(2)).map((one) => one.id);
		await shows(root, ['lanes', '--destination', peer.name], /^ +\d+ +\S+ +messages +idle +0 +3 +2 +2 /m);
		const [lane] = (await root.page('admin', 'lanes', '--destination', peer.name)).lanes;
		assert.equal((await root.run('admin', 'rewind', lane.lane_id, 1)).out,
			`lane ${lane.lane_id} is offered again from 1\n`);
		assert.deepEqual((await peer.gets(4)).map((one) => one.id), [...ids, ...ids]);
		// A rewind by time: the second message was taken after the
		// pause, so only that one is offered again.
		const { sent_at: since } = await ann.json('outbox', ids[1]);
		assert.match((await root.run('admin', 'rewind', peer.name, '--since', since)).out,
			/^1 lane of calm\.fault\.test offers again what was sent since /);
		assert.deepEqual((await peer.gets(5)).map((one) => one.id), [...ids, ...ids, ids[1]]);
		const lanes = async () => (await root.page('admin', 'lanes', '--destination', peer.name)).lanes;
		await eventually(async () => (await lanes())[0].replay_seq === null, 'all is offered');
		// No message was sent after tomorrow.
		const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
		await root.run('admin', 'rewind', lane.lane_id, '--since', tomorrow);
		assert.equal((await lanes())[0].replay_seq, null);
		const [entry] = (await root.page('admin', 'audit', '--limit', 1)).entries;
		assert.deepEqual([entry.action, entry.object, entry.detail],
			['rewind', String(lane.lane_id), 'nothing, of 2']);
	});
});
