// SPDX-License-Identifier: MIT
//
// Clients that live through crashes: senders that repeat what had no answer,
// with the same id, until it has one; readers by WebSocket and by long-poll
// that go on by their cursor and ack what they have.  All that they ask and
// are told goes into a History.

import { Ws, sleep, uuid7 } from '../e2e/harness.mjs';

/** A server that comes and goes, as its clients see it. */
export class Target {
	constructor(server)
	{
		this.server = server;
		this.over = false;
		this.down();
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

	/** Nobody begins anything new from now on. */
	end()
	{
		this.over = true;
	}
}

const patience = () => AbortSignal.timeout(10_000);

/** Asks until there is an answer that decides: the answer. */
async function insist(target, history, ask)
{
	for (;;) {
		await target.reachable;
		try {
			const answer = await ask();
			if (answer.status < 500)
				return answer;
		} catch (error) {
			// A broken contract is no crash.
			if (/^contract:/.test(error.message))
				throw error;
		}
		history.unknown();
		await sleep(5 + Math.random() * 20);
	}
}

/** One client of ${user} that sends to ${others} until the end. */
export async function sender(target, history, user, others, client)
{
	for (let n = 0; !target.over; n++) {
		const to = others[Math.floor(Math.random() * others.length)].name;
		const message = { id: uuid7(), to, body: `${client} ${n} ${'x'.repeat(n % 200)}` };
		const call = history.invoke({ client, from: user.name, to, id: message.id,
			body: message.body });
		const send = () => user.post('/v1/messages', message, { signal: patience() });
		const answer = await insist(target, history, send);
		if (answer.status !== 201 && answer.status !== 200)
			throw new Error(`send: ${answer.status} ${answer.text}`);
		history.accepted(call, answer.body, answer.status === 200);
		// What was answered may be asked again: it must be known.
		if (n % 16 === 15) {
			const again = await insist(target, history, send);
			if (again.status !== 200 || again.body.id !== message.id)
				throw new Error(`accepted, and not known: ${again.status} ${again.text}`);
		}
	}
}

/** The same over the WebSocket, several in flight. */
export async function socketSender(target, history, user, others, client)
{
	let open = [];

	for (let n = 0; !target.over || open.length > 0;) {
		await target.reachable;
		let ws;
		try {
			ws = await user.ws({ instance: `sender ${client}` });
			for (;;) {
				// Repeats come first and in their order, then new ones.
				if (open.length === 0 && target.over)
					break;
				while (open.length < 4 && !target.over) {
					const to = others[Math.floor(Math.random() * others.length)].name;
					const message = { id: uuid7(), to, body: `${client} ${n++}` };
					open.push({ message, call: history.invoke({ client, from: user.name, to,
						id: message.id, body: message.body }) });
				}
				const batch = open;
				const replies = await Promise.allSettled(batch.map(({ message }) =>
					ws.request({ type: 'send', message })));
				for (const [i, { value, reason }] of replies.entries()) {
					if (value?.type === 'sent')
						history.accepted(batch[i].call, value.entry, value.replayed);
					else if (value && !/busy|draining/.test(value.problem?.code))
						throw new Error(`contract: ${JSON.stringify(value)}`);
					else if (/^contract:/.test(reason?.message))
						throw reason;
				}
				open = batch.filter(({ call }) => call.end === null);
				if (open.length > 0) {
					history.unknown();
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

/** Reads ${user}'s inbox by WebSocket, acks, and goes on after crashes. */
export async function reader(target, history, user)
{
	let cursor = 0;

	while (!target.over) {
		await target.reachable;
		const ws = new Ws(target.server, { token: user.token });
		try {
			await ws.opened();
			ws.onframe = (frame) => {
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
			await ws.hello({ after: String(cursor), instance: 'reader' });
			while (!target.over && !ws.ended)
				await Promise.race([ws.closed, sleep(50)]);
			ws.onframe = undefined;
			if (!ws.ended)
				await ws.close();
		} catch (error) {
			if (/^contract:/.test(error.message))
				throw error;
			ws.socket.terminate();
			await sleep(5 + Math.random() * 20);
		}
	}
}

/** The same by long-poll; acks by REST. */
export async function poller(target, history, user)
{
	let cursor = 0;

	while (!target.over) {
		const answer = await insist(target, history, () => user.get(
			`/v1/inbox?after=${cursor}&limit=200&wait=1`, { signal: patience() }));
		if (answer.status !== 200)
			throw new Error(`inbox: ${answer.status} ${answer.text}`);
		answer.body.events.forEach((event) => history.shown(user.name, event));
		cursor = answer.body.events.at(-1)?.seq ?? cursor;
		const { status, body, text } = await insist(target, history, () =>
			user.post('/v1/inbox/ack', { upto: cursor }, { signal: patience() }));
		if (status !== 200)
			throw new Error(`ack: ${status} ${text}`);
		history.acked(user.name, user.device_name, body.acked);
	}
}
