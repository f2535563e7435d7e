// SPDX-License-Identifier: MIT
//
// A script of five messages between two users, with acks and reads.  Each step
// waits for all its consequences, so the final state is always the same: the
// golden end.  The script may be interrupted by the death of the server
// anywhere and be run again from its beginning.  Its ids stay the same, so
// accepted messages are replayed.  A test that breaks a server compares the
// final state with the golden end.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { copyDatabase, dropDatabase } from '../e2e/backend.mjs';
import { copyFiles } from '../e2e/files.mjs';
import {
	Server, User, eventually, expectStatus, removeDir, tempDir, users, uuid7,
} from '../e2e/harness.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { Operator, operator } from '../e2e/operator.mjs';
import { History, check, viewOf } from './crash-checker.mjs';

/** The server died during a step. */
export class Died extends Error {
	final = true;
}

/**
 * Returns the fault points in the sources, sorted, without those that only make
 * a call fail (FAULT_FAILS): these have tests of their own.
 */
export function pointsInSources()
{
	const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../server');
	const files = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.c'));

	return files.flatMap((name) =>
		[...fs.readFileSync(path.join(root, name), 'utf8')
			.matchAll(/\bFAULT\("([^"]+)"\)/g)].map((found) => found[1])).sort();
}

/**
 * Returns true for a point on the way to other servers.  The script of five
 * messages does not reach these points.
 */
export function isRemotePoint(name)
{
	return /^(claim|settle|dead|requeue|reclaim)\./.test(name);
}

/**
 * Copies the regular files of a data directory to a fresh one.  Sockets, and
 * files that disappear meanwhile, are left out.
 */
export function copyData(from)
{
	const to = path.join(tempDir('twinbox-fault-'), 'data');

	copyFiles(from, to);
	copyDatabase(from, to);
	return to;
}

export function dropData(data)
{
	dropDatabase(data);
	removeDir(path.dirname(data));
}

/**
 * Makes a data directory with two users who are logged in.  It is made once,
 * because argon2 is slow.  Returns {data, names, tokens}.  ${halfway} also runs
 * the script's first steps and then kills the server, so that its log is not
 * empty.  ${pauses} adds an operator who pauses deliveries from time to time,
 * so that the relay has something to deliver.
 */
export async function prepare(program, { halfway = false, pauses = false } = {})
{
	const server = new Server({ program });

	await server.start();
	const both = await users(server, 'ann', 'bob');
	const made = { data: server.data, names: both.map((user) => user.name),
		tokens: both.map((user) => user.token), ids: null,
		root: pauses ? await operator(server) : null };
	if (halfway) {
		const script = new Script(made);
		await script.run(server, 3);
		made.ids = script.ids;
		made.history = script.history;
		await server.kill();
	} else {
		await server.stop();
	}
	return made;
}

/** One run of the script, over any number of starts of the server. */
export class Script {
	constructor(made)
	{
		this.made = made;
		this.ids = made.ids ?? Array.from({ length: 5 }, () => uuid7());
		this.history = new History();
		this.answered = new Set();
		// The history also has the messages that were accepted before
		// the data was copied.
		for (const call of made.history?.calls ?? [])
			this.history.accepted(this.history.invoke(call), call.entry);
	}

	/**
	 * Runs the first ${n} steps (by default all of them) from the
	 * beginning.
	 */
	async run(server, n = Infinity)
	{
		const [ann, bob] = this.made.names.map((name, i) =>
			new User(server, name, this.made.tokens[i], 'first'));
		const { root } = this.made;

		this.ann = ann;
		this.bob = bob;
		this.root = root && new Operator(server, root.name, root.token, 'first');
		this.server = server;
		try {
			for (const step of this.steps().slice(0, n))
				await step();
		} catch (error) {
			if (/^contract:/.test(error.message) || error.code === 'ERR_ASSERTION')
				throw error;
			// A refusal by a running server is an error, not a
			// death.  On a busy machine a killed server takes some
			// time to be gone, so the script waits for its end.
			await Promise.race([server.child?.exited, new Promise((resolve) =>
				setTimeout(resolve, 20_000).unref())]);
			if (server.running)
				throw error;
			throw new Died(error.message, { cause: error });
		}
	}

	async send(from, to, n)
	{
		const id = this.ids[n - 1];
		const body = `message ${n}`;
		const call = this.history.by_id.get(id) ??
			this.history.invoke({ client: 0, from: from.name, to: to.name, id, body });
		const known = call.end !== null;
		const answer = expectStatus(await this.ask(() =>
			from.post('/v1/messages', { id, to: to.name, body })), 200, 201);

		assert.ok(!known || answer.status === 200,
			`message ${n} was accepted, and is not known: ${answer.text}`);
		this.history.accepted(call, answer.body, answer.status === 200);
	}

	ask(deed)
	{
		if (!this.server.running)
			throw new Died('the server is down');
		return deed();
	}

	/**
	 * Waits for an event in the inbox of ${user} for which ${wanted}
	 * returns true.  Returns its seq.
	 */
	async shows(user, wanted, what)
	{
		const event = await eventually(async () => {
			const { events } = await this.ask(() => user.inbox());
			events.forEach((one) => this.history.shown(user.name, one));
			return events.find(wanted);
		}, what, 5000);
		return event.seq;
	}

	message(user, n)
	{
		return this.shows(user, (e) => e.id === this.ids[n - 1], `message ${n}`);
	}

	receipt(user, state, n)
	{
		return this.shows(user, (e) => e.kind === 'receipt' && e.state === state && e.upto >= n,
			`receipt ${state} ${n}`);
	}

	async ack(user, upto)
	{
		const { acked } = await this.ask(() => user.ack(upto));
		this.history.acked(user.name, 'first', acked);
	}

	steps()
	{
		const { ann, bob } = this;

		return [
			async () => {
				await this.send(ann, bob, 1);
				const seq = await this.message(bob, 1);
				await this.ack(bob, seq);
				await this.receipt(ann, 'delivered', 1);
			},
			async () => {
				await this.send(bob, ann, 2);
				const seq = await this.message(ann, 2);
				await this.ask(() => ann.read({ upto: seq }));
				await this.receipt(bob, 'read', 2);
				await this.shows(ann, (e) => e.kind === 'read', 'the read event');
			},
			async () => {
				await this.ask(() => this.root?.pause());
				await this.send(ann, bob, 3);
				await this.send(ann, bob, 4);
				await this.ask(() => this.root?.resume());
				const seq = await this.message(bob, 4);
				await this.ack(bob, seq);
				await this.receipt(ann, 'delivered', 4);
				await this.ask(() => bob.read({ ids: [this.ids[3]] }));
				await this.receipt(ann, 'read', 4);
				await this.shows(bob, (e) => e.kind === 'read', 'the read event');
			},
			async () => {
				await this.send(bob, ann, 5);
				const seq = await this.message(ann, 5);
				await this.ack(ann, seq);
				await this.receipt(bob, 'delivered', 5);
			},
		];
	}

	/** Returns the final state without times and generated ids. */
	async end()
	{
		const name = new Map([[this.ann.name, 'ann'], [this.bob.name, 'bob'],
			...this.ids.map((id, i) => [id, `message ${i + 1}`])]);
		const plain = (value) => (Array.isArray(value) ? value.map(plain) :
			value && typeof value === 'object' ? Object.fromEntries(Object.entries(value)
				.filter(([member]) => !volatile.has(member))
				.map(([member, one]) => [member, times.has(member) ? one !== null : plain(one)])) :
			name.get(value) ?? value);
		const end = {};
		const views = new Map();

		for (const user of [this.ann, this.bob]) {
			const view = await viewOf(user);
			views.set(user.name, view);
			end[name.get(user.name)] = plain({
				inbox: view.rest, acked: view.acked, outbox: view.outbox,
				unread: (await user.unread()).total,
				conversations: (await user.get('/v1/conversations')).body.conversations
					.map(({ id: _id, ...one }) => ({ ...one, members: [...one.members].sort((a, b) =>
						(name.get(a.address) < name.get(b.address) ? -1 : 1)) })),
			});
		}
		return { end, views };
	}

	/**
	 * Asserts that the final state is ${golden}, and that it agrees with
	 * the answers that clients had.
	 */
	async prove(golden)
	{
		const { end, views } = await this.end();
		const { violations, counts } = check(this.history, views);

		assert.deepEqual(violations, []);
		assert.equal(counts.accepted, 5);
		assert.deepEqual(end, golden);
		await assertSound(this.server);
		return counts;
	}
}

const volatile = new Set(['event_id', 'conversation', 'created_at', 'last_at', 'event_time', 'attempt',
	'attempts', 'expires_at', 'last_status_at', 'last_attempt_at']);
const times = new Set(['delivered_at', 'read_at', 'sent_at', 'acked_at', 'at', 'deliver_at',
	'next_retry_at']);

/** Returns the final state of an undisturbed run. */
export async function goldenEnd(made, options)
{
	const data = copyData(made.data);
	const server = new Server({ ...options, data });
	const script = new Script(made);

	await server.start();
	await script.run(server);
	const { end } = await script.end();
	await script.prove(end);
	await server.kill();
	dropData(data);
	return end;
}

/** Runs ${deed} on each item of ${work}, with ${n} workers at the same time. */
export async function inParallel(n, work, deed)
{
	const queue = work[Symbol.iterator]();

	await Promise.all(Array.from({ length: n }, async () => {
		for (let next = queue.next(); !next.done; next = queue.next())
			await deed(next.value);
	}));
}
