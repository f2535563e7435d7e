// SPDX-License-Identifier: MIT
//
// Clients of a server without memory, in addition to those of crash-load.mjs:
// one sends arrays, one goes through all other routes, an administrator uses
// /v1/admin.  The last two follow a list of steps.  When there is memory again,
// the test repeats each step, and then each must be answered as if nothing had
// happened.

import { PASSWORD, expectStatus, freshName, rawRequest, sleep, uuid7 } from '../e2e/harness.mjs';
import { Target, insist } from './crash-load.mjs';

/** A server whose allocations fail at times. */
export class Starved extends Target {
	constructor(server)
	{
		super(server);
		this.answers = {};
	}

	count(status)
	{
		this.answers[status] = (this.answers[status] ?? 0) + 1;
	}

	passed(status)
	{
		this.count(status);
	}

	/**
	 * While deliveries fail, accepted messages accumulate and queues fill
	 * up.
	 */
	passesCode(code)
	{
		return code === 'queue_full' || super.passesCode(code);
	}
}

/**
 * Sends arrays of five messages to one of ${others}, and repeats those without
 * an answer.
 */
export async function arraySender(target, history, user, others, client)
{
	for (let n = 0; !target.over;) {
		const to = others[n % others.length].name;
		let open = Array.from({ length: 5 }, () => ({ id: uuid7(), to, body: `${client} ${n++}` }));
		const calls = new Map(open.map((message) => [message.id, history.invoke({ client,
			from: user.name, to, id: message.id, body: message.body })]));
		while (open.length > 0) {
			const asked = open;
			const { status, body, text } = await insist(target, history, user,
				(here, patient) => here.post('/v1/messages', asked, patient));
			if (status !== 200)
				throw new Error(`array: ${status} ${text}`);
			target.count(status);
			for (const [i, result] of body.entries()) {
				if (result.status === 201 || result.status === 200)
					history.accepted(calls.get(asked[i].id), result.entry, result.status === 200);
				else if (!target.passes(result.status))
					throw new Error(`array: ${JSON.stringify(result)}`);
			}
			open = asked.filter((_, i) => body[i].status !== 201 && body[i].status !== 200);
		}
	}
}

const later = () => new Date(Date.now() + 3_600_000).toISOString();

/**
 * The steps of a user: [name, ask(user, other, known), statuses].  `known`
 * holds results of earlier steps.
 */
const STEPS = [
	['one message', (user, other, known) => {
		known.id = uuid7();
		return user.post('/v1/messages', { id: known.id, to: other.name,
			body: 'x'.repeat(1 + Math.random() * 3000), metadata: { a: 'b', c: 'd' } });
	}, 201],
	['an array', (user, other) => user.post('/v1/messages', Array.from({ length: 5 }, () =>
		({ id: uuid7(), to: other.name, body: 'y' }))), 200],
	['text', (user, other) => user.request('POST', `/v1/to/${other.name}`,
		{ body: 'z', type: 'text/plain' }), 201],
	['a large message', (user, other) => user.post('/v1/messages',
		{ id: uuid7(), to: other.name, body: 'w'.repeat(16_000) }), 201],
	['one for later', (user, other, known) => {
		known.late = uuid7();
		return user.post('/v1/messages', { id: known.late, to: other.name, body: 'late',
			deliver_at: later() });
	}, 201],
	['its cancellation', (user, _other, known) => user.delete(`/v1/outbox/${known.late}`), 200],
	['the message', (user, _other, known) => user.get(`/v1/messages/${known.id}`), 200],
	['its entry', (user, _other, known) => user.get(`/v1/outbox/${known.id}`), 200],
	['the outbox', (user) => user.get('/v1/outbox?limit=20'), 200],
	['the inbox', async (user, _other, known) => {
		const answer = await user.get('/v1/inbox?after=0&limit=50');

		known.head = answer.body?.head ?? known.head;
		return answer;
	}, 200],
	['an event', (user) => user.get('/v1/inbox/1'), 200],
	['a long-poll', (user, _other, known) => user.get(`/v1/inbox?after=${known.head}&wait=1`), 200],
	['an ack', (user) => user.post('/v1/inbox/ack', { upto: 1 }), 200],
	['a read', (user) => user.post('/v1/inbox/read', { upto: 1 }), 200],
	['what is unread', (user) => user.get('/v1/inbox/unread'), 200],
	['the conversations', (user, _other, known) => user.get('/v1/conversations').then((answer) => {
		known.conversation = answer.body?.conversations?.[0]?.id ?? known.conversation;
		return answer;
	}), 200],
	['a conversation', (user, _other, known) =>
		user.get(`/v1/conversations/${known.conversation}`), 200],
	['its messages', (user, _other, known) =>
		user.get(`/v1/conversations/${known.conversation}/messages?limit=50`), 200],
	['the devices', (user) => user.get('/v1/tokens'), 200],
	['the root', (user) => user.get('/v1'), 200],
	['a document', (user) => user.get('/problems/busy', { token: null }), 200],
	['the figures', (user) => user.get('/metrics', { token: null }), 200],
	['the health', (user) => user.get('/healthz', { token: null }), 200],
];

const ADMIN = ['stats', 'outbox?limit=20', 'dead-letters', 'destinations', 'lanes?limit=20',
	'users?limit=20', 'audit?limit=20'].map((target) =>
	[`/v1/admin/${target}`, (root) => root.get(`/v1/admin/${target}`), 200]);

/** Steps that hash a password, which is expensive. */
const ACCOUNT = [
	['a registration', async (user, _other, known) => {
		const name = freshName('new');
		const account = JSON.stringify({ name, password: PASSWORD });
		const answer = await rawRequest(user.server, 'POST', '/v1/users', {
			body: account, localAddress: `127.78.${known.n >> 8 & 255}.${known.n & 255}`,
			headers: { 'content-type': 'application/json',
				'content-length': Buffer.byteLength(account) } });
		known.n++;
		if (answer.status === 201)
			known.name = name;
		return answer;
	}, 201],
	['a log-in', async (user, _other, known) => {
		const answer = await user.server.rest().post('/v1/tokens',
			{ name: known.name, password: PASSWORD, device: 'first' });
		known.token = answer.body?.token ?? known.token;
		return answer;
	}, 201],
	['the new device', (user, _other, known) =>
		user.get('/v1/inbox?limit=1', { token: known.token }), 200],
];

/**
 * Returns true if ${status} is correct for ${step} because an earlier step was
 * refused, or was done although its answer was lost.
 */
function stands(step, status)
{
	const twice = { 'its cancellation': [404, 409], 'the message': [404], 'its entry': [404],
		'an event': [404], 'a conversation': [404], 'its messages': [404],
		'an ack': [400, 422], 'a read': [400, 422],
		'the new device': [401] }[step];

	return twice?.includes(status);
}

/** Goes through ${steps} until the end of the test. */
async function walk(target, user, other, steps, pause = 0)
{
	const known = { n: 0, conversation: uuid7(), id: uuid7(), late: uuid7(), token: user.token,
		head: 0, name: user.name };

	while (!target.over) {
		for (const [name, ask, wanted] of steps) {
			if (target.over)
				break;
			await target.reachable;
			try {
				const answer = await ask(user, other, known);
				target.count(answer.status);
				if (answer.status !== wanted && !target.passes(answer.status) &&
				    !stands(name, answer.status))
					throw new Error(`contract: ${name}: ${answer.status} ${answer.text}`);
			} catch (error) {
				if (/^contract:/.test(error.message))
					throw error;
				target.count('cut');
			}
		}
		await sleep(pause);
	}
}

/**
 * Returns the clients that ${people} (two users) and ${root} (an administrator)
 * run.
 */
export function walkers(target, people, root)
{
	const [eve, fox] = people;

	return [walk(target, eve, fox, STEPS), walk(target, fox, eve, STEPS),
		walk(target, eve, fox, ACCOUNT, 50), walk(target, root, root, ADMIN)];
}

/** Does each step once.  Throws at the first wrong answer. */
export async function tour(people, root)
{
	const [eve, fox] = people;
	const known = { n: 0 };
	let taken = 0;

	for (const [steps, user] of [[STEPS, eve], [ACCOUNT, eve], [ADMIN, root]]) {
		for (const [name, ask, wanted] of steps) {
			const answer = await ask(user, fox, known);
			if (answer.status !== wanted)
				throw new Error(`${name}: ${answer.status} ${answer.text}`);
			taken++;
		}
	}
	return taken;
}

/** Opens a WebSocket session of ${user}, which sends and acks. */
export async function session(user, other)
{
	const { head } = expectStatus(await user.get('/v1/inbox?limit=1'), 200).body;
	const ws = await user.ws({ instance: 'tour', after: String(head) });
	const id = uuid7();
	const reply = await ws.request({ type: 'send', message: { id, to: other.name, body: 'w' } });

	if (reply.type !== 'sent')
		throw new Error(JSON.stringify(reply));
	await ws.received(id);
	await ws.request({ type: 'ack', upto: head });
	await ws.close();
}
