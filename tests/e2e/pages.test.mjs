// SPDX-License-Identifier: MIT
// tags: surface
//
// The routes without a token: health, readiness, metrics, the formal documents,
// the pages that explain problems.  And the start of the server as its user
// sees it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import YAML from 'yaml';

import { databaseUrl } from './backend.mjs';
import { Terminal } from './cli-terminal.mjs';
import { document, seen } from './contract.mjs';
import { problem } from './expect.mjs';
import { operator } from './operator.mjs';
import { entriesIn } from './files.mjs';
import {
	TWINBOXD, Server, eventually, expectStatus, freshName, rawRequest, run, serverForFile, startServer, tempDir,
	users, within,
} from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

/** Returns the samples of a Prometheus page: name{labels} → value. */
function samples(text)
{
	const found = new Map();

	for (const line of text.split('\n')) {
		if (line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE '))
			continue;
		const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line);
		assert.ok(match, `no sample: ${line}`);
		assert.ok(!found.has(match[1]), `twice: ${match[1]}`);
		assert.ok(!Number.isNaN(Number(match[2].replace('+Inf', 'Infinity'))), line);
		found.set(match[1], Number(match[2]));
	}
	return found;
}

describe('health', () => {
	for (const target of ['/healthz', '/readyz']) {
		it(`${target} is 200 without a token`, async () => {
			expectStatus(await server.rest().get(target), 200);
		});
	}
});

describe('R68 R71 R424 /metrics', () => {
	it('is Prometheus text', async () => {
		const answer = expectStatus(await server.rest().get('/metrics'), 200);
		assert.match(answer.headers.get('content-type'), /^text\/plain; *version=0\.0\.4/);
		assert.ok(answer.text.endsWith('\n'));
		const all = samples(answer.text);
		assert.ok(all.size > 20);
		for (const name of all.keys())
			assert.match(name, /^twinbox_|^process_/);
	});

	it('R70 R157 R338 counts what happened', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const was = samples((await server.rest().get('/metrics')).text);
		for (let i = 0; i < 3; i++) {
			const { id } = await ann.send(bob.name, 'x');
			await bob.received(id);
		}
		await bob.ack(2);
		const ws = await bob.ws();
		const look = async () => samples((await server.rest().get('/metrics')).text);
		// The server updates its gauges from time to time only.
		await eventually(async () => {
			const gauges = await look();
			return gauges.get('twinbox_ws_sessions') === 1 &&
				gauges.get('twinbox_outbox_pending') === 0;
		}, 'one session and nothing pending');
		const now = await look();
		const more = (name) => now.get(name) - was.get(name);
		assert.equal(more('twinbox_messages_accepted_total'), 3);
		// This metric counts messages.  Receipts do not count.
		assert.equal(more('twinbox_outbox_sent_total'), 3);
		assert.equal(more('twinbox_outbox_acked_total'), 2);
		assert.ok(more('twinbox_inbox_events_total') >= 6);
		assert.ok(more('twinbox_http_requests_total') >= 7);
		assert.equal(more('twinbox_delivery_seconds_count'), 3);
		assert.equal(more('twinbox_event_to_delivery_seconds_count'), 3);
		await ws.close();
	});

	it('is for loopback, unless other networks are named', async (t) => {
		const status = async (to, localAddress, headers = {}) => {
			const answer = await rawRequest(to, 'GET', '/metrics', { localAddress, headers });
			if (answer.status === 403)
				problem(answer, 403, 'forbidden');
			return answer.status;
		};
		const started = async (...args) => {
			const other = await startServer({ args: ['--demo=false', ...args] });
			t.after(() => other.stop());
			return other;
		};

		for (const from of ['127.0.0.1', '127.0.0.2', '127.200.0.1'])
			assert.equal(await status(server, from), 200, from);
		const one = await started('--metrics-networks', '127.0.0.2,10.0.0.0/8');
		assert.equal(await status(one, '127.0.0.2'), 200);
		assert.equal(await status(one, '127.0.0.3'), 403);
		const refused = await rawRequest(one, 'GET', '/metrics', { localAddress: '127.0.0.3' });
		assert.equal(refused.body.detail, '127.0.0.3 is in none of the networks that may read /metrics; ' +
			'the operator names them with metrics-networks');
		expectStatus(await rawRequest(one, 'GET', '/healthz', { localAddress: '127.0.0.3' }), 200);
		assert.equal(await status(await started('--metrics-networks='), '127.0.0.1'), 403);
		// A client whose requests a proxy on loopback passes on is not
		// on loopback itself.
		const behind = await started('--behind-proxy', '127.0.0.1');
		assert.equal(await status(behind, '127.0.0.1', { 'X-Forwarded-For': '192.0.2.7' }), 403);
		assert.equal(await status(behind, '127.0.0.1', { 'X-Forwarded-For': '2001:db8::7' }), 403);
		assert.equal(await status(behind, '127.0.0.1'), 200);
		assert.equal(await status(behind, '127.0.0.2', { 'X-Forwarded-For': '192.0.2.7' }), 200);
		const six = await started('--listen', '[::1]:0');
		expectStatus(await six.rest().get('/metrics'), 200);
	});
});

describe('the formal documents', () => {
	for (const [name, version] of [['openapi.yaml', /^3\.1\./], ['asyncapi.yaml', /^3\./]]) {
		it(`/${name} is the file in docs`, async () => {
			const answer = expectStatus(await server.rest().get(`/${name}`), 200);
			assert.match(answer.headers.get('content-type'), /yaml/);
			const doc = YAML.parse(answer.text);
			assert.match(doc.openapi ?? doc.asyncapi, version);
			assert.deepEqual(doc, document(name));
		});

		it(`/${name} opens in a browser, which would save YAML`, async () => {
			const get = (accept) => fetch(`${server.url}/${name}`, { headers: { accept } });
			const browser = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
			const program = await get('*/*');
			assert.equal(browser.headers.get('content-type'), 'text/plain; charset=utf-8');
			assert.equal(program.headers.get('content-type'), 'application/yaml');
			for (const { headers } of [browser, program])
				assert.equal(headers.get('vary'), 'Accept');
			assert.equal(await browser.text(), await program.text());
			// Several Accept lines count as one list.
			const lines = await rawRequest(server, 'GET', `/${name}`, { headers: { accept: ['a/b', 'text/html', 'c/d'] } });
			assert.equal(lines.headers.get('content-type'), 'text/plain; charset=utf-8');
		});
	}

	it('answers and frames were held against them', async () => {
		const [ann] = await users(server, 'ann');
		const ws = await ann.ws();
		await ws.type('caught_up');
		await ws.close();
		const { answers, bodies, frames } = seen();
		assert.ok(answers > 10 && frames >= 2, JSON.stringify(seen()));
		assert.ok(process.env.TWINBOX_CONTRACT === 'rules' || bodies > 3, JSON.stringify(seen()));
	});
});

it('asyncapi.yaml lists the kinds of events that openapi.yaml has', async () => {
	const [{ components: { schemas } }, { info }] = await Promise.all(['openapi', 'asyncapi'].map(
		async (name) => YAML.parse((await server.rest().get(`/${name}.yaml`)).text)));
	const kinds = schemas.Event.oneOf.flatMap(({ $ref }) => {
		const { kind } = schemas[$ref.split('/').at(-1)].properties;
		return kind.enum ?? [kind.const];
	});
	const [, listed] = /The `kind` of an event is one of\s+([^;]+);/.exec(info.description);

	assert.ok(kinds.length > 4, String(kinds));
	assert.deepEqual([...listed.matchAll(/`(\w+)`/g)].map((m) => m[1]), kinds);
	assert.match(info.description, /`after` in `hello` is a cursor, `EPOCH:SEQ`/);
});

describe('/problems/{slug}', () => {
	const slugs = ['bad-request', 'unauthenticated', 'wrong-password', 'one-time-password', 'forbidden', 'not-found', 'method-not-allowed',
		'conflict', 'already-sent', 'cursor-expired', 'precondition-failed', 'body-too-large',
		'unsupported-media', 'expectation-failed', 'head-too-large', 'unknown-recipient', 'key-reused', 'ack-beyond-head',
		'precondition-required', 'rate-limited', 'queue-full', 'internal', 'not-implemented', 'busy',
		'draining', 'inbox-full', 'quota-used', 'storage-full', 'signature-missing',
		'signature-malformed', 'signature-components', 'signature-parameters', 'signature-expired',
		'signature-early', 'signature-wrong', 'digest-wrong', 'nonce-repeated', 'peer-refused', 'key-unknown'];

	for (const slug of slugs) {
		it(`${slug} says cause and cure`, async () => {
			const answer = expectStatus(await server.rest().get(`/problems/${slug}`,
				{ headers: { accept: 'text/html' } }), 200);
			assert.match(answer.headers.get('content-type'), /^text\/(html|plain|markdown)/);
			assert.ok(answer.text.length > 100, answer.text);
		});
	}

	it('an unknown one is 404', async () => {
		problem(await server.rest().get('/problems/nonsense'), 404, 'not_found');
	});

	it('the type of a problem leads to its page', async () => {
		const answer = await server.rest().get('/v1/inbox');
		assert.equal(answer.status, 401);
		const page = await server.rest().get(new URL(answer.body.type, server.url).pathname);
		expectStatus(page, 200);
		assert.ok(page.text.includes(answer.body.title));
	});
});

describe('the start', () => {
	const once = async (args, env = {}) => {
		const child = run(TWINBOXD, args, { env: { ...process.env, ...env } });
		const end = await within(child.exited, 10_000, 'the end');
		return { ...end, out: child.out, err: child.err };
	};

	it('prints version, URL, database and lines to copy', async () => {
		const { out } = server.child;
		assert.match(out, /twinboxd? \d+\.\d+\.\d+/);
		assert.match(out, /^listening: http:\/\/127\.0\.0\.1:\d+$/m);
		assert.ok(out.includes(databaseUrl(server.data) ?? server.data), out);
		assert.match(out, /curl /);
	});

	it('the data directory and the database are not for others to read', () => {
		assert.equal(fs.statSync(server.data).mode & 0o077, 0);
		for (const { name, stat } of entriesIn(server.data))
			assert.equal(stat.mode & 0o077, 0, name);
	});

	it('a second server on the same data is refused, the first goes on', async () => {
		const end = await once(['serve', '--demo', '--data', server.data,
			'--listen', '127.0.0.1:0']);
		assert.notEqual(end.code, 0);
		assert.notEqual(end.code, null);
		assert.match(end.err + end.out, /lock|in use|running/i);
		expectStatus(await server.rest().get('/readyz'), 200);
	});

	it('--demo is refused off loopback', async () => {
		const end = await once(['serve', '--demo', '--data', path.join(tempDir(), 'd'),
			'--listen', '0.0.0.0:0', '--insecure']);
		assert.ok(end.code > 0);
		assert.match(end.err + end.out, /demo/);
	});

	it('off loopback needs --behind-proxy or --insecure', async () => {
		const end = await once(['serve', '--data', path.join(tempDir(), 'd'),
			'--listen', '0.0.0.0:0']);
		assert.ok(end.code > 0);
		assert.match(end.err + end.out, /insecure|behind-proxy/);
	});

	it('check-config says what is wrong, and where', async () => {
		const dir = tempDir();
		const good = path.join(dir, 'good.conf');
		const bad = path.join(dir, 'bad.conf');
		fs.writeFileSync(good, 'registration = closed\n');
		fs.writeFileSync(bad, 'registration = closed\ncolour = red\n');
		assert.equal((await once(['check-config', '--config', good])).code, 0);
		const end = await once(['check-config', '--config', bad]);
		assert.ok(end.code > 0);
		assert.match(end.err + end.out, /bad\.conf.*2|colour/);
		assert.ok((await once(['serve', '--colour', 'red'])).code > 0);
	});

	it('a proxy that is everybody is warned of, at the start and by check-config', async (t) => {
		const all = ['--behind-proxy', '127.0.0.1,0.0.0.0/0,::/0'];
		const text = (network) => `behind-proxy: ${network} is wider than any private network: everybody in it ` +
			'may say who they are by X-Forwarded-For, in the log and for the limits; name only the addresses ' +
			'of your proxies';
		const end = await once(['check-config', ...all]);
		assert.equal(end.code, 0);
		assert.equal(end.err, ['0.0.0.0/0', '::/0'].map((network) => `twinboxd: warning: ${text(network)}\n`).join(''));
		assert.match(end.out, /^behind-proxy = 127\.0\.0\.1\/32,0\.0\.0\.0\/0,::\/0 ; --behind-proxy$/m);
		assert.equal((await once(['check-config', '--behind-proxy', '10.0.0.0/8'])).err, '');
		const server = await startServer({ args: ['--demo=false', ...all] });
		t.after(() => server.stop());
		assert.equal(server.output().split(' warn server.setting ').length, 3, server.output());
		assert.ok(server.output().includes(` warn server.setting warning=${text('::/0')}\n`), server.output());
	});

	it('a setting may come by environment, and a flag wins', async (t) => {
		const closed = new Server({ env: { TWINBOX_REGISTRATION: 'closed' } });
		await closed.start();
		t.after(() => closed.stop());
		const json = { name: freshName('x'), password: 'correct horse' };
		problem(await closed.rest().post('/v1/users', json), 403, 'forbidden');
		const open = new Server({ env: { TWINBOX_REGISTRATION: 'closed' },
			args: ['--registration', 'open'] });
		await open.start();
		t.after(() => open.stop());
		expectStatus(await open.rest().post('/v1/users', json), 201);
	});

	it('user add hides the password, and Ctrl-C leaves the terminal as it was', async (t) => {
		const data = path.join(tempDir(), 'd');
		const add = new Terminal(TWINBOXD, ['user', 'add', 'zoe', '--data', data]);
		t.after(() => add.kill());
		await add.shows('password:');
		add.type('wrong\x15secret-one-12\x7f\r');
		await add.shows('again:');
		add.type('secret-one-1\r');
		assert.equal(await within(add.ended(), 20_000, 'user add'), 0, add.screen.text());
		assert.doesNotMatch(add.raw, /secret/);

		const given_up = new Terminal('sh', ['-c',
			`${TWINBOXD} user add yan --data ${data}; echo "code $?"; stty -a | grep -o -- '-\\?echo\\b'`]);
		t.after(() => given_up.kill());
		await given_up.shows('password:');
		given_up.type('half\x03');
		await given_up.shows(/^code [1-9]/m);
		await given_up.shows(/^echo$/m, 'the echo is on');
		assert.doesNotMatch(given_up.raw, /half/);
	});

	it('R431 the log is one structured line an event, also as JSON, and names what was handed over', async (t) => {
		const json = await startServer({ args: ['--log-format', 'json', '--log-level', 'debug'] });
		t.after(() => json.stop());
		const [ann, bob] = await users(json, 'ann', 'bob');
		const root = await operator(json);
		await root.pause();
		const { id } = await ann.send(bob.name, 'hello');
		await root.resume();
		await bob.received(id);
		await json.stop();
		const lines = json.last.err.split('\n').filter(Boolean).map((line) => JSON.parse(line));
		assert.ok(lines.every((line) => typeof line === 'object'));
		const turns = lines.filter((line) => line.event === 'relay.turn');
		assert.deepEqual(turns.map(({ level, destination, rows }) => [level, destination, rows]),
			[['debug', 'local', 1]]);
	});
});
