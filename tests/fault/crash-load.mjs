// SPDX-License-Identifier: MIT
//
// Clients that survive crashes of the server.  Senders repeat a send without an
// answer, with the same id, until it is answered.  Readers by WebSocket and by
// long-poll continue at their cursor and ack what they have received.  All
// requests and answers are recorded in a History.
//
// If several nodes share a database, each request goes to any of them, and a
// session continues on another node than before.

import { User, Ws, sleep, uuid7, within } from '../e2e/harness.mjs';

/*
 * After this time a client leaves a node that does not answer, which may be
 * frozen.  A server that is alone has more time.
 */
const NODE_PATIENCE_MS = 3000;
const PING_MS = 500;

/**
 * The random number generator mulberry32: small, and the same on every
 * platform.
 */
export function random(seed)
{
	let a = seed;

	return () => {
		a = (a + 0x6d2b79f5) | 0;
		let t = Math.imul(a ^ (a >>> 15), 1 | a);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
	};
}

/** A server that goes down and comes back, as its clients see it. */
export class Target {
	constructor(server, patience = 10_000)
	{
		this.server = server;
		this.patience = patience;
		this.over = false;
		this.down();
	}

	/** Returns the user that makes the next request for ${user}. */
	at(user)
	{
		return user;
	}

	/**
	 * Returns true if an answer with ${status} means that the request may
	 * be repeated: the server is busy, its disk is full, or the rate limit
	 * was reached.  Any other 5xx is an error of the server.
	 */
	passes(status)
	{
		return [429, 503, 507].includes(status);
	}

	/** The same for the code of a problem in a frame. */
	passesCode(code)
	{
		return ['busy', 'draining', 'rate_limited', 'storage_full'].includes(code);
	}

	/** Returns the options for a request: its time-out. */
	patient()
	{
		return { signal: AbortSignal.timeout(this.patience) };
	}

	up()
	{
		this.release();
	}

	down()
	{
		this.reachable = new Promise((resolve) => {
			this.release = resolve;
		});
	}

	/**
	 * From now on clients begin nothing new, but complete what they have
	 * begun.
	 */
	end()
	{
		this.over = true;
	}

	/**
	 * Ends all waiting: the test has failed, and its servers are gone.
	 */
	abandon()
	{
		this.over = true;
		this.abandoned = true;
		this.up();
	}
}

/**
 * Several nodes on one database, each of which goes down and comes back.  A
 * client uses any node that runs.
 */
export class Nodes extends Target {
	constructor(nodes)
	{
		super(nodes[0], NODE_PATIENCE_MS);
		this.nodes = nodes;
		this.up();
	}

	at(user)
	{
		const up = this.nodes.filter((node) => node.running && node.url);

		if (up.length === 0)
			throw new Error('no node listens');
		return new User(up[Math.floor(Math.random() * up.length)], user.name, user.token,
			user.device_name);
	}
}

/**
 * Repeats the request ${ask} until an answer decides it.  Returns that answer.
 */
export async function insist(target, history, user, ask)
{
	for (;;) {
		let why;

		await target.reachable;
		if (target.abandoned)
			throw new Error('the target was abandoned');
		try {
			const answer = await ask(target.at(user), target.patient());
			why = `${answer.status} ${answer.body?.detail}`;
			if (target.passes(answer.status))
				target.passed?.(answer.status);
			else if (answer.status >= 500)
				throw new Error(`contract: ${answer.method} ${answer.target}: ${answer.text}`);
			else
				return answer;
		} catch (error) {
			// A violation of the contract is an error, not an
			// effect of the crash.
			if (/^contract:/.test(error.message))
				throw error;
			why = error.cause?.code ?? error.code ?? error.message;
		}
		history.unknown(why);
		await sleep(5 + Math.random() * 20);
	}
}

/** A client of ${user} that sends to ${others} until the end. */
export async function sender(target, history, user, others, client)
{
	for (let n = 0; !target.over; n++) {
		const to = others[Math.floor(Math.random() * others.length)].name;
		const message = { id: uuid7(), to, body: `${client} ${n} ${'x'.repeat(n % 200)}` };
		const call = history.invoke({ client, from: user.name, to, id: message.id,
			body: message.body });
		const send = (here, patient) => here.post('/v1/messages', message, patient);
		const answer = await insist(target, history, user, send);
		if (answer.status !== 201 && answer.status !== 200)
			throw new Error(`send: ${answer.status} ${answer.text}`);
		history.accepted(call, answer.body, answer.status === 200);
		// An accepted message that is sent again must be known.
		if (n % 16 === 15) {
			const again = await insist(target, history, user, send);
			if (again.status !== 200 || again.body.id !== message.id)
				throw new Error(`accepted, and not known: ${again.status} ${again.text}`);
		}
	}
}

/**
 * Opens a session of ${user} at any node and waits for its welcome.  ${onframe}
 * is called for each frame.
 */
async function session(target, history, user, hello, onframe)
{
	const ws = new Ws(target.at(user).server, { token: user.token });

	ws.onframe = onframe?.(ws);
	try {
		await within((async () => {
			await ws.opened();
			ws.epoch = (await ws.hello(hello)).epoch;
		})(), target.patience, 'a welcome');
		ws.closed.then(({ code }) => history.ended(code,
			ws.frames.some((frame) => frame.type === 'reconnect')));
	} catch (error) {
		ws.onframe = undefined;
		ws.socket.terminate();
		throw error;
	}
	return ws;
}

/**
 * Waits until ${ws} has ended, its server does not answer pings any more, or
 * the test is over.
 */
async function attend(target, ws)
{
	let asked = 0;
	let at = 0;

	while (!target.over && !ws.ended) {
		const waits = Date.now() - at;
		if (ws.pongs < asked && waits > target.patience)
			ws.socket.terminate();
		if (ws.pongs === asked && waits > PING_MS) {
			ws.socket.ping();
			asked++;
			at = Date.now();
		}
		await Promise.race([ws.closed, sleep(50)]);
	}
}

/**
 * Sends like sender(), but over the WebSocket and with several messages in
 * flight.
 */
export async function socketSender(target, history, user, others, client)
{
	let open = [];

	for (let n = 0; !target.abandoned && (!target.over || open.length > 0);) {
		await target.reachable;
		let ws;
		try {
			ws = await session(target, history, user, { instance: `sender ${client}` });
			for (;;) {
				// Repeated messages come first, in their order,
				// then new ones.
				const leave = ws.frames.some((frame) => frame.type === 'reconnect');
				if (open.length === 0 && (target.over || leave))
					break;
				while (open.length < 4 && !target.over && !leave) {
					const to = others[Math.floor(Math.random() * others.length)].name;
					const message = { id: uuid7(), to, body: `${client} ${n++}` };
					open.push({ message, call: history.invoke({ client, from: user.name, to,
						id: message.id, body: message.body }) });
				}
				const batch = open;
				const replies = await Promise.allSettled(batch.map(({ message }) =>
					ws.request({ type: 'send', message }, { ms: target.patience })));
				for (const [i, { value, reason }] of replies.entries()) {
					if (value?.type === 'sent')
						history.accepted(batch[i].call, value.entry, value.replayed);
					else if (value && !target.passesCode(value.problem?.code))
						throw new Error(`contract: ${JSON.stringify(value)}`);
					else if (/^contract:/.test(reason?.message))
						throw reason;
				}
				open = batch.filter(({ call }) => call.end === null);
				if (open.length > 0) {
					history.unknown(`WebSocket ${ws.ended?.code ?? 'stays'}`);
					break;
				}
			}
			await ws.close();
		} catch (error) {
			if (/^contract:/.test(error.message))
				throw error;
			ws?.socket.terminate();
			await sleep(5 + Math.random() * 20);
		}
	}
}

/**
 * Reads the inbox of ${user} by WebSocket, acks, and continues after crashes.
 */
export async function reader(target, history, user)
{
	let cursor = 0;
	let epoch; // part of the cursor: a node that is behind recognizes it

	const take = (ws) => (frame) => {
		if (frame.type !== 'event')
			return;
		if (frame.seq !== cursor + 1)
			throw new Error(`contract: seq ${frame.seq} after ${cursor}`);
		cursor = frame.seq;
		history.shown(user.name, frame);
		if (cursor % 7 === 0)
			ws.request({ type: 'ack', upto: cursor }).then(({ acked }) => {
				if (acked !== undefined)
					history.acked(user.name, user.device_name, acked);
			}, () => {});
	};

	while (!target.over) {
		await target.reachable;
		try {
			const ws = await session(target, history, user,
				{ after: epoch ? `${epoch}:${cursor}` : '0', instance: 'reader' }, take);
			epoch ??= ws.epoch;
			await attend(target, ws);
			ws.onframe = undefined;
			if (!ws.ended)
				await ws.close();
		} catch (error) {
			if (/^contract:/.test(error.message))
				throw error;
			await sleep(5 + Math.random() * 20);
		}
	}
}

/** Does the same as reader() by long-poll, and acks by REST. */
export async function poller(target, history, user)
{
	let cursor = 0;
	let after = '0'; // has the epoch as soon as it is known

	while (!target.over) {
		const answer = await insist(target, history, user, (here, patient) => here.get(
			`/v1/inbox?after=${after}&limit=200&wait=1`, patient));
		if (answer.status !== 200)
			throw new Error(`inbox: ${answer.status} ${answer.text}`);
		answer.body.events.forEach((event) => history.shown(user.name, event));
		cursor = answer.body.events.at(-1)?.seq ?? cursor;
		after = `${answer.body.epoch}:${cursor}`;
		const { status, body, text } = await insist(target, history, user, (here, patient) =>
			here.post('/v1/inbox/ack', { upto: cursor }, patient));
		if (status !== 200)
			throw new Error(`ack: ${status} ${text}`);
		history.acked(user.name, user.device_name, body.acked);
	}
}

/**
 * Starts the clients of ${all}: each user writes to every other one and reads
 * in a different way.  ${ended} resolves when the last client has ended;
 * ${broken} is the first client's error.
 */
export function crowd(target, history, all)
{
	const clients = all.flatMap((user, n) => {
		const others = all.filter((other) => other !== user);
		return [
			sender(target, history, user, others, `${n}a`),
			n % 2 ? sender(target, history, user, others, `${n}b`) :
				socketSender(target, history, user, others, `${n}b`),
			n % 3 ? reader(target, history, user) : poller(target, history, user),
		];
	});
	const work = { ended: Promise.all(clients) };

	work.ended.catch((error) => {
		work.broken = error;
	});
	return work;
}
