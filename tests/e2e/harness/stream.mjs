// SPDX-License-Identifier: MIT
//
// An inbox as Server-Sent Events, followed by curl.

import fs from 'node:fs';
import path from 'node:path';

import { checkAnswer, checkStreamEvent, expectAnswers } from '../contract.mjs';
import { eventually, removeDir, run, tempDir } from './process.mjs';

/**
 * A curl process that follows the inbox of ${user}, with `-N` and the user's
 * token.  Options: target (default: /v1/inbox), headers (an object), args
 * (further arguments of curl).
 */
export class Stream {
	constructor(user, { target = '/v1/inbox', headers = {}, args = [] } = {})
	{
		expectAnswers();
		this.user = user;
		this.target = target;
		this.dir = tempDir('twinbox-stream-');
		const lines = { authorization: `Bearer ${user.token}`, accept: 'text/event-stream', ...headers };
		this.curl = run('curl', ['-sSN', '-D', path.join(this.dir, 'head'), ...args,
			...Object.entries(lines).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
			`${user.server.url}${target}`]);
		this.curl.exited.then(() => {
			this.head();
			removeDir(this.dir);
		});
	}

	/**
	 * Returns status and headers as soon as curl has received them:
	 * {status, headers}.
	 */
	head()
	{
		const file = path.join(this.dir, 'head');
		if (this.answer || !fs.existsSync(file))
			return this.answer;
		const text = fs.readFileSync(file, 'latin1');
		const end = text.indexOf('\r\n\r\n');
		if (end < 0)
			return undefined;
		const [first, ...lines] = text.slice(0, end).split('\r\n');
		this.answer = {
			method: 'GET', target: this.target, status: Number(first.split(' ')[1]),
			headers: new Headers(lines.map((line) => {
				const at = line.indexOf(':');
				return [line.slice(0, at), line.slice(at + 1).trim()];
			})),
		};
		return this.answer;
	}

	/** Waits for the head of the answer, which must be that of a stream. */
	async begun()
	{
		const answer = await eventually(() => this.head(), () => `the head of a stream\n${this.curl.err}`);

		if (answer.status !== 200)
			throw new Error(`${answer.status}: ${this.curl.out}`);
		checkAnswer({ ...answer, text: '' }, this.user.server.url);
		return answer;
	}

	/**
	 * Returns all complete blocks so far: {id, event, data, retry,
	 * comment}.  They are parsed as a client of the standard parses them
	 * and checked against the contract; data is parsed JSON.
	 */
	get blocks()
	{
		return this.curl.out.split('\n\n').slice(0, -1).map((text) => {
			const block = {};

			for (const line of text.split('\n')) {
				const [, name, value] = /^([^:]*)(?:: ?(.*))?$/.exec(line);
				if (name === '')
					block.comment = value;
				else if (name in block || !['id', 'event', 'data', 'retry'].includes(name))
					throw new Error(`a block of a stream: ${text}`);
				else
					block[name] = name === 'data' ? JSON.parse(value) : value;
			}
			if (block.data)
				checkStreamEvent(block.event ?? 'message', block.data);
			return block;
		});
	}

	/** Returns the inbox events so far. */
	get events()
	{
		return this.blocks.filter((one) => one.data && !one.event).map(({ id, data }) => {
			if (id !== String(data.seq))
				throw new Error(`id ${id} of the event ${data.seq}`);
			return data;
		});
	}

	/** Waits for the first event of type ${name}.  Returns its data. */
	async named(name)
	{
		return (await eventually(() => this.blocks.find((one) => one.event === name),
			() => `event ${name} of a stream; there are ${this.curl.out}${this.curl.err}`)).data;
	}

	async welcome()
	{
		await this.begun();
		return this.named('welcome');
	}

	/** Waits until there are ${n} inbox events.  Returns the events. */
	async until(n)
	{
		await eventually(() => this.events.length >= n,
			() => `${n} events of a stream; there are ${this.curl.out}`);
		return this.events;
	}

	/**
	 * Waits for the end of curl, which the server has caused.  Returns
	 * {code, out, blocks}.
	 */
	async ended()
	{
		const { code } = await this.curl.exited;

		return { code, out: this.curl.out, blocks: this.blocks };
	}

	/** Ends curl. */
	async close(signal = 'SIGTERM')
	{
		this.curl.kill(signal);
		await this.curl.exited;
	}
}
