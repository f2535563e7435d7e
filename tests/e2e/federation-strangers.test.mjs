// SPDX-License-Identifier: MIT
// tags: store
//
// Limits on what strangers can cause.  A server that was in contact but has
// delivered nothing is forgotten after peer-retention, and treated like a new
// one when it comes again.  A user can write to a limited number of new servers
// a day.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { EX, Person } from './cli-client.mjs';
import { problem } from './expect.mjs';
import { scene } from './federation-scene.mjs';
import { eventually, uuid7 } from './harness.mjs';
import { address } from './pair.mjs';
import { purged } from './upkeep.mjs';

describe('a server that has delivered nothing', () => {
	it('is forgotten with its keys; one that has, or that an operator blocked, is not', async (t) => {
		const s = await scene(t, { args: ['--peer-retention', '1s', '--purge-rate', '20000'] });
		const { ann, b, c, root, server } = s;
		const taken = await c.delivers(server, { envelopes: [c.message('carol', address(ann), { sequence: 1 })] });
		assert.equal(taken.body.acks[0].status, 'accepted', taken.text);
		await root.do('POST', 'peers/d.example/block', {});
		// This request makes the server fetch the key of b, and leaves
		// nothing else behind.
		problem(await b.deliver(server, { envelopes: [] }), 503, 'key_unknown');
		await eventually(async () => (await purged(server, 'destinations')) === 1, 'b.example is purged');
		problem(await root.get('/v1/admin/peers/b.example'), 404, 'not_found');
		for (const domain of ['c.example', 'd.example'])
			assert.equal((await root.ask(`peers/${domain}`)).domain, domain);
		// The cached key belongs to a peer that was forgotten, so the
		// server must fetch it again.
		const documents = b.documents;
		problem(await b.deliver(server, { envelopes: [b.message('bob', address(ann), { sequence: 1 })] }),
			503, 'key_unknown');
		assert.equal((await ann.inbox()).events.filter((e) => e.kind === 'message').length, 1);
		const again = await b.delivers(server, { envelopes: [b.message('bob', address(ann), { sequence: 2 })] });
		assert.equal(again.body.acks[0].status, 'accepted', again.text);
		assert.ok(b.documents > documents);
		await ann.event((e) => e.kind === 'message' && e.from === 'bob@b.example', 'the message of a server met anew');
		await s.check();
	});
});

describe('a user', () => {
	it('writes to a limited number of new servers a day, and to known ones without limit', async (t) => {
		const s = await scene(t, { args: ['--federation-new-domains', '2'] });
		const { ann, c, server } = s;
		const write = (to) => ann.post('/v1/messages', { to, body: 'hello' });
		// A server that has written to this one does not count as new.
		await c.delivers(server, { envelopes: [c.message('carol', address(ann), { sequence: 1 })] });
		assert.equal((await write('dan@c.example')).status, 201);
		for (const to of ['x@n1.example', 'x@n2.example'])
			assert.equal((await write(to)).status, 201);
		const refused = await write('x@n3.example');
		problem(refused, 429, 'quota_used', '/to');
		assert.match(refused.body.detail, /2 servers that were new here.*federation-new-domains/);
		const wait = Number(refused.headers.get('retry-after'));
		assert.ok(wait > 43_000 && wait <= 43_201, `${wait} s`);
		// By this pointer the page knows that only messages to this
		// recipient must wait.
		const ws = await ann.ws();
		const frame = await ws.request({ type: 'send',
			message: { id: uuid7(), to: 'x@n3.example', body: 'hello' } });
		assert.deepEqual([frame.type, frame.problem?.code, frame.problem?.pointer],
			['error', 'quota_used', '/message/to']);
		await ws.close();
		assert.equal((await write('y@n1.example')).status, 201);
		await c.gets((await ann.send('carol@c.example', 'still')).id);
		// The command line client keeps the message, says why, and
		// delays no other message.
		const person = new Person(server.url, { name: ann.name });
		assert.equal((await person.withPassword(['login', ann.name])).code, EX.OK);
		const kept = await person.try(['send', 'x@n3.example', 'one', '--try-for', '0s']);
		assert.equal(kept.code, EX.TEMPFAIL, kept.err);
		assert.match(kept.err, /not sent yet: you have written to 2 servers that were new here/);
		await c.gets((await person.json('send', 'carol@c.example', 'two', '--try-for', '0s')).id);
		assert.match((await person.run('outbox')).out, /x@n3.example/);
		s.c.check();
	});
});
