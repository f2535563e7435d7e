// SPDX-License-Identifier: MIT
// tags: store
//
// The admin routes about other servers.  A key is pinned before the first
// contact; servers are blocked, unblocked and forgotten; the list has pages;
// every change is in the audit log; an answer to bad input names the wrong
// member.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { operator } from './operator.mjs';
import { problem, time } from './expect.mjs';
import { expectStatus, freshName, serverForFile } from './harness.mjs';

const PUBLIC = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';
const OTHER = Buffer.alloc(32, 7).toString('base64');

let root;
const server = serverForFile({ before, after, afterEach }, async () => {
	root = await operator(server);
}, { unlimited: 'one administrator makes every call' });

const fresh = () => `${freshName('peer')}.example`;
const peer = (domain) => root.ask(`peers/${domain}`);
const change = (domain, verb, json) => root.do('POST', `peers/${domain}/${verb}`, json);

/** The entries of the audit log about ${domain}, newest first. */
async function deeds(domain)
{
	const { entries } = await root.ask('audit?limit=200');

	return entries.filter((one) => one.object === domain).map((one) => {
		assert.equal(one.actor, root.name);
		return [one.action, one.detail];
	});
}

describe('a key of another server', () => {
	it('is pinned before the server is met', async () => {
		const domain = fresh();
		problem(await root.get(`/v1/admin/peers/${domain}`), 404, 'not_found');
		const pinned = await change(domain, 'pin', { key_id: 'k-1_A', public: PUBLIC });
		assert.deepEqual(await peer(domain), pinned);
		const { keys: [key], ...rest } = pinned;
		assert.deepEqual(rest, { domain, first_seen_at: null, last_seen_at: null, epoch: null, blocked_at: null,
			blocked_by: null, live_keys: 1, pinned_keys: 1 });
		time(key.first_seen_at);
		assert.deepEqual(key, { id: 'k-1_A', public: PUBLIC, pinned_by: root.name,
			first_seen_at: key.first_seen_at, last_seen_at: key.last_seen_at, retired_at: null, verifies: true });
		const { keys } = await change(domain, 'pin', { key_id: 'k2', public: OTHER });
		assert.deepEqual(keys.map((one) => [one.id, one.public]), [['k-1_A', PUBLIC], ['k2', OTHER]]);
		assert.deepEqual(await deeds(domain), [['peer-pin', 'k2 (07070707)'], ['peer-pin', 'k-1_A (d75a9801)']]);
		// The server is a destination as well: messages to it would
		// wait there.
		assert.equal((await root.destination(domain)).breaker, 'closed');
	});

	it('is one of eight at most', async () => {
		const domain = fresh();
		for (let i = 1; i <= 8; i++)
			await change(domain, 'pin', { key_id: `k${i}`, public: PUBLIC });
		const answer = await root.post(`/v1/admin/peers/${domain}/pin`, { key_id: 'k9', public: PUBLIC });
		problem(answer, 409, 'conflict');
		assert.match(answer.body.detail, /^8 keys of .* are pinned/);
		assert.equal((await peer(domain)).pinned_keys, 8);
		assert.equal((await change(domain, 'pin', { key_id: 'k8', public: OTHER })).keys[7].public, OTHER);
	});
});

describe('a pinned key', () => {
	it('is unpinned: believed until a document says otherwise', async () => {
		const domain = fresh();
		await change(domain, 'pin', { key_id: 'k1', public: PUBLIC });
		await change(domain, 'pin', { key_id: 'k2', public: OTHER });
		const one = await change(domain, 'unpin', { key_id: 'k1' });
		assert.deepEqual([one.live_keys, one.pinned_keys], [2, 1]);
		assert.deepEqual(one.keys.map((key) => [key.id, key.pinned_by, key.verifies, key.retired_at]),
			[['k1', null, false, null], ['k2', root.name, true, null]]);
		const none = await change(domain, 'unpin', { key_id: 'k2' });
		assert.deepEqual(await peer(domain), none);
		assert.deepEqual(none.keys.map((key) => [key.id, key.public, key.pinned_by, key.verifies]),
			[['k1', PUBLIC, null, true], ['k2', OTHER, null, true]]);
		assert.deepEqual((await deeds(domain)).slice(0, 2),
			[['peer-unpin', 'k2 (07070707)'], ['peer-unpin', 'k1 (d75a9801)']]);
		for (const key_id of ['k1', 'k3']) {
			const answer = await root.post(`/v1/admin/peers/${domain}/unpin`, { key_id });
			problem(answer, 409, 'conflict');
			assert.match(answer.body.detail, new RegExp(`^key "${key_id}" of "${domain}" is not pinned$`));
		}
		problem(await root.post(`/v1/admin/peers/${fresh()}/unpin`, { key_id: 'k1' }), 404, 'not_found');
	});
});

describe('another server', () => {
	it('is blocked before it is met, and unblocked', async () => {
		const domain = fresh();
		const blocked = await change(domain, 'block', { reason: 'they send spam' });
		time(blocked.blocked_at);
		assert.equal(blocked.blocked_by, root.name);
		assert.deepEqual(blocked.keys, []);
		assert.deepEqual(await peer(domain), blocked);
		const again = await change(domain, 'block');
		assert.equal(again.blocked_at, blocked.blocked_at);
		const { blocked_at, blocked_by } = await change(domain, 'unblock', {});
		assert.deepEqual([blocked_at, blocked_by], [null, null]);
		assert.deepEqual(await deeds(domain), [['peer-unblock', null], ['peer-block', null],
			['peer-block', 'they send spam']]);
	});

	it('is forgotten, with its pins', async () => {
		const domain = fresh();
		await change(domain, 'pin', { key_id: 'k1', public: PUBLIC });
		assert.deepEqual(await change(domain, 'forget'), { domain, first_seen_at: null, last_seen_at: null,
			epoch: null, blocked_at: null, blocked_by: null, live_keys: 0, pinned_keys: 0, keys: [] });
		problem(await root.get(`/v1/admin/peers/${domain}`), 404, 'not_found');
		problem(await root.post(`/v1/admin/peers/${domain}/forget`), 404, 'not_found');
		assert.deepEqual(await deeds(domain), [['peer-forget', null], ['peer-pin', 'k1 (d75a9801)']]);
	});

	it('stays blocked when it is forgotten', async () => {
		const domain = fresh();
		await change(domain, 'pin', { key_id: 'k1', public: PUBLIC });
		const { blocked_at } = await change(domain, 'block');
		const forgotten = await change(domain, 'forget', {});
		assert.equal(forgotten.blocked_at, blocked_at);
		assert.deepEqual(forgotten.keys, []);
		assert.deepEqual(await peer(domain), forgotten);
	});
});

describe('the list', () => {
	it('has pages, in the order in which servers became known', async () => {
		const domains = [fresh(), fresh(), fresh()];
		for (const domain of domains)
			await change(domain, 'pin', { key_id: 'k1', public: PUBLIC });
		await change(domains[1], 'block');
		for (const limit of [1, 2, 200]) {
			const all = (await root.all('peers', 'peers', limit)).filter((one) => domains.includes(one.domain));
			assert.deepEqual(all.map((one) => [one.domain, one.pinned_keys, one.blocked_by]),
				domains.map((domain, i) => [domain, 1, i === 1 ? root.name : null]));
		}
	});
});

describe('bad input is refused by name', () => {
	for (const query of ['after=x', 'after=-1', 'limit=0', 'limit=201', 'before=1', 'colour=red']) {
		it(`GET peers?${query}`, async () => {
			const answer = await root.get(`/v1/admin/peers?${query}`);
			problem(answer, 400, 'bad_request');
			assert.match(answer.body.detail, new RegExp(`"${query.replace(/=.*/, '')}"`));
		});
	}

	for (const name of ['local', '%2A', 'far', 'Far.Example', '127.0.0.1', 'far.example.', '-a.example',
		`${'x'.repeat(64)}.example`, 'a..example', 'b%C3%A4r.example', `${'a.'.repeat(126)}bc`]) {
		it(`${name.slice(0, 40)} is not the name of a server`, async () => {
			for (const [verb, json] of [['pin', { key_id: 'k1', public: PUBLIC }], ['block'], ['unblock'], ['forget']])
				problem(await root.post(`/v1/admin/peers/${name}/${verb}`, json), 404, 'not_found');
			problem(await root.get(`/v1/admin/peers/${name}`), 404, 'not_found');
		});
	}

	const key = { key_id: 'k1', public: PUBLIC };
	for (const [json, pointer] of [[{}, '/key_id'], [{ ...key, key_id: '' }, '/key_id'],
		[{ ...key, key_id: 'k 1' }, '/key_id'], [{ ...key, key_id: 'k'.repeat(65) }, '/key_id'],
		[{ key_id: 'k1' }, '/public'], [{ ...key, public: '' }, '/public'],
		[{ ...key, public: PUBLIC.slice(0, -1) }, '/public'], [{ ...key, public: ` ${PUBLIC}` }, '/public'],
		[{ ...key, public: Buffer.alloc(31).toString('base64') }, '/public'],
		[{ ...key, public: PUBLIC.replace('/', '_') }, '/public'],
		[{ ...key, public: PUBLIC.replace('o=', 'p=') }, '/public'],
		[{ ...key, address: 'http://x' }, '/address']]) {
		it(`pin ${JSON.stringify(json).slice(0, 60)}`, async () => {
			const domain = fresh();
			problem(await root.post(`/v1/admin/peers/${domain}/pin`, json), 400, 'bad_request', pointer);
			problem(await root.get(`/v1/admin/peers/${domain}`), 404, 'not_found');
		});
	}

	for (const [json, pointer] of [[{}, '/key_id'], [{ key_id: '' }, '/key_id'], [{ key_id: 'k 1' }, '/key_id'],
		[{ key_id: 'k'.repeat(65) }, '/key_id'], [key, '/public']]) {
		it(`unpin ${JSON.stringify(json).slice(0, 60)}`, async () => {
			problem(await root.post(`/v1/admin/peers/${fresh()}/unpin`, json), 400, 'bad_request', pointer);
		});
	}

	it('block and a reason that is too long', async () => {
		const domain = fresh();
		problem(await root.post(`/v1/admin/peers/${domain}/block`, { reason: 'x'.repeat(513) }), 400, 'bad_request',
			'/reason');
		expectStatus(await root.post(`/v1/admin/peers/${domain}/block`, { reason: 'x'.repeat(512) }), 200);
	});
});
