// SPDX-License-Identifier: MIT
//
// The users and objects with which who.table is tested: alice, who has written
// to bob; mallory, who knows neither; root, the administrator; dora, who was
// disabled; a revoked token; a token that never existed; another server whose
// key is pinned.  And the parser of that table.  All texts of users are
// canaries (canary.mjs), and everything that anyone is shown is recorded.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { randomBytes } from 'node:crypto';

import { Ledger } from './canary.mjs';
import { Peer } from './peer.mjs';
import { dataArgs } from '../e2e/backend.mjs';
import { template } from '../e2e/contract.mjs';
import {
	TWINBOXD, User, Ws, expectStatus, freshName, rawRequest, run, uuid7, within,
} from '../e2e/harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

/** In the order of the table: the caller with the fewest rights comes first. */
export const CALLERS = ['stranger', 'forged', 'revoked', 'disabled', 'other',
	'admin', 'member', 'owner', 'peer'];

/** The callers that have a column. */
const COLUMNS = CALLERS.slice(0, -1);

export const TABLE = fs.readFileSync(path.join(here, 'who.table'), 'utf8');

// ---- the table -------------------------------------------------------------

function readTail(row, tail)
{
	let rest = tail;

	while (rest !== '') {
		const [word] = rest.split(/\s/, 1);
		const named = /^(\w+)=(\S*)$/.exec(word);

		if (word.startsWith('{')) {
			row.body = rest;
			row.type = 'application/json';
			return;
		}
		if (named?.[1] === 'peer') {
			row.cells.peer = named[2];
		} else if (word.startsWith('?')) {
			row.query = word;
		} else if (named?.[1] === 'text') {
			row.body = named[2];
			row.type = 'text/plain';
		} else if (named) {
			row.params[named[1]] = named[2];
		} else {
			throw new Error(`who.table:${row.line}: ${word}?`);
		}
		rest = rest.slice(word.length).trim();
	}
}

/**
 * Returns the rows of a table: {line, method, path, cells: {caller: text}, …}.
 */
export function rows(text = TABLE)
{
	const found = [];

	text.split('\n').forEach((line, i) => {
		if (/^(#|\s*$)/.test(line))
			return;
		const words = line.split(/\s+/, 2 + COLUMNS.length);
		if (words.length !== 2 + COLUMNS.length)
			throw new Error(`who.table:${i + 1}: not ${COLUMNS.length} cells`);
		const row = { line: i + 1, method: words[0], path: words[1],
			cells: { ...Object.fromEntries(COLUMNS.map((who, k) => [who, words[k + 2]])), peer: words[2] },
			params: {}, query: '', body: undefined };
		readTail(row, line.replace(/^(\S+\s+){9}\S+/, '').trim());
		found.push(row);
	});
	return found;
}

// ---- people ----------------------------------------------------------------

/**
 * Runs `twinboxd user …` beside the server, with ${password} on standard input.
 */
export async function userCommand(server, args, password)
{
	const child = run(TWINBOXD, ['user', ...args, ...dataArgs(server.data)],
		{ stdio: [password === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });

	// A command that has ended already reports the reason by its exit code.
	child.stdin?.on('error', () => {});
	child.stdin?.end(`${password}\n`);
	const end = await child.exited;
	if (end.code !== 0)
		throw new Error(`twinboxd user ${args.join(' ')}: ${JSON.stringify(end)} ${child.err}`);
}

export class World {
	constructor(server)
	{
		this.server = server;
		this.ledger = new Ledger();
		this.people = {};
	}

	/** Makes a canary of ${who} that only ${readers} may see. */
	canary(who, kind, readers = [who])
	{
		return this.ledger.canary(this.people[who]?.name ?? who, kind,
			readers.map((one) => this.people[one]?.name ?? one));
	}

	/** Registers ${who}.  The result has `name`, `password` and a token. */
	async person(who, { admin = false } = {})
	{
		const name = freshName(who);
		const person = this.people[who] = { name };

		person.password = this.canary(who, 'password', []);
		if (admin) {
			await userCommand(this.server, ['add', name, '--admin', '--password-stdin'],
				person.password);
		} else {
			expectStatus(await this.call(name, 'POST', '/v1/users', { json: { name,
				password: person.password, display_name: this.canary(who, 'display', [who, 'root']) } }), 201);
		}
		person.user = await this.login(who);
		return person;
	}

	/** Logs ${who} in on another device.  Returns a User. */
	async login(who)
	{
		const { name, password } = this.people[who];
		const { body } = expectStatus(await this.server.rest().post('/v1/tokens',
			{ name, password, device: this.canary(who, 'device') }), 201);

		this.ledger.secret(name, 'token', body.token, []);
		const user = new User(this.server, name, body.token, body.device.name);
		user.id = body.device.id;
		return user;
	}

	/** Makes a request of ${reader}, whose answer is recorded. */
	async call(reader, method, target, { json, body, type, token, headers: given } = {})
	{
		const text = json !== undefined ? JSON.stringify(json) : body;
		// Another server signs each of its requests.
		const headers = reader === 'peer' ?
			this.peer.headers(text ?? '', { covered: { method, path: target } }) : given;
		if (method === 'OPTIONS')
			return this.options(reader, target, token);
		const answer = await rawRequest(this.server, method, target, { token, body: text,
			headers: { ...headers, ...text !== undefined && {
				'content-type': type ?? 'application/json',
				'content-length': Buffer.byteLength(text),
			} } });

		this.ledger.see(reader, `${method} ${target}`,
			`${JSON.stringify([...answer.headers])}\n${answer.text}`);
		return answer;
	}

	/**
	 * Makes an OPTIONS request, which openapi.yaml does not list for each
	 * path.
	 */
	async options(reader, target, token)
	{
		const answer = await within(this.server.rest(token).request('OPTIONS', target),
			10_000, `OPTIONS ${target}`);

		this.ledger.see(reader, `OPTIONS ${target}`,
			`${JSON.stringify([...answer.headers])}\n${answer.text}`);
		return answer;
	}

	/** Opens a WebSocket of ${reader}, whose frames are recorded. */
	async socket(reader, options)
	{
		const ws = new Ws(this.server, options ?? {});

		ws.socket.on('message', (data) => this.ledger.see(reader, 'frame', data.toString()));
		ws.closed.then(({ reason }) => this.ledger.see(reader, 'close', reason));
		await ws.opened();
		return ws;
	}

	// ---- the objects ----

	async make()
	{
		await this.person('root', { admin: true });
		for (const who of ['alice', 'bob', 'mallory', 'dora'])
			await this.person(who);
		const { alice, bob, mallory, dora } = this.people;

		this.message = uuid7();
		const sent = await this.send('alice', ['alice', 'bob'],
			{ to: bob.name, id: this.message });
		this.conversation = sent.conversation;
		await this.send('bob', ['alice', 'bob'], { to: alice.name });
		await this.send('dora', ['alice', 'dora'], { to: alice.name });
		await this.send('mallory', ['mallory'], { to: mallory.name });
		// These notes make the seqs in alice's inbox larger than those
		// in any other.
		for (let i = 0; i < 2; i++) {
			expectStatus(await alice.user.post('/v1/messages', Array.from({ length: 100 },
				() => ({ id: uuid7(), to: alice.name, body: this.note ??= this.canary('alice', 'note') }))), 200);
		}
		await bob.user.received(this.message);
		await alice.user.event((e) => e.from === bob.name);
		await alice.user.event((e) => e.from === dora.name);
		await mallory.user.event((e) => e.own);

		const revoked = await this.login('alice');
		expectStatus(await alice.user.delete(`/v1/tokens/${revoked.id}`), 204);
		await userCommand(this.server, ['disable', dora.name]);
		this.tokens = {
			stranger: undefined,
			forged: `tb_${randomBytes(32).toString('base64url')}`,
			revoked: revoked.token,
			disabled: dora.user.token,
			other: mallory.user.token,
			admin: this.people.root.user.token,
			member: bob.user.token,
			owner: alice.user.token,
			peer: undefined,
		};
		this.peer = new Peer();
		await this.peer.pin(this.server, this.people.root.user.token);
		this.names = { other: 'mallory', admin: 'root', member: 'bob', owner: 'alice' };
		return this;
	}

	/** Sends a canary that ${readers} may see.  Returns the entry. */
	async send(who, readers, message)
	{
		return this.people[who].user.send(message.to, this.canary(who, 'body', readers), {
			metadata: { canary: this.canary(who, 'metadata', readers) },
			// Operators find a message by its correlation id when
			// someone asks about it, so root may see it.
			correlation_id: this.canary(who, 'correlation', [...readers, 'root']), ...message });
	}

	/** Returns the name by which the ledger knows ${caller}. */
	reader(caller)
	{
		return this.people[this.names[caller]]?.name ?? caller;
	}

	// ---- placeholders ----

	/**
	 * Returns the value of $${name} in the row of ${made}, for a request by
	 * ${caller}.
	 */
	async value(name, caller, made)
	{
		const who = this.names[caller] ?? caller;

		switch (name) {
		case 'alice': case 'bob': case 'mallory': case 'dora':
			return this.people[name].name;
		case 'message': case 'conversation':
			return this[name];
		case 'unknown':
			return uuid7();
		case 'fresh':
			return freshName('new');
		case 'token':
			return this.tokens[caller] ?? '';
		case 'password':
			// Mallory's password: it is valid, but not for alice or
			// dora, whom the rows name.
			return this.people.mallory.password;
		case 'body':
			return this.canary(who, 'body', [who, 'alice', 'bob']);
		case 'devicename':
			return this.canary(who, 'device');
		case 'head':
			return made.head ??= String((await this.people.alice.user.inbox(0, 200)).head);
		case 'victim':
			return made.victim ??= expectStatus(await this.server.rest().post('/v1/users',
				{ name: freshName('victim'), password: this.people.mallory.password }), 201).body.name;
		case 'device':
			return made.device ??= (await this.login('alice')).id;
		case 'scheduled':
			return made.scheduled ??= (await this.send('alice', ['alice'],
				{ to: this.people.bob.name, deliver_at: '2099-01-01T00:00:00Z' })).id;
		default:
			throw new Error(`who.table: $${name}?`);
		}
	}

	async fill(text, caller, made, other)
	{
		const names = [...new Set([...text.matchAll(/\$(\w+)/g)].map((found) => found[1]))];
		const values = {};

		for (const name of names)
			values[name] = other?.[name] ?? await this.value(name, caller, made);
		return text.replace(/\$(\w+)/g, (_all, name) => values[name]);
	}

	// ---- calls ----

	/**
	 * Makes the request of the row as ${caller}.  ${other} replaces
	 * placeholders.
	 */
	async rest(row, caller, made, { other, method = row.method } = {})
	{
		let target = row.path;

		for (const [name, value] of Object.entries(row.params))
			target = target.replace(`{${name}}`, value);
		target = await this.fill(target + row.query, caller, made, other);
		if (/[{}]/.test(target) || template(target) !== row.path)
			throw new Error(`who.table:${row.line}: ${target} is no ${row.path}`);
		const body = row.body && method === row.method ?
			await this.fill(row.body, caller, made, other) : undefined;
		return this.call(this.reader(caller), method, target,
			{ body, type: row.type, token: this.tokens[caller] });
	}

	/**
	 * Sends the frame of the row as ${caller}.  Returns the result, in the
	 * notation of a cell.
	 */
	async frame(row, caller, made, other)
	{
		const ws = await this.socket(this.reader(caller));
		const token = this.tokens[caller];
		const hello = { type: 'hello', id: 1, token, instance: `who-${row.line}` };
		const outcome = async (id) => {
			const reply = await within(Promise.race([ws.closed,
				ws.wait((frame) => frame.re === id, 'a reply').catch(() => ws.closed)]),
			10_000, `who.table:${row.line} ${caller}`);
			// A refusal at the hello is sent as an error, and then
			// the session ends.
			if (reply.type === 'error' && !/^4/.test(row.cells[caller]))
				return { text: `error:${reply.problem.code}`, reply };
			if (reply.type === 'error' || reply.code)
				return { text: String((await ws.closing()).code), reply };
			return { text: reply.type, reply };
		};

		try {
			if (row.path !== 'hello') {
				ws.send(hello);
				const first = await outcome(1);
				if (first.text !== 'welcome')
					return first;
			}
			const frame = JSON.parse(await this.fill(row.body, caller, made, other));
			if (frame.token === '')
				delete frame.token;
			ws.send(frame);
			return await outcome(frame.id);
		} finally {
			ws.socket.terminate();
		}
	}
}
