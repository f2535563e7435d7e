// SPDX-License-Identifier: MIT
//
// A row that another session locks for a long time delays only the clients that
// need it.  Ten pairs of users work at three nodes, and one pair needs the row.
// The messages of the other pairs are accepted in order and without a 503.  The
// messages of that pair are accepted in order, too, or were refused and left
// nothing.  The speed of the other pairs, compared with the time before, is
// printed.
//
// HELD_MS is how long the row is locked, in milliseconds (default 4000).

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { contiguous } from '../e2e/expect.mjs';
import {
	Server, TWINBOXD, User, eventually, killAll, run, sleep, tempDir, users, uuid7,
} from '../e2e/harness.mjs';
import { Cluster } from './cluster.mjs';
import { Holder } from './holder.mjs';

const PAIRS = 10;
const NODES = 3;
const HELD_MS = Number(process.env.HELD_MS ?? 4000);
const QUIET_MS = HELD_MS / 2;

after(killAll);

/**
 * Sends messages from ${from} to ${to}, one after another, until it is asked to
 * stop.
 */
class Pair {
	constructor(from, to)
	{
		Object.assign(this, { from, to, sent: [], times: [], refused: 0, going: true });
		this.ended = this.send();
	}

	async send()
	{
		while (this.going) {
			const id = uuid7();
			const began = performance.now();
			const { status, text } = await this.from.post('/v1/messages',
				{ id, to: this.to.name, body: `${this.sent.length}` });

			if (status === 201)
				this.sent.push(id);
			else if (status === 503)
				this.refused++;
			else
				throw new Error(`${status}: ${text}`);
			this.times.push({ at: began, ms: performance.now() - began });
			await sleep(5);
		}
	}

	async stop()
	{
		this.going = false;
		await this.ended;
	}

	/** Returns what ${to} has received from this pair, in order. */
	async received()
	{
		const events = [];
		for (let cursor = 0; ;) {
			const { body } = await this.to.get(`/v1/inbox?after=${cursor}&limit=200`);
			events.push(...body.events);
			cursor = body.next;
			if (!body.has_more)
				break;
		}
		return events;
	}
}

/**
 * Does the same over one WebSocket without waiting for answers.  Up to eight
 * messages are in flight, so a later one could overtake an earlier one.
 */
class Pipeline extends Pair {
	async send()
	{
		const ws = await this.from.ws({ instance: 'pipeline' });
		const asked = [];
		let under_way = 0;

		for (; this.going; await sleep(10)) {
			if (under_way === 8)
				continue;
			const id = uuid7();
			under_way++;
			asked.push(ws.request({ type: 'send', message:
				{ id, to: this.to.name, body: `${asked.length}` } }, { ms: 60_000 })
				.then(({ type, problem }) => {
					under_way--;
					if (type === 'sent')
						this.sent.push(id);
					else if (problem?.status === 503)
						this.refused++;
					else
						throw new Error(`${type}: ${JSON.stringify(problem)}`);
					return type === 'sent' ? [id] : [];
				}));
		}
		/*
		 * The ids are in the order of the sends, not of the answers.
		 */
		this.sent = (await Promise.all(asked)).flat();
		await ws.close();
	}
}

/** Does the same, and the recipient acks. */
class Acked extends Pair {
	async send()
	{
		this.acks = this.acking();
		await super.send();
		await this.acks;
	}

	async acking()
	{
		for (; this.going; await sleep(5)) {
			const { status, text } = await this.to.post('/v1/inbox/ack', { upto: 1 });

			if (status === 503)
				this.refused++;
			else
				assert.equal(status, 200, text);
		}
	}
}

const sorted = (times) => times.map(({ ms }) => ms).sort((a, b) => a - b);
const at = (list, part) => list[Math.min(list.length - 1, Math.floor(list.length * part))];

/**
 * Returns the rate and the percentiles of ${pairs} from ${from} to ${to} (times
 * of performance.now()).
 */
function figures(pairs, from, to)
{
	const all = sorted(pairs.flatMap(({ times }) => times.filter(({ at: t }) => t >= from && t < to)));

	return { rate: all.length / (to - from) * 1000, p50: at(all, 0.5), p99: at(all, 0.99),
		most: all.at(-1) };
}

const told = ({ rate, p50, p99, most }) =>
	`${rate.toFixed(0)} sends/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, most ${most.toFixed(0)} ms`;

describe('one row that somebody else holds', () => {
	let cluster;

	before(async () => {
		cluster = await new Cluster().start();
	});
	after(() => cluster?.remove());

	/**
	 * Runs ten pairs.  ${hold}({nodes, one}) delays some of them, and
	 * returns a function that ends the delay.  ${isHeld}(i) returns true if
	 * pair i is delayed.
	 */
	async function holdUp(t, database, hold, isHeld = (i) => i === 0, Held = Pipeline)
	{
		const url = await cluster.createDatabase(database);
		const nodes = await Promise.all(Array.from({ length: NODES }, () => new Server({
			args: ['--db', url, '--max-pending', '100000'],
			unlimited: 'ten pairs send as fast as can be' }).start()));
		const [strangers, people] = [await users(nodes[0], 'new', 'newer'),
			await users(nodes[0], ...Array.from({ length: 2 * PAIRS }, (_, i) => `p${i}`))];
		const there = (i, user) => new User(nodes[i % NODES], user.name, user.token, user.device_name);
		for (let i = 0; i < PAIRS; i++)
			await people[2 * i].send(people[2 * i + 1].name, 'before');
		const pairs = Array.from({ length: PAIRS }, (_, i) =>
			new (isHeld(i) ? Held : Pair)(there(i, people[2 * i]), there(i + 1, people[2 * i + 1])));
		const ones = pairs.filter((_, i) => isHeld(i));
		const others = pairs.filter((_, i) => !isHeld(i));

		await sleep(500);
		const quiet = performance.now();
		await sleep(QUIET_MS);
		const release = await hold({ nodes, pairs, ones, one: ones[0], strangers, there });
		const held = performance.now();
		await sleep(HELD_MS);
		const freed = performance.now();
		await release();
		const accepted = ones.map((one) => one.sent.length);
		await eventually(() => ones.every((one, i) => one.sent.length > accepted[i] + 5),
			'the others go on, too', 30_000);
		await Promise.all(pairs.map((pair) => pair.stop()));

		const before_it = figures(others, quiet, held);
		const meanwhile = figures(others, held, freed);
		t.diagnostic(`before: ${told(before_it)}`);
		t.diagnostic(`held:   ${told(meanwhile)}; ${(meanwhile.rate / before_it.rate).toFixed(2)} of the rate`);
		for (const one of ones)
			t.diagnostic(`held up: ${one.sent.length} accepted, ${one.refused} refused`);
		for (const pair of others)
			assert.equal(pair.refused, 0);
		/*
		 * The limit is far below the usual rate, and far above the rate
		 * if the others waited for the row.
		 */
		assert.ok(meanwhile.rate > before_it.rate / 4, 'the others go on');
		for (const pair of pairs) {
			const events = await eventually(async () => {
				const got = await pair.received();
				return got.some((e) => e.id === pair.sent.at(-1)) && got;
			}, 'all is delivered', 30_000);
			contiguous(events, 1);
			assert.deepEqual(events.filter((e) => e.kind === 'message' && e.body !== 'before')
				.map((e) => e.id), pair.sent, 'each once, in its order');
		}
		for (const node of nodes)
			assert.equal((await node.stop()).code, 0);
		const fsck = run(TWINBOXD, ['fsck', '--data', path.join(tempDir(), 'd'), '--db', url]);
		assert.equal((await fsck.exited).code, 0, fsck.out + fsck.err);
	}

	/** Locks the row that ${sql} selects. */
	const row = (t, database, sql) => async ({ one }) => {
		const holder = await new Holder(cluster, database, sql(one)).held();

		t.after(() => holder.child.kill('SIGKILL'));
		return async () => assert.equal(await holder.release(), 0);
	};

	const person = (user) => `(SELECT user_id FROM users WHERE name = '${user.name}')`;

	it('a conversation', (t) => holdUp(t, 'conversation', row(t, 'conversation', ({ sent }) =>
		'SELECT 1 FROM conversations c JOIN messages m USING (conversation_id) ' +
		`WHERE m.message_id = '${sent[0]}' FOR UPDATE OF c`)));

	it('an inbox', (t) => holdUp(t, 'inbox', row(t, 'inbox', ({ to }) =>
		`SELECT 1 FROM inboxes WHERE user_id = ${person(to)} FOR UPDATE`)));

	it('the inbox of who sends', (t) => holdUp(t, 'sender', row(t, 'sender', ({ from }) =>
		`SELECT 1 FROM inboxes WHERE user_id = ${person(from)} FOR UPDATE`)));

	it('a device', (t) => holdUp(t, 'device', row(t, 'device', ({ to }) =>
		`SELECT 1 FROM devices WHERE user_id = ${person(to)} FOR UPDATE`), (i) => i === 0, Acked));

	it('the name of what two strangers make', (t) => holdUp(t, 'name',
		async ({ nodes, strangers, there }) => {
			const [from, to] = [there(0, strangers[0]), there(1, strangers[1])];
			const key = strangers.map(({ name }) => name).sort().join(' ');
			const release = await row(t, 'name', () =>
				`SELECT pg_advisory_xact_lock(6451064, hashtext('${key}'))`)({});
			const ws = await from.ws({ instance: 'pipelined' });
			const ids = Array.from({ length: 4 }, () => uuid7());
			const send = (id) => ws.request({ type: 'send',
				message: { id, to: to.name, body: 'to a stranger' } }, { ms: 30_000 });

			return async () => {
				/*
				 * Each send is in a batch of its own.  The last
				 * one comes when the name is free, while the
				 * others still wait to be retried.
				 */
				const answers = [];
				const abandoned = () => nodes[0].metric('batches_abandoned_total');
				const before = await abandoned();
				for (const id of ids.slice(0, -1)) {
					answers.push(send(id));
					await eventually(async () => await nodes[0].metric('units_deferred') === answers.length,
						'it is deferred');
				}
				/*
				 * Waits in vain and probes of the name are not
				 * counted as batches that ran one by one.
				 */
				assert.ok(await abandoned() - before <= answers.length);
				await release();
				answers.push(send(ids.at(-1)));
				for (const answer of await Promise.all(answers))
					assert.equal(answer.type, 'sent', JSON.stringify(answer));
				await to.received(ids.at(-1));
				assert.deepEqual((await to.inbox()).events.filter((e) => e.kind === 'message')
					.map(({ id }) => id), ids);
				await ws.close();
			};
		}, () => false));

	it('a node that stands still keeps only what it has', (t) => holdUp(t, 'frozen',
		async ({ nodes }) => {
			process.kill(nodes.at(-1).pid, 'SIGSTOP');
			return () => process.kill(nodes.at(-1).pid, 'SIGCONT');
		}, (i) => i % NODES === NODES - 1, Pair));
});
