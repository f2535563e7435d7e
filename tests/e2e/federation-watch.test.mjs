// SPDX-License-Identifier: MIT
// tags: surface
//
// Alerts about another server, which node plays: its keys have changed, it was
// restored from a backup, its clock is wrong.  Each alert appears in the log,
// in /metrics, in `twinbox admin stats` and in the statistics of the admin
// page, and is cleared when its cause is gone.  The commands in the text of an
// alert work as they are printed.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { operator as commandLine } from './cli-admin-standin.mjs';
import { scene } from './federation-scene.mjs';
import { eventually, expectStatus } from './harness.mjs';
import { until } from './operator.mjs';
import { Peer } from './peer.mjs';

const ARGS = ['--alert-interval', '1s'];

/**
 * Returns the alert ${name} of the server, or undefined if it is not raised.
 */
const raised = async (s, name) =>
	(await s.root.ask('stats')).alerts.find((one) => one.name === name);

/**
 * Waits for alert ${name}.  Returns its text, which must be the same
 * everywhere.
 */
async function told(s, name)
{
	const alert = await eventually(() => raised(s, name), `the alert ${name}`, 30_000);
	const page = expectStatus(await s.server.rest().get('/metrics'), 200).text;

	assert.match(page, new RegExp(`^twinbox_alert\\{alert="${name}",severity="${alert.severity}"\\} 1$`, 'm'));
	const [line] = s.server.output().split('\n').filter(
		(one) => new RegExp(` alert\\.(warning|error) ${name} `).test(one)).slice(-1);
	assert.ok(line, s.server.output());
	return alert;
}

/** Waits until alert ${name} is cleared. */
async function cleared(s, name)
{
	await eventually(async () => !await raised(s, name), `no alert ${name}`, 30_000);
	assert.match(s.server.output(), new RegExp(` alert\\.cleared ${name} seconds=\\d+`));
}

/** Sends a message to b, which accepts it. */
async function send(s, text, to = 'bob')
{
	const { id } = await s.ann.send(`${to}@b.example`, text);

	await until(s.ann, id, 'sent');
	return id;
}

/**
 * Sends messages until ${seen} is true.  Meanwhile the server fetches b's
 * document again.
 */
async function sendUntil(s, seen, what)
{
	for (let i = 0; !await seen(); i++) {
		assert.ok(i < 20, what);
		await send(s, `${what} ${i}`);
	}
}

/**
 * Sends a message to b, which takes it and does not answer yet.  Returns the
 * message's id, and a function that sends the answer with b's present epoch.
 */
async function takenLate(s)
{
	const { ann, b } = s;
	let answers;

	await s.known();
	const { epoch } = b;
	b.next((request, response) => {
		const acks = request.envelopes.map(({ message_id }) => ({ message_id, status: 'accepted' }));
		answers = () => b.answer(response, { acks, epoch });
	});
	const { id } = await ann.send('bob@b.example', 'taken, and lost');
	await eventually(() => answers, 'the request is under way');
	return { id, answers };
}

describe('another server that changes', () => {
	it('its keys, until an operator pins one', async (t) => {
		const s = await scene(t, { args: ARGS });
		const { b, root } = s;
		await s.known();
		assert.equal(await raised(s, 'peer_keys_changed'), undefined);
		const before_it = b.key_id;
		const { key_id, keys, public: shown } = new Peer('b.example');
		Object.assign(b, { key_id, keys, public: shown, epoch: `${b.epoch.slice(0, -4)}0000` });
		await sendUntil(s, () => b.documents > 1, 'another document');
		const alert = await told(s, 'peer_keys_changed');
		assert.equal(alert.severity, 'warning');
		assert.match(alert.text, new RegExp(
			`^b\\.example has other keys: now ${key_id} \\([0-9a-f]{8}\\); before ${before_it} \\([0-9a-f]{8}\\); ` +
			'look at them with: twinbox admin peers show b\\.example$'));
		const cli = await commandLine(s.server, s.server.url);
		assert.match((await cli.run('admin', 'peers', 'show', 'b.example')).out, new RegExp(key_id));
		assert.match((await cli.run('admin', 'stats')).out, /^peer_keys_changed /m);

		await s.server.restart();
		await told(s, 'peer_keys_changed');
		await root.do('POST', 'peers/b.example/pin', { key_id, public: shown });
		await cleared(s, 'peer_keys_changed');
		await s.check();
	});

	it('it was restored: the commands of the alert offer its lanes again', async (t) => {
		const s = await scene(t, { args: ARGS });
		const { b } = s;
		const lost = [await s.known(), await send(s, 'lost, too'), await send(s, 'another lane', 'carol')];
		await s.c.gets((await s.ann.send('carol@c.example', 'not of b')).id);
		assert.equal(await raised(s, 'peer_restored'), undefined);

		// b has lost all of its data.
		b.epoch = new Peer('b.example').epoch;
		b.ids.clear();
		b.taken.length = 0;
		await sendUntil(s, () => b.documents > 1, 'the answer shows another epoch');
		const alert = await told(s, 'peer_restored');
		assert.equal(alert.severity, 'error');
		const [, commands] = /^b\.example was restored from a backup and .* offer its lanes again with: (.*)$/
			.exec(alert.text);
		const cli = await commandLine(s.server, s.server.url);
		const typed = commands.split('; ');
		assert.equal(typed.length, 2, commands);
		for (const [i, command] of typed.entries()) {
			const [program, ...args] = command.split(' ');
			assert.equal(program, 'twinbox');
			assert.match((await cli.run(...args)).out, /^lane \d+ is offered again from 1\n$/);
			if (i === 0)
				await eventually(async () => (await raised(s, 'peer_restored'))?.text.endsWith(`with: ${typed[1]}`),
					'the other lane is left', 30_000);
		}
		await cleared(s, 'peer_restored');
		for (const id of lost)
			await b.gets(id);
		const order = b.messages();
		assert.deepEqual(lost.slice(0, 2).map((id) => order.indexOf(id)),
			lost.slice(0, 2).map((id) => order.indexOf(id)).sort((x, y) => x - y));
		assert.deepEqual(b.faults, []);
	});

	it('it was restored: what it had answered before counts no more', async (t) => {
		const s = await scene(t, { args: ARGS });
		const { ann, b } = s;
		const { id, answers } = await takenLate(s);
		const carried = (one) => one.envelopes.filter(({ payload }) => payload.id === id).length;
		assert.equal(b.requests.filter(carried).length, 1);

		b.epoch = new Peer('b.example').epoch;
		for (let i = 0; b.documents < 2; i++)
			await s.ann.send('carol@b.example', `another lane ${i}`).then((one) => b.gets(one.id));
		await told(s, 'peer_restored');
		answers();
		await b.gets(id);
		await until(ann, id, 'sent');
		assert.equal(b.requests.filter(carried).length, 2);
		assert.deepEqual((await s.attempts(id)).map(([outcome]) => outcome), ['accepted']);
		assert.deepEqual(b.faults, []);
	});

	it('it was restored twice: an answer from before comes while the document is due', async (t) => {
		const s = await scene(t, { args: ARGS });
		const { ann, b } = s;
		const { id, answers } = await takenLate(s);
		b.epoch = new Peer('b.example').epoch;
		for (let i = 0; b.documents < 2; i++)
			await b.gets((await ann.send('carol@b.example', `another lane ${i}`)).id);
		await told(s, 'peer_restored');

		// An answer with a third epoch ends the document's lifetime, so
		// the request is repeated only after another look-up.
		b.epoch = new Peer('b.example').epoch;
		await send(s, 'the document is outdated', 'carol');
		assert.equal(b.documents, 2);
		answers();
		await eventually(() => b.documents > 2, 'the document is asked for again');
		await b.gets(id);
		await until(ann, id, 'sent');
		await send(s, 'the next parcel');
		assert.deepEqual((await s.attempts(id)).map(([outcome]) => outcome), ['accepted']);
		assert.deepEqual(b.faults, []);
	});

	// The server cannot distinguish a slow answer from a clock that is
	// behind, so the reported difference may be larger.
	for (const [seconds, words] of [[90, '([67]\\d|8\\d|90) s ahead of'], [-200, '(199|2\\d\\d) s behind']]) {
		it(`its clock is ${seconds} s off, until it is right`, async (t) => {
			const s = await scene(t, { args: ARGS });
			const { b } = s;
			const { answer } = b;
			await s.known();
			assert.equal(await raised(s, 'peer_clock_off'), undefined);
			b.answer = function late(response, body) {
				response.setHeader('date', new Date(Date.now() + seconds * 1000).toUTCString());
				answer.call(this, response, body);
			};
			await send(s, 'what time is it?');
			const alert = await told(s, 'peer_clock_off');
			assert.equal(alert.severity, 'warning');
			assert.match(alert.text, new RegExp(`^the clock of b\\.example is ${words} the one here$`));
			b.answer = answer;
			await send(s, 'and now?');
			await cleared(s, 'peer_clock_off');
			await s.check();
		});
	}

	it('its clock, by what it sends', async (t) => {
		const s = await scene(t, { args: ARGS });
		const { b } = s;
		await s.known();
		expectStatus(await b.delivers(s.server, { envelopes: [] }, { skew: -100 }), 200);
		assert.match((await told(s, 'peer_clock_off')).text, /^the clock of b\.example is \d+ s behind the one here$/);
		const at = new Date(Date.now() + 75_000).toISOString();
		expectStatus(await b.delivers(s.server, { envelopes: [], control: { heartbeat: { at } } }), 200);
		assert.match((await eventually(async () => {
			const alert = await raised(s, 'peer_clock_off');
			return alert.text.includes('ahead') && alert;
		}, 'the heartbeat says another time', 30_000)).text, / is [67]\d s ahead of the one here$/);
		expectStatus(await b.delivers(s.server, { envelopes: [] }), 200);
		await cleared(s, 'peer_clock_off');
	});
});
