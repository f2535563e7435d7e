// SPDX-License-Identifier: MIT
//
// Other servers that behave as a test wants: a twinboxd with the fault carrier,
// the files that control its destinations, and what these have received
// (server/relay/carrier_fault.h).

import fs from 'node:fs';
import path from 'node:path';

import { eventually, startServer, tempDir, TWINBOXD } from '../e2e/harness.mjs';

export const program = process.env.TWINBOXD_FAULTS && path.resolve(process.env.TWINBOXD_FAULTS);
export const skip = program || process.env.TWINBOX_FAULTS_REQUIRED ? false :
	'TWINBOXD_FAULTS names no build with --enable-faults';

/** Starts a server of the fault build, which is stopped after ${t}. */
export async function faultServer(t, options = {})
{
	const server = await startServer({ program: program ?? TWINBOXD, ...options });

	t.after(() => server.running && server.stop());
	return server;
}

/**
 * For nodes of the fault build that must share the same other servers: returns
 * a function that returns the options of each node.
 */
export function sameDestinations()
{
	const outside = path.join(tempDir(), 'fault');

	fs.mkdirSync(outside);
	return () => {
		const data = path.join(tempDir(), 'data');

		fs.mkdirSync(data, { mode: 0o700 });
		fs.symlinkSync(outside, path.join(data, 'fault'));
		return { data, program: program ?? TWINBOXD };
	};
}

/** A destination of ${server}: its behaviour and what it has received. */
export class Peer {
	constructor(server, name)
	{
		this.server = server;
		this.name = `${name}.fault.test`;
		this.file = path.join(server.data, 'fault', this.name);
	}

	/**
	 * Sets the behaviour to ${wishes}, for example { down: 1, latency: 20
	 * }.
	 */
	does(wishes)
	{
		const text = Object.entries(wishes).map(([word, n]) => `${word} ${n}\n`).join('');

		fs.writeFileSync(`${this.file}.new`, text);
		fs.renameSync(`${this.file}.new`, this.file);
	}

	/** Returns what it has received, in order. */
	has()
	{
		let text = '';

		try {
			text = fs.readFileSync(`${this.file}.log`, 'utf8');
		} catch (e) {
			if (e.code !== 'ENOENT')
				throw e;
		}
		// Complete lines only: the last one may not be written
		// completely.
		return text.split('\n').slice(0, -1).map((line) => {
			const [id, to, from, place, attempt] = line.split(' ');
			return { id, to, from, place: Number(place), attempt: Number(attempt) };
		});
	}

	/** Waits until it has received ${n} messages.  Returns them. */
	async gets(n)
	{
		return eventually(() => {
			const list = this.has();
			return list.length >= n && list;
		}, `${this.name} has ${n} messages`, 30_000);
	}
}

/**
 * Waits until ${good} returns true for the entry ${id} of ${user}.  Returns the
 * entry.
 */
export async function entryWhen(user, id, good, what)
{
	return eventually(async () => {
		const answer = await user.get(`/v1/outbox/${id}`);
		return good(answer.body) && answer.body;
	}, what, 30_000);
}
