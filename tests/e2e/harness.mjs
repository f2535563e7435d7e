// SPDX-License-Identifier: MIT
//
// The harness of the end-to-end and fault tests: runs the real twinboxd in a
// fresh directory and speaks to it as a stranger would, with fetch and the ws
// package.  It promises that every process and directory made here is gone
// when the test process ends, that a failure shows the server's log, and that
// every answer and frame passes through contract.mjs.  Nothing in here knows
// how the server works inside.
//
//	const server = await startServer();
//	const [alice, bob] = await users(server, 'alice', 'bob');
//	await alice.send('bob', 'hello');
//
// Environment: TWINBOXD names the program (default ../../build/twinboxd),
// TWINBOX_SLOW=5 makes every patience five times as long (sanitizers),
// TWINBOX_KEEP=1 keeps the directories, TWINBOX_LOG=1 shows the logs.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import WebSocket from 'ws';

import { dataArgs } from './backend.mjs';
import { checkAnswer, checkFrame } from './contract.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export const TWINBOXD = path.resolve(
	process.env.TWINBOXD ?? path.join(here, '../../build/twinboxd'));

/** Long enough for argon2 on a loaded machine, short enough to be noticed. */
export const START_TIMEOUT_MS = 20_000;
export const WAIT_MS = 10_000;

/** Every patience is longer by this factor. */
const SLOW = Number(process.env.TWINBOX_SLOW ?? 1);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ---- processes and directories, all of them removed at the end -------------

const children = new Set();
const directories = new Set();

/** Makes a directory that is removed when the test process ends. */
export function tempDir(prefix = 'twinbox-e2e-')
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), prefix));
	directories.add(dir);
	return dir;
}

/** Removes a directory of tempDir() now. */
export function removeDir(dir)
{
	directories.delete(dir);
	if (!process.env.TWINBOX_KEEP)
		fs.rmSync(dir, { recursive: true, force: true });
}

/** Kills every program that was started here; for tests that failed halfway. */
export function killAll()
{
	for (const child of children) {
		try {
			child.kill('SIGKILL');
		} catch {
			// It has ended already.
		}
	}
}

process.on('exit', () => {
	killAll();
	for (const dir of [...directories])
		removeDir(dir);
});

/**
 * Starts a program whose end is awaited by `exited`; its output is kept in
 * `out` and `err`.
 */
export function run(program, args, options = {})
{
	const child = spawn(program, args,
		{ stdio: ['ignore', 'pipe', 'pipe'], ...options });
	children.add(child);
	child.out = '';
	child.err = '';
	child.stdout?.setEncoding('utf8').on('data', (text) => {
		child.out += text;
		child.emit('twinbox-output');
	});
	child.stderr?.setEncoding('utf8').on('data', (text) => {
		child.err += text;
		child.emit('twinbox-output');
		if (process.env.TWINBOX_LOG)
			process.stderr.write(text);
	});
	child.exited = new Promise((resolve) => {
		child.on('error', (error) => {
			children.delete(child);
			resolve({ code: null, signal: null, error });
		});
		child.on('close', (code, signal) => {
			children.delete(child);
			resolve({ code, signal });
		});
	});
	return child;
}

/** The result of ${promise}, or an error that says ${what} after ${ms}. */
export async function within(promise, ms, what)
{
	let timer;
	const late = new Promise((_resolve, reject) => {
		timer = setTimeout(() => reject(new Error(
			`${typeof what === 'function' ? what() : what}: not within ${ms} ms`)),
		ms * SLOW);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Calls ${probe} until it gives something true; that is the result.  What it
 * throws is no end, unless the error says `final`.
 */
export async function eventually(probe, what, ms = WAIT_MS)
{
	const end = Date.now() + ms * SLOW;
	let pause = 2;
	let last;

	for (;;) {
		try {
			const value = await probe();
			if (value)
				return value;
			last = undefined;
		} catch (error) {
			if (error.final)
				throw error;
			last = error;
		}
		if (Date.now() > end) {
			throw new Error(`${what}: not within ${ms} ms`,
				{ cause: last });
		}
		await sleep(pause);
		pause = Math.min(pause * 2, 50);
	}
}

// ---- the server ------------------------------------------------------------

/**
 * A twinboxd and its data directory, over any number of lives.  `url`
 * changes with each start: the port is chosen by the system.
 */
export class Server {
	/**
	 * Options: data (directory; default: a fresh one), args (further
	 * arguments), env (added to the environment), wrapper (program and
	 * arguments in front: strace …), program.
	 */
	constructor({ data, args = [], env = {}, wrapper = [], program = TWINBOXD } = {})
	{
		this.data = data ?? path.join(tempDir(), 'data');
		this.args = args;
		this.env = env;
		this.wrapper = wrapper;
		this.program = program;
		this.log = '';
		this.starts = 0;
		this.child = null;
	}

	command()
	{
		return [...this.wrapper, this.program, 'serve', '--demo',
			...dataArgs(this.data, this.args), '--listen', '127.0.0.1:0',
			'--rate-limit', 'off', ...this.args];
	}

	get pid()
	{
		return this.child?.pid;
	}

	get running()
	{
		return this.child !== null;
	}

	/** Starts the process, without waiting for it to listen. */
	spawn({ env = {} } = {})
	{
		if (this.child)
			throw new Error('the server is running');
		const [program, ...args] = this.command();
		const child = run(program, args, {
			env: { ...process.env, ...this.env, ...env },
		});
		this.child = child;
		this.starts++;
		this.url = undefined;
		child.exited = child.exited.then((end) => {
			this.log += child.out + child.err;
			if (this.child === child)
				this.child = null;
			this.last = { ...end, out: child.out, err: child.err };
			return end;
		});
		return child;
	}

	/** Starts and waits until it says where it listens. */
	async start(options = {})
	{
		const child = this.spawn(options);
		const listening = new Promise((resolve, reject) => {
			const look = () => {
				const found = /^listening: (http:\/\/\S+)$/m.exec(child.out);
				if (found)
					resolve(found[1]);
			};
			child.on('twinbox-output', look);
			child.exited.then(({ code, signal, error }) => reject(new Error(
				`${this.program} ended before it listened: ` +
				`${error?.message ?? `code ${code} signal ${signal}`}\n` +
				`${child.out}${child.err}`)));
			look();
		});
		try {
			this.url = await within(listening, options.timeout ?? START_TIMEOUT_MS,
				() => `no "listening:" line from ${this.program}\n${child.out}${child.err}`);
		} catch (error) {
			if (this.child === child) {
				child.kill('SIGKILL');
				await child.exited;
			}
			throw error;
		}
		return this;
	}

	/** Sends ${signal} and waits for the end: {code, signal}. */
	async stop(signal = 'SIGTERM', timeout = 15_000)
	{
		const child = this.child;

		if (!child)
			return this.last;
		child.kill(signal);
		try {
			return await within(child.exited, timeout,
				() => `the server did not end on ${signal}\n${child.err}`);
		} catch (error) {
			child.kill('SIGKILL');
			await child.exited;
			throw error;
		}
	}

	async kill()
	{
		return this.stop('SIGKILL');
	}

	async restart(signal = 'SIGTERM')
	{
		await this.stop(signal);
		return this.start();
	}

	/** All that the server has said so far, over all its lives. */
	output()
	{
		return this.log + (this.child ? this.child.out + this.child.err : '');
	}

	rest(token)
	{
		return new Rest(this, token);
	}
}

/** A started server; see Server for the options. */
export async function startServer(options)
{
	return new Server(options).start();
}

/**
 * For a test file: starts one server before its tests and stops it after them
 * (it must end well), showing its log when a test failed.  ${setup} is called
 * once it listens (a second root hook would run beside the first).
 *
 *	const server = serverForFile({ before, after, afterEach });
 */
export function serverForFile(hooks, setup, options)
{
	const server = new Server(options);
	let failed = false;

	hooks.before(async () => {
		await server.start();
		await setup?.();
	});
	hooks.afterEach?.((context) => {
		failed ||= context?.passed === false;
	});
	hooks.after(async () => {
		const end = await server.stop();
		if (failed)
			process.stderr.write(`---- log of the server ----\n${server.output()}\n`);
		if (end && end.code !== 0)
			throw new Error(`the server ended with ${JSON.stringify(end)}\n${server.output()}`);
	});
	return server;
}

// ---- REST ------------------------------------------------------------------

/**
 * A REST client.  Answers are {status, headers, text, body} with `body` the
 * parsed JSON (undefined if it is none); nothing throws on a status.
 */
export class Rest {
	constructor(server, token)
	{
		this.server = server;
		this.token = token;
	}

	/**
	 * Options: json (value to send), body (bytes or text to send as they
	 * are), type (content type), headers, token (null: none), signal.
	 */
	async request(method, target, options = {})
	{
		const headers = new Headers(options.headers);
		const token = options.token === undefined ? this.token : options.token;
		let body = options.body;

		if (token)
			headers.set('authorization', `Bearer ${token}`);
		if (options.json !== undefined) {
			body = JSON.stringify(options.json);
			headers.set('content-type', 'application/json');
		}
		if (options.type)
			headers.set('content-type', options.type);
		const response = await (this.server.fetch ?? fetch)(
			new URL(target, this.server.url), {
				method, headers, body, redirect: 'manual', signal: options.signal,
			});
		const answer = {
			method, target,
			status: response.status,
			headers: response.headers,
			text: await response.text(),
		};
		parseBody(answer);
		/* Not what a proxy in front answers by itself. */
		if (!response.foreign)
			checkAnswer(answer, this.server.url);
		return answer;
	}

	get(target, options)
	{
		return this.request('GET', target, options);
	}

	post(target, json, options)
	{
		return this.request('POST', target, { json, ...options });
	}

	delete(target, options)
	{
		return this.request('DELETE', target, options);
	}
}

function parseBody(answer)
{
	answer.body = undefined;
	if (answer.text !== '' &&
	    /^application\/(problem\+)?json/.test(answer.headers.get('content-type') ?? ''))
		answer.body = JSON.parse(answer.text);
}

/**
 * A request that fetch would not send as it is given: any method and any
 * target, byte for byte.  Same answers as Rest.request().
 */
export function rawRequest(server, method, target, { headers = {}, body, token } = {})
{
	const url = new URL(server.url);

	return within(new Promise((resolve, reject) => {
		const request = http.request({
			host: url.hostname, port: url.port, method, path: target,
			agent: false,
			headers: token ? { ...headers, authorization: `Bearer ${token}` } : headers,
		}, (response) => {
			const pieces = [];
			response.on('data', (piece) => pieces.push(piece));
			response.on('error', reject);
			response.on('end', () => {
				const answer = {
					method, target,
					status: response.statusCode,
					headers: new Headers(Object.entries(response.headers).map(
						([name, value]) => [name, String(value)])),
					text: Buffer.concat(pieces).toString(),
				};
				parseBody(answer);
				checkAnswer(answer, server.url);
				resolve(answer);
			});
		});
		request.on('error', reject);
		request.end(body);
	}), WAIT_MS, `${method} ${target}`);
}

/** Throws unless ${answer} has ${status}; gives it back. */
export function expectStatus(answer, ...statuses)
{
	if (!statuses.includes(answer.status)) {
		throw new Error(`${answer.method} ${answer.target}: ${answer.status}, ` +
			`not ${statuses.join(' or ')}: ${answer.text}`);
	}
	return answer;
}

// ---- users -----------------------------------------------------------------

export const PASSWORD = 'correct horse battery';

let serial = 0;

/** A name that no other test of this process has. */
export function freshName(stem = 'user')
{
	return `${stem}-${(serial++).toString(36)}${randomBytes(3).toString('hex')}`;
}

/**
 * A registered user with one device.  Further devices: user.device('phone').
 */
export class User extends Rest {
	constructor(server, name, token, device)
	{
		super(server, token);
		this.name = name;
		this.device_name = device;
	}

	/** Another device of the same user: a User with a token of its own. */
	async device(device = 'second')
	{
		return login(this.server, this.name, device);
	}

	/** Sends a message; the outbox entry. */
	async send(to, body, more = {})
	{
		const answer = await this.post('/v1/messages', { to, body, ...more });
		return expectStatus(answer, 200, 201).body;
	}

	/** The whole inbox after ${after}, read page by page. */
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

	/** The inbox once it holds an event that ${wanted} likes. */
	async event(wanted, what = 'the event', ms = WAIT_MS)
	{
		return eventually(async () => (await this.inbox()).events.find(wanted),
			`${what} in the inbox of ${this.name}`, ms);
	}

	/** The event of message ${id}, once it is there. */
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

	/** The outbox entry of ${id} once ${wanted} likes it. */
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

	/** An open WebSocket after its welcome. */
	async ws(hello = {}, options = {})
	{
		const ws = new Ws(this.server, { token: this.token, ...options });
		await ws.opened();
		ws.welcome = await ws.hello(hello);
		return ws;
	}
}

/** As a good client: waits and repeats while the server says that it is busy. */
async function patiently(ask)
{
	for (;;) {
		const answer = await ask();
		if (answer.status !== 503)
			return expectStatus(answer, 201);
		await sleep(Number(answer.headers.get('retry-after')) * 1000);
	}
}

/** Registers ${name} and logs it in. */
export async function register(server, name, device = 'first')
{
	await patiently(() => server.rest().post('/v1/users', { name, password: PASSWORD }));
	return login(server, name, device);
}

export async function login(server, name, device = 'first')
{
	const { body } = await patiently(() => server.rest().post('/v1/tokens',
		{ name, password: PASSWORD, device }));
	return new User(server, name, body.token, device);
}

/** Registered users with fresh names made from ${stems}, in order. */
export async function users(server, ...stems)
{
	return Promise.all(stems.map((stem) => register(server, freshName(stem))));
}

/** What ${make} makes, made once: for tests that change nothing (argon2 is slow). */
export function once(make)
{
	let made;

	return () => (made ??= make());
}

/** A UUIDv7 (RFC 9562), as clients should make them. */
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

// ---- WebSocket -------------------------------------------------------------

/**
 * A WebSocket client.  Every frame is kept in `frames`, in order; waiting for
 * one looks at those that came already.  `closed` resolves to {code, reason}.
 */
export class Ws {
	/** Options: token, headers, target, protocols. */
	constructor(server, { token, headers = {}, target = '/v1/ws', protocols = ['twinbox.v1'] } = {})
	{
		const url = new URL(target, server.url);

		url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
		this.token = token;
		this.frames = [];
		this.pongs = 0;
		this.pings = 0;
		this.waiting = new Set();
		this.sent = 0;
		this.socket = new WebSocket(url, protocols,
			{ headers, perMessageDeflate: false, handshakeTimeout: WAIT_MS,
				...server.tls });
		this.closed = new Promise((resolve) => {
			this.socket.on('close', (code, reason) => {
				this.ended = { code, reason: reason.toString() };
				resolve(this.ended);
				this.wake();
			});
		});
		this.socket.on('error', (error) => {
			this.error = error;
		});
		this.socket.on('unexpected-response', (_request, response) => {
			this.refused = response.statusCode;
			this.refusal = response.headers;
			response.resume();
			this.socket.terminate();
		});
		this.socket.on('ping', () => {
			this.pings++;
			this.wake();
		});
		this.socket.on('pong', () => {
			this.pongs++;
			this.wake();
		});
		this.socket.on('message', (data, binary) => {
			const frame = binary ? { type: '(binary)' } : JSON.parse(data.toString());
			checkFrame(frame);
			this.frames.push(frame);
			this.onframe?.(frame);
			this.wake();
		});
	}

	wake()
	{
		for (const look of [...this.waiting])
			look();
	}

	/** Waits for the upgrade; throws when it is refused. */
	async opened()
	{
		await within(new Promise((resolve, reject) => {
			if (this.socket.readyState === WebSocket.OPEN)
				resolve();
			this.socket.on('open', resolve);
			this.closed.then(() => reject(this.error ?? new Error('closed')));
		}), WAIT_MS, 'the upgrade to WebSocket');
		return this;
	}

	/** Sends an object, or text or bytes as they are. */
	send(frame)
	{
		this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ?
			frame : JSON.stringify(frame));
	}

	/** The first frame from place ${from} on that ${wanted} likes. */
	async wait(wanted, what = 'a frame', { from = 0, ms = WAIT_MS } = {})
	{
		let place = from;
		let found;

		await within(new Promise((resolve, reject) => {
			const look = () => {
				for (; place < this.frames.length; place++) {
					if (wanted(this.frames[place])) {
						found = this.frames[place];
						this.waiting.delete(look);
						resolve();
						return;
					}
				}
				if (this.ended) {
					this.waiting.delete(look);
					reject(new Error(`${what}: the socket was closed: ` +
						`${JSON.stringify(this.ended)}; frames: ` +
						JSON.stringify(this.frames.slice(-5))));
				}
			};
			this.waiting.add(look);
			look();
		}), ms, () => `${what}; last frames: ${JSON.stringify(this.frames.slice(-5))}`);
		return found;
	}

	/** The next frame of type ${type} from place ${from} on. */
	type(type, options)
	{
		return this.wait((frame) => frame.type === type, `a ${type} frame`, options);
	}

	/** Sends a request and waits for its reply. */
	async request(frame, options)
	{
		const id = frame.id ?? ++this.sent;
		const from = this.frames.length;

		this.send({ ...frame, id });
		return this.wait((reply) => reply.re === id, `the reply to ${frame.type}`,
			{ from, ...options });
	}

	/** Says hello; the welcome. */
	async hello(more = {})
	{
		const frame = { type: 'hello', ...more };

		if (this.token && frame.token === undefined)
			frame.token = this.token;
		const reply = await this.request(frame);
		if (reply.type !== 'welcome')
			throw new Error(`no welcome: ${JSON.stringify(reply)}`);
		return reply;
	}

	/** The events seen, in order of arrival. */
	events()
	{
		return this.frames.filter((frame) => frame.type === 'event');
	}

	/** The event that ${wanted} likes. */
	event(wanted, what = 'an event', options)
	{
		return this.wait((frame) => frame.type === 'event' && wanted(frame), what, options);
	}

	/** The event of message ${id}. */
	received(id)
	{
		return this.event((e) => e.kind === 'message' && e.id === id, `message ${id}`);
	}

	/** Waits until the session has sent all up to ${seq}. */
	upTo(seq)
	{
		return this.event((e) => e.seq >= seq, `event ${seq}`);
	}

	ack(upto)
	{
		this.send({ type: 'ack', upto });
	}

	/** Closes and waits for the end. */
	async close(code = 1000)
	{
		this.socket.close(code);
		return within(this.closed, WAIT_MS, 'the end of the WebSocket');
	}

	/** The close that the server does. */
	async closing(ms = WAIT_MS)
	{
		return within(this.closed, ms, 'a close by the server');
	}
}
