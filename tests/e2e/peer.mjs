// SPDX-License-Identifier: MIT
//
// A peer that node plays.  It has a document, verifies each request with node's
// crypto according to docs/federation.md, and answers as a test wants.  It can
// also send signed requests itself.
//
//	const b = await new Peer('b.example').listen();
//	b.knows(server);
//	b.next(says(503));          // the answer to the next request with envelopes
//	b.otherwise = accepts();    // the answer to all others
//	await b.has(3);             // waits for three messages
//	b.check();                  // asserts that no request had a fault
//
// Faults of a request are recorded in `faults`, and the request is answered
// 500.  So even a test that forgets check() fails: its message never arrives.

import assert from 'node:assert/strict';
import {
	createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify,
} from 'node:crypto';
import { EventEmitter } from 'node:events';
import http from 'node:http';

import { TIME, UUID } from './contract.mjs';
import { WAIT_MS, sleep, uuid7, within } from './harness.mjs';
import { accepts, problem } from './peer-answers.mjs';

const PATH = '/v1/federation/deliver';
const COMPONENTS = ['@method', '@authority', '@path', 'content-digest', 'content-type', 'twinbox-from', 'twinbox-to'];
/* Headers that may appear only once in a request. */
const ONCE = [...COMPONENTS.slice(3), 'signature', 'signature-input', 'host'];
const NUMBER = /^(0|[1-9][0-9]{0,9})$/;
const FORMS = {
	created: NUMBER,
	expires: NUMBER,
	nonce: /^"[A-Za-z0-9_-]{16,64}"$/,
	keyid: /^"[A-Za-z0-9_-]{1,64}"$/,
	alg: /^"ed25519"$/,
	tag: /^"twinbox-1"$/,
};
const MOST = { items: 50, bytes: 262_144, requests: 32 };
/*
 * After this time the peer has noticed if the other side closed a connection.
 */
const NOTICE_MS = 500;
/* Errors that mean that the other side has closed the connection. */
const GONE = ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'];
const NAME = /^[a-z0-9._-]{1,32}$/;

// ---- verifying requests
// ------------------------------------------------------------

/**
 * Decodes ${length} bytes of base64.  Returns null if ${text} is not in the
 * canonical form.
 */
function base64(text, length)
{
	const bytes = Buffer.from(text, 'base64');

	return bytes.length === length && bytes.toString('base64') === text ? bytes : null;
}

const quoted = (name) => `"${name}"`;

/**
 * Returns the parameters of a signature as they were written, if they match the
 * profile of docs/federation.md.
 */
function parametersOf(list)
{
	const found = new Map();
	const [none, ...parts] = list.split(';');

	if (none !== '')
		return null;
	for (const part of parts) {
		const at = part.indexOf('=');
		const [name, value] = [part.slice(0, at), part.slice(at + 1)];
		if (!Object.hasOwn(FORMS, name) || found.has(name) || !FORMS[name].test(value))
			return null;
		found.set(name, value);
	}
	return found.size === Object.keys(FORMS).length ? found : null;
}

/** Returns the signature base: the text that is signed. */
function baseOf({ authority, target, headers, params })
{
	const values = { '@method': 'POST', '@authority': authority, '@path': target,
		...Object.fromEntries(headers) };

	return [...COMPONENTS.map((name) => `"${name}": ${values[name]}`),
		`"@signature-params": ${params}`].join('\n');
}

const digestOf = (body) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;

function publicKey(text)
{
	return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519',
		x: Buffer.from(text, 'base64').toString('base64url') } });
}

/** Returns the headers of ${request} by their names in lower case. */
function headersOf(request, fault)
{
	const headers = new Map();

	for (let i = 0; i < request.rawHeaders.length; i += 2) {
		const name = request.rawHeaders[i].toLowerCase();
		if (headers.has(name) && ONCE.includes(name))
			fault(`${name} stands there twice`);
		headers.set(name, request.rawHeaders[i + 1]);
	}
	return headers;
}

/** Checks that ${envelope} has the members that docs/federation.md requires. */
function checkEnvelope(envelope, { from, to }, fault)
{
	const where = (what) => fault(`${what}: ${JSON.stringify(envelope).slice(0, 500)}`);
	const { payload } = envelope;
	const whole = (n) => Number.isSafeInteger(n) && n >= 1;
	const isOf = (text, domain) => typeof text === 'string' &&
		NAME.test(text.slice(0, text.indexOf('@'))) && text.endsWith(`@${domain}`);

	if (!UUID.test(envelope.message_id))
		where('message_id');
	if (!whole(envelope.sequence) || !whole(envelope.attempt))
		where('sequence or attempt');
	if (!TIME.test(envelope.timestamp))
		where('timestamp');
	if (!isOf(envelope.recipient, to))
		where('recipient');
	if (!isOf(payload?.from, from))
		where('from');
	if (envelope.message_type === 'message.send') {
		if (!UUID.test(payload.id) || typeof payload.body !== 'string' || payload.body === '')
			where('id or body');
		if (!TIME.test(payload.created_at))
			where('created_at');
		if (payload.expires_at !== null && !TIME.test(payload.expires_at))
			where('expires_at');
		if (!['low', 'normal', 'high', undefined].includes(payload.priority))
			where('priority');
		if (payload.reply_to != null && !UUID.test(payload.reply_to))
			where('reply_to');
	} else if (['receipt.delivered', 'receipt.read'].includes(envelope.message_type)) {
		if (!UUID.test(payload.upto))
			where('upto');
	} else {
		where('message_type');
	}
}

// ---- the peer --------------------------------------------------------------------

export class Peer extends EventEmitter {
	constructor(domain)
	{
		super();
		this.setMaxListeners(0);
		this.domain = domain;
		this.key_id = `key-${randomBytes(4).toString('hex')}`;
		this.keys = generateKeyPairSync('ed25519');
		this.public = this.keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
		this.epoch = uuid7();
		this.limits = undefined;
		this.signers = new Map(); /* domain -> {server, keys} */
		this.faults = [];
		this.plan = [];
		this.otherwise = accepts();
		this.documents = 0; /* how many times it was requested */
		this.requests = []; /* requests with envelopes */
		this.empty = [];    /* requests without envelopes */
		this.taken = [];    /* accepted envelopes, in order */
		this.ids = new Set();
		this.nonces = new Set();
		this.repeated = 0; /* requests that came twice */
		this.open = new Set();
		this.most_open = 0;
	}

	get authority()
	{
		return `127.0.0.1:${this.port}`;
	}

	get url()
	{
		return `http://127.0.0.1:${this.port}`;
	}

	/** Listens.  The port is the same at each call. */
	async listen()
	{
		this.server = http.createServer({ keepAlive: true }, (request, response) => {
			response.on('error', () => {}); // the other side has given the request up
			this.serve(request, response).catch((error) => {
				if (!GONE.includes(error.code))
					this.faults.push(error.stack);
				response.destroy();
			});
		});
		await new Promise((resolve, reject) => {
			this.server.once('error', reject);
			this.server.listen(this.port ?? 0, '127.0.0.1', resolve);
		});
		this.port = this.server.address().port;
		return this;
	}

	/** Closes all connections, and refuses new ones. */
	async close()
	{
		const { server } = this;

		this.server = undefined;
		if (!server)
			return;
		const closed = new Promise((resolve) => { server.close(resolve); });
		server.closeAllConnections();
		await closed;
	}

	/** Allows ${server} to sign requests. */
	knows(server)
	{
		this.signers.set(server.domain, { server, keys: new Map() });
	}

	// ---- the document

	document()
	{
		return {
			domain: this.domain,
			keys: [{ id: this.key_id, alg: 'ed25519', public: this.public }],
			deliver: `${this.url}${PATH}`,
			ack_statuses: ['accepted', 'retryable', 'rejected'],
			...(this.limits && { limits: this.limits }),
			versions: ['1'],
			epoch: this.epoch,
		};
	}

	/** Answers with the document.  A test may replace this method. */
	describe(_request, response)
	{
		response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
		response.end(JSON.stringify(this.document()));
	}

	// ---- requests

	/**
	 * Sets the answers to the next requests with envelopes, one for each.
	 */
	next(...answers)
	{
		this.plan.push(...answers);
	}

	/** Answers 200 with ${body}. */
	answer(response, body)
	{
		response.writeHead(200, { 'content-type': 'application/json' });
		response.end(JSON.stringify({ acks: [], epoch: this.epoch, ...body }));
	}

	/** Accepts ${envelope}.  Returns the ack. */
	accept(envelope)
	{
		const { message_id } = envelope;

		if (this.ids.has(message_id))
			return { message_id, status: 'accepted', duplicate: true };
		this.ids.add(message_id);
		this.taken.push(envelope);
		this.emit('taken');
		return { message_id, status: 'accepted' };
	}

	async serve(request, response)
	{
		if (request.url === '/.well-known/twinbox' && request.method === 'GET') {
			this.documents++;
			this.emit('document');
			await this.describe(request, response);
			return;
		}
		const pieces = [];

		for await (const piece of request)
			pieces.push(piece);
		const asked = await this.read(request, Buffer.concat(pieces));
		asked.closed = new Promise((resolve) => { response.once('close', resolve); });
		if (asked.faults.length > 0) {
			this.faults.push(...asked.faults);
			response.writeHead(500);
			response.end();
			return;
		}
		if (this.nonces.has(asked.nonce)) {
			/*
			 * An HTTP client may repeat a request whose connection
			 * broke.
			 */
			this.repeated++;
			problem(401, 'nonce-repeated')(asked, response);
			return;
		}
		this.nonces.add(asked.nonce);
		this.overlaps(asked);
		this.open.add(asked);
		this.most_open = Math.max(this.most_open, this.open.size);
		asked.closed.then(() => this.open.delete(asked));
		const list = asked.envelopes.length > 0 ? this.requests : this.empty;
		list.push(asked);
		this.emit('request');
		const answer = list === this.empty ? this.idle : this.plan.shift() ?? this.otherwise;
		await answer.call(this, asked, response, this);
		if (this.open.delete(asked) && response.writableEnded)
			this.faults.push(...asked.overtaken);
	}

	/** Answers a request without envelopes (a heartbeat). */
	idle(asked, response)
	{
		const { ping } = asked.json.control ?? {};

		this.answer(response, { control: { heartbeat: { at: new Date().toISOString(), draining: false },
			...(ping && { pong: ping }) } });
	}

	/**
	 * Records a fault if two requests with envelopes of one lane are open
	 * at the same time.  The peer may not have noticed yet that the sender
	 * has given the first one up, so the fault counts only if the first
	 * request is answered or still open after NOTICE_MS.
	 */
	overlaps(asked)
	{
		const lanes = ({ envelopes }) => envelopes.map((one) =>
			`${one.payload.from} ${one.recipient} ${one.message_type === 'message.send'}`);
		const mine = new Set(lanes(asked));

		for (const other of this.open) {
			for (const lane of lanes(other)) {
				if (!mine.has(lane))
					continue;
				other.overtaken.push(`${lane} is under way twice`);
				sleep(NOTICE_MS).then(() => this.open.has(other) &&
					this.faults.push(`${lane} is under way twice, still`));
			}
		}
	}

	/** Returns the key ${id} of ${domain}. */
	async keyOf(domain, id)
	{
		const signer = this.signers.get(domain);

		if (signer && !signer.keys.has(id)) {
			const { keys } = await signer.server.document();
			signer.keys = new Map(keys.filter(({ alg }) => alg === 'ed25519')
				.map((key) => [key.id, publicKey(key.public)]));
		}
		return signer?.keys.get(id);
	}

	/**
	 * Parses and verifies ${request} with ${body}.  Returns its content and
	 * its faults.
	 */
	async read(request, body)
	{
		const faults = [];
		const fault = (text) => faults.push(text);
		const headers = headersOf(request, fault);
		const asked = { at: performance.now(), target: request.url, headers, body, faults,
			envelopes: [], json: {}, overtaken: [] };

		if (request.method !== 'POST' || request.url !== PATH)
			fault(`${request.method} ${request.url}`);
		if (headers.get('content-type') !== 'application/json')
			fault(`content-type ${headers.get('content-type')}`);
		for (const name of ['content-encoding', 'cookie', 'authorization']) {
			if (headers.has(name))
				fault(`${name}: ${headers.get(name)}`);
		}
		if (headers.get('twinbox-to') !== this.domain)
			fault(`twinbox-to ${headers.get('twinbox-to')}`);
		if (headers.get('content-digest') !== digestOf(body))
			fault(`content-digest ${headers.get('content-digest')}, not ${digestOf(body)}`);
		await this.readSignature(asked, fault);
		this.readBody(asked, fault);
		return asked;
	}

	async readSignature(asked, fault)
	{
		const input = asked.headers.get('signature-input') ?? '';
		const [, components, list] = /^tb=\(([^()]*)\)(.*)$/.exec(input) ?? [];
		const params = parametersOf(list ?? '');
		const value = base64(/^tb=:([^:]*):$/.exec(asked.headers.get('signature') ?? '')?.[1] ?? '', 64);

		if (input.length > 512 || components !== COMPONENTS.map(quoted).join(' ') || params === null ||
		    value === null) {
			fault(`signature ${input} ${asked.headers.get('signature')}`);
			return;
		}
		const of = (name) => params.get(name).replaceAll('"', '');
		const [created, expires] = [Number(of('created')), Number(of('expires'))];
		const now = Date.now() / 1000;
		if (expires <= created || expires - created > 300 || Math.abs(now - created) > 300)
			fault(`created ${created} expires ${expires} at ${now}`);
		asked.nonce = of('nonce');
		asked.key_id = of('keyid');
		asked.from = asked.headers.get('twinbox-from');
		const key = await this.keyOf(asked.from, asked.key_id);
		const base = baseOf({ authority: this.authority, target: asked.target,
			headers: asked.headers, params: input.slice('tb='.length) });
		if (key === undefined)
			fault(`${asked.from} has no key ${asked.key_id}`);
		else if (!verify(null, Buffer.from(base), key, value))
			fault(`the signature is wrong: ${base}`);
	}

	readBody(asked, fault)
	{
		const limits = { ...MOST, ...this.limits };

		if (asked.body.length > limits.bytes)
			fault(`${asked.body.length} bytes`);
		try {
			asked.json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(asked.body));
		} catch (error) {
			fault(`the body: ${error.message}`);
			return;
		}
		const extra = Object.keys(asked.json).filter((name) => !['envelopes', 'control'].includes(name));
		if (!Array.isArray(asked.json.envelopes) || extra.length > 0) {
			fault(`the body: ${asked.body.toString().slice(0, 200)}`);
			return;
		}
		asked.envelopes = asked.json.envelopes;
		if (asked.envelopes.length > limits.items)
			fault(`${asked.envelopes.length} envelopes`);
		for (const envelope of asked.envelopes)
			checkEnvelope(envelope, { from: asked.from, to: this.domain }, fault);
	}

	// ---- waiting

	/**
	 * Waits until ${wanted} returns a true value, and returns that value.
	 * ${wanted} is called after each event of this peer.
	 */
	async when(wanted, what, ms = WAIT_MS * 3)
	{
		const names = ['request', 'taken', 'document'];
		let look;

		try {
			return await within(new Promise((resolve) => {
				look = () => {
					const found = wanted();
					if (found)
						resolve(found);
				};
				for (const name of names)
					this.on(name, look);
				look();
			}), ms, () => `${this.domain}: ${what}; it has ${this.taken.length}, was asked ` +
				`${this.requests.length} times; faults: ${this.faults.join('\n')}`);
		} finally {
			for (const name of names)
				this.off(name, look);
		}
	}

	/**
	 * Waits for ${n} requests with envelopes.  Returns the last of them.
	 */
	async asked(n, what = `${n} requests`)
	{
		return this.when(() => this.requests.length >= n && this.requests[n - 1], what);
	}

	/** Returns the ids of the messages that the peer has accepted. */
	messages()
	{
		return this.taken.filter((one) => one.message_type === 'message.send').map((one) => one.payload.id);
	}

	/**
	 * Waits until the peer has accepted ${n} messages.  Returns their ids.
	 */
	async has(n)
	{
		return this.when(() => this.messages().length >= n && this.messages(), `${n} messages`);
	}

	/** Waits until the peer has accepted message ${id}. */
	async gets(id)
	{
		return this.when(() => this.messages().includes(id), `message ${id}`);
	}

	/**
	 * Asserts that no request had a fault, and that the envelopes of each
	 * sequence came in order.
	 */
	check()
	{
		const last = new Map();

		assert.deepEqual(this.faults, []);
		for (const { payload, recipient, message_type, sequence } of this.taken) {
			const lane = `${payload.from} ${recipient} ${message_type === 'message.send'}`;
			assert.ok(sequence > (last.get(lane) ?? 0), `${lane}: ${sequence} after ${last.get(lane)}`);
			last.set(lane, sequence);
		}
	}

	// ---- sending

	/**
	 * Makes an envelope with a message of ${from}, a user of this peer, to
	 * ${to}, a user of the server.
	 */
	message(from, to, { sequence, body = 'hello', id = uuid7(), ...more } = {})
	{
		const now = new Date().toISOString();

		return { message_id: uuid7(), sequence, timestamp: now, message_type: 'message.send', recipient: to,
			attempt: 1, payload: { id, from: `${from}@${this.domain}`, body, content_type: 'text/plain',
				reply_to: null, priority: 'normal', created_at: now, expires_at: null }, ...more };
	}

	/**
	 * Returns the head of a request with ${body} to ${server}.  The last
	 * argument can replace parameters of the signature and headers.
	 */
	headersFor(server, body, { key_id = this.key_id, nonce = randomBytes(15).toString('base64url'), skew = 0,
		privateKey = this.keys.privateKey, headers: others = {} } = {})
	{
		const now = Math.floor(Date.now() / 1000) + skew;
		const headers = new Map([
			['content-digest', digestOf(body)],
			['content-type', 'application/json'],
			['twinbox-from', this.domain],
			['twinbox-to', server.domain],
		]);
		const params = `(${COMPONENTS.map(quoted).join(' ')});created=${now};expires=${now + 300};` +
			`nonce="${nonce}";keyid="${key_id}";alg="ed25519";tag="twinbox-1"`;
		const base = baseOf({ authority: new URL(server.url).host, target: PATH, headers, params });
		const value = sign(null, Buffer.from(base), privateKey).toString('base64');

		return { ...Object.fromEntries(headers), 'signature-input': `tb=${params}`,
			signature: `tb=:${value}:`, ...others };
	}

	/**
	 * Sends a signed request with ${content} to ${server}.  Returns the
	 * answer.
	 */
	async deliver(server, content, change = {})
	{
		const body = JSON.stringify(content);

		return server.rest().request('POST', PATH, { body: change.body ?? body,
			headers: this.headersFor(server, body, change), token: null });
	}

	/**
	 * Does the same as deliver(), but repeats the request until the server
	 * knows the key.
	 */
	async delivers(server, content, change)
	{
		return within((async () => {
			for (;;) {
				const answer = await this.deliver(server, content, change);
				if (answer.status !== 503)
					return answer;
				assert.equal(answer.body.code, 'key_unknown', answer.text);
				await sleep(100);
			}
		})(), WAIT_MS * 3, `${server.domain} knows the key of ${this.domain}`);
	}
}
