// SPDX-License-Identifier: MIT
//
// Users: they are registered and logged in, and have methods for what users do.

import { randomBytes } from 'node:crypto';

import { flaky } from './flaky.mjs';
import { WAIT_MS, eventually, sleep } from './process.mjs';
import { Rest, expectStatus, rawRequest } from './rest.mjs';
import { Ws } from './ws.mjs';

export const PASSWORD = 'correct horse battery';

/*
 * How many times a request is tried while the answer is 503.  The pause before
 * each repetition is Retry-After, about one second.
 */
const TRIES = 20;
/* How many users register at the same time. */
const AT_ONCE = 8;
/*
 * One thread of the server hashes all passwords, on a machine that may be busy.
 */
const PASSWORD_MS = 60_000;

let serial = 0;

/** Returns a name that no other test of this process uses. */
export function freshName(stem = 'user')
{
	return `${stem}-${(serial++).toString(36)}${randomBytes(3).toString('hex')}`;
}

/**
 * A registered user with one device. user.device('phone') makes another device.
 */
export class User extends Rest {
	constructor(server, name, token, device)
	{
		super(server, token);
		this.name = name;
		this.device_name = device;
	}

	/**
	 * Logs in on another device.  Returns a User with a token of its own.
	 */
	async device(device = 'second')
	{
		return login(this.server, this.name, device);
	}

	/** Sends a message.  Returns its outbox entry. */
	async send(to, body, more = {})
	{
		const answer = await this.post('/v1/messages', { to, body, ...more });
		return expectStatus(answer, 200, 201).body;
	}

	/**
	 * Returns all events of the inbox after ${after}, read page by page.
	 */
	async inbox(after = 0, limit = 200)
	{
		const events = [];
		let page;
		let cursor = after;

		do {
			page = expectStatus(await this.get(
				`/v1/inbox?after=${cursor}&limit=${limit}`), 200).body;
			events.push(...page.events);
			cursor = page.next;
		} while (page.has_more);
		return { ...page, events };
	}

	/**
	 * Waits for an event in the inbox for which ${wanted} returns true.
	 * Returns it.
	 */
	async event(wanted, what = 'the event', ms = WAIT_MS)
	{
		return eventually(async () => (await this.inbox()).events.find(wanted),
			`${what} in the inbox of ${this.name}`, ms);
	}

	/** Waits for the event of message ${id}.  Returns it. */
	async received(id)
	{
		return this.event((e) => e.kind === 'message' && e.id === id, `message ${id}`);
	}

	async ack(upto)
	{
		return expectStatus(await this.post('/v1/inbox/ack', { upto }), 200).body;
	}

	async read(what)
	{
		return expectStatus(await this.post('/v1/inbox/read', what), 200).body;
	}

	async entry(id)
	{
		return expectStatus(await this.get(`/v1/outbox/${id}`), 200).body;
	}

	/**
	 * Waits until ${wanted} returns true for the outbox entry of ${id}.
	 * Returns the entry.
	 */
	async entryWhen(id, wanted, what)
	{
		return eventually(async () => {
			const entry = await this.entry(id);
			return wanted(entry) && entry;
		}, `outbox entry ${id} ${what}`);
	}

	async unread()
	{
		return expectStatus(await this.get('/v1/inbox/unread'), 200).body;
	}

	/** Opens a WebSocket and waits for its welcome. */
	async ws(hello = {}, options = {})
	{
		const ws = new Ws(this.server, { token: this.token, ...options });
		await ws.opened();
		ws.welcome = await ws.hello(hello);
		return ws;
	}
}

/**
 * Returns the answer of ${ask}, which must be 201.  Like a well-behaved client
 * it waits and tries again as long as the server answers 503, up to TRIES times
 * in all.
 */
async function patiently(ask)
{
	let answer = await ask();

	for (let i = 1; i < TRIES && answer.status === 503; i++) {
		await sleep(Number(answer.headers.get('retry-after')) * 1000);
		flaky(`${answer.method} ${answer.target} was answered 503, try ${i} of ${TRIES}`);
		answer = await ask();
	}
	return expectStatus(answer, 201);
}

let newcomers = 0;

/**
 * Returns the answer to the registration of ${name}.  Each registration comes
 * from another address, because a server limits registrations from one network
 * per hour.  Behind a proxy the addresses are those of the proxy's clients.
 */
async function signUp(server, name)
{
	const account = { name, password: PASSWORD };

	if (server.fetch)
		return server.rest().post('/v1/users', account);
	const n = newcomers++;
	const body = JSON.stringify(account);
	return rawRequest(server, 'POST', '/v1/users', {
		localAddress: `127.77.${n >> 8}.${n & 255}`, body, ms: PASSWORD_MS,
		headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
	});
}

/** Registers ${name} and logs in. */
export async function register(server, name, device = 'first')
{
	await patiently(() => signUp(server, name));
	return login(server, name, device);
}

export async function login(server, name, device = 'first')
{
	const { body } = await patiently(() => server.rest().post('/v1/tokens',
		{ name, password: PASSWORD, device }));
	return new User(server, name, body.token, device);
}

/**
 * Registers users with fresh names made from ${stems}.  Returns them in this
 * order.  At most AT_ONCE register at the same time, because the server refuses
 * passwords when too many wait.
 */
export async function users(server, ...stems)
{
	const made = [];
	const next = stems.entries();

	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		for (const [i, stem] of next)
			made[i] = await register(server, freshName(stem));
	}));
	return made;
}

/**
 * Returns a function that calls ${make} once and remembers the result.  It is
 * for tests that change nothing, because argon2 is slow.
 */
export function once(make)
{
	let made;

	return () => (made ??= make());
}

/** Returns a UUIDv7 (RFC 9562), the kind that clients should use. */
export function uuid7(now = Date.now())
{
	const bytes = randomBytes(16);

	bytes.writeUIntBE(now, 0, 6);
	bytes[6] = 0x70 | (bytes[6] & 0x0f);
	bytes[8] = 0x80 | (bytes[8] & 0x3f);
	const hex = bytes.toString('hex');
	return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16),
		hex.slice(16, 20), hex.slice(20)].join('-');
}
