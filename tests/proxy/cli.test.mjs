// SPDX-License-Identifier: MIT
//
// The command line client over TLS, with a private certificate authority that
// is set as for curl (CURL_CA_BUNDLE, SSL_CERT_FILE).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { after, afterEach, before, describe, it } from 'node:test';

import { PASSWORD, freshName, register, run, tempDir, within } from '../e2e/harness.mjs';
import { PROXIES, certificates, eventually, stage } from './proxy.mjs';

/**
 * Accepts TLS in front of ${port}, with a certificate that can be changed.
 * Returns {url, use, close}.
 */
async function changeable(port)
{
	const read = ({ cert, key }) => ({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
	const server = tls.createServer(read(certificates()), (outer) => {
		const inner = net.connect(port, '127.0.0.1');
		outer.pipe(inner).pipe(outer);
		outer.on('error', () => inner.destroy());
		inner.on('error', () => outer.destroy());
	});
	let hands = 0;

	server.on('tlsClientError', () => {
		hands++;
	});
	await new Promise((resolve) => {
		server.listen(0, '127.0.0.1', resolve);
	});
	return {
		url: `https://localhost:${server.address().port}`,
		use: (pair) => server.setSecureContext(read(pair)),
		refusals: () => hands,
		close: () => server.close(),
	};
}

const TWINBOX = path.resolve(process.env.TWINBOX ?? '../../build/twinbox');

for (const kind of PROXIES) {
	describe(`${kind}: twinbox`, () => {
		const on = stage({ before, after, afterEach }, kind);
		const home = tempDir('twinbox-cli-');

		/**
		 * Runs the client.  ${trust} are the variables that name the
		 * authority.
		 */
		function start(trust, args, input)
		{
			const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: path.join(home, 'c'),
				XDG_DATA_HOME: path.join(home, 'd'), XDG_STATE_HOME: path.join(home, 's') };
			for (const name of ['CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'TWINBOX_SERVER'])
				delete env[name];
			for (const name of trust)
				env[name] = certificates().ca;
			const child = run(TWINBOX, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
			child.stdin.end(input);
			return child;
		}

		async function twinbox(trust, args, input)
		{
			const child = start(trust, args, input);
			const { code } = await within(child.exited, 30_000,
				() => `twinbox ${args.join(' ')}\n${child.out}${child.err}`);
			return { code, out: child.out, err: child.err };
		}

		const login = (trust, name, url = on.proxy.url) => twinbox(trust, ['--profile', name, '--server', url,
			'login', name, '--password-stdin'], `${PASSWORD}\n`);

		for (const trust of [['CURL_CA_BUNDLE'], ['SSL_CERT_FILE']]) {
			it(`with ${trust}: log in, send, read, follow`, async () => {
				const [ann, bob] = [freshName('ann'), freshName('bob')];
				for (const name of [ann, bob]) {
					await register(on.site, name);
					const done = await login(trust, name);
					assert.equal(done.code, 0, done.err);
				}
				const sent = await twinbox(trust, ['--profile', ann, 'send', bob, 'through TLS']);
				assert.equal(sent.code, 0, sent.err);
				const inbox = await twinbox(trust, ['--profile', bob, 'inbox']);
				assert.equal(inbox.code, 0, inbox.err);
				assert.match(inbox.out, /through TLS/);
				const tail = start(trust, ['--profile', bob, 'tail']);
				await eventually(() => tail.out.includes('through TLS') || tail.exitCode !== null,
					() => `tail: ${tail.out}${tail.err}`);
				const live = await twinbox(trust, ['--profile', ann, 'send', bob, 'and live']);
				assert.equal(live.code, 0, live.err);
				await eventually(() => tail.out.includes('and live'), 'the live message');
				tail.kill('SIGINT');
				await within(tail.exited, 10_000, 'the end of tail');
				assert.doesNotMatch(tail.err, /certificate|error/i);
			});
		}

		it('refuses a server whose authority it does not know', async () => {
			const name = freshName('eve');
			await register(on.site, name);
			const { code, err } = await login([], name);
			assert.notEqual(code, 0);
			assert.match(err, /certificate/i);
			/*
			 * The WebSocket is refused, too, whether the client is
			 * logged in or not.
			 */
			assert.equal((await login(['CURL_CA_BUNDLE'], name)).code, 0);
			const tail = start([], ['--profile', name, 'tail']);
			await Promise.race([tail.exited, eventually(() => /certificate|TLS|SSL/i.test(tail.err),
				'tail says why')]);
			tail.kill('SIGINT');
			await within(tail.exited, 10_000, 'the end of tail');
		});

		it('refuses a certificate for another name, by REST and by WebSocket', async (t) => {
			const trust = ['CURL_CA_BUNDLE'];
			const name = freshName('eve');
			const front = await changeable(on.server.port);
			t.after(() => front.close());
			await register(on.site, name);
			const done = await login(trust, name, front.url);
			assert.equal(done.code, 0, done.err);
			front.use(certificates().other);
			const inbox = await twinbox(trust, ['--profile', name, 'inbox']);
			assert.notEqual(inbox.code, 0);
			assert.match(inbox.err, /certificate|no alternative/i);
			const sessions = (on.server.output().match(/push\.open/g) ?? []).length;
			const refusals = front.refusals();
			const tail = start(trust, ['--profile', name, 'tail']);
			await Promise.race([tail.exited,
				eventually(() => front.refusals() > refusals + 1, 'tail tries, and tries again', 30_000)]);
			tail.kill('SIGINT');
			await within(tail.exited, 10_000, 'the end of tail');
			assert.equal((on.server.output().match(/push\.open/g) ?? []).length, sessions);
		});
	});
}
