// SPDX-License-Identifier: MIT
//
// A client of the admin routes: an administrator who keeps all answers, so that
// a test can assert that none of them contains the text of a message.

import assert from 'node:assert/strict';

import { dataArgs } from './backend.mjs';
import { PASSWORD, User, eventually, expectStatus, freshName, login, run, uuid7 } from './harness.mjs';

/** Runs `twinboxd user …` beside ${server}.  Returns {code, text}. */
export async function userCommand(server, args, password = PASSWORD)
{
	const child = run(server.program, ['user', ...args, ...dataArgs(server.data)],
		{ stdio: ['pipe', 'pipe', 'pipe'] });

	child.stdin.on('error', () => {}); // some commands read no password
	child.stdin.end(`${password}\n`);
	const { code } = await child.exited;
	return { code, text: child.out + child.err };
}

/** An administrator.  ${said} is the text of all answers so far. */
export class Operator extends User {
	said = '';

	async request(method, target, options)
	{
		const answer = await super.request(method, target, options);

		this.said += `${method} ${target}\n${answer.text}\n`;
		return answer;
	}

	/** Makes a GET, which must be answered 200.  Returns the body. */
	async ask(target)
	{
		return expectStatus(await this.get(`/v1/admin/${target}`), 200).body;
	}

	/** Makes a change, which must be answered 200.  Returns the body. */
	async do(method, target, json)
	{
		return expectStatus(await this.request(method, `/v1/admin/${target}`, { json }), 200).body;
	}

	/**
	 * Returns all rows of a list, page by page.  Asserts that each page
	 * keeps to its limit, and that Link and `next` agree.
	 */
	async all(target, member, limit = 200)
	{
		const rows = [];
		const cursor = /^(lanes|users|destinations|peers)/.test(target) ? 'after' : 'before';
		const first = `/v1/admin/${target}${target.includes('?') ? '&' : '?'}limit=${limit}`;
		let next = first;

		for (let pages = 0; next; pages++) {
			assert.ok(pages < 1000, `${target} never ends`);
			const answer = expectStatus(await this.get(next), 200);
			assert.ok(answer.body[member].length <= limit, next);
			rows.push(...answer.body[member]);
			const link = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
			assert.equal(Boolean(link), answer.body.next !== null, next);
			if (link) {
				assert.equal(new URL(link, 'http://x').searchParams.get(cursor),
					String(answer.body.next), link);
			}
			next = link;
		}
		return rows;
	}

	/** Returns the destination ${name}. */
	async destination(name)
	{
		const found = (await this.all('destinations', 'destinations'))
			.find((one) => one.name === name);

		assert.ok(found, `no destination ${name}`);
		return found;
	}

	pause(name = 'local', reason = undefined)
	{
		return this.do('POST', `destinations/${name}/pause`, reason && { reason });
	}

	resume(name = 'local')
	{
		return this.do('POST', `destinations/${name}/resume`);
	}
}

/** Creates an administrator of ${server} and logs in. */
export async function operator(server, stem = 'root')
{
	const name = freshName(stem);
	const { code, text } = await userCommand(server, ['add', name, '--admin', '--password-stdin']);

	assert.equal(code, 0, text);
	const { token, device_name } = await login(server, name);
	return new Operator(server, name, token, device_name);
}

/**
 * Sends ${n} messages, in requests of up to 100.  Returns their ids in order.
 */
export async function sendMany(from, to, n, more = {})
{
	const ids = Array.from({ length: n }, () => uuid7());

	for (let i = 0; i < n; i += 100) {
		expectStatus(await from.post('/v1/messages', ids.slice(i, i + 100).map((id, k) => ({
			id, to, body: `text ${i + k}`, ...more }))), 200);
	}
	return ids;
}

/** Waits until the entry ${id} of ${user} is in state ${state}. */
export function until(user, id, state)
{
	return user.entryWhen(id, (e) => e.state === state, `is ${state}`);
}

/** Waits until the server counts ${n} open dead letters. */
export function untilDead(root, n)
{
	return eventually(async () => (await root.ask('stats')).dead_letters_open === n,
		`${n} open dead letters`, 30_000);
}
