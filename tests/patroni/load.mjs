// SPDX-License-Identifier: MIT
//
// Three nodes on a Patroni cluster with users at work.  Two nodes find the
// leader by a URL that names all members, one by HAProxy.  The cost of an
// accident is the longest time in which no send was accepted.

import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';

import { eventually, expectStatus } from '../e2e/harness.mjs';
import { World } from '../postgres/world.mjs';
import { Patroni } from './patroni.mjs';

export class PatroniWorld extends World {
	constructor(t, seed)
	{
		super(t, seed);
		this.pauses = {};
		this.times = [];
		const accepted = this.history.accepted.bind(this.history);
		this.history.accepted = (...args) => {
			this.times.push(performance.now());
			accepted(...args);
		};
	}

	async start(env = {})
	{
		await this.begin(3, (i) => ({ env,
			...(i === 2 ? { url: this.cluster.proxied() } : {}) }), () => new Patroni().start());
		this.url = `${this.cluster.url()}&target_session_attrs=read-write`;
		this.epoch = await this.epochNow();
		await this.busy();
		return this;
	}

	/** Returns the epoch, on which all nodes must agree. */
	async epochNow()
	{
		const all = await Promise.all(this.nodes.map(async (node) => expectStatus(
			await node.rest(this.people[0].token).get('/v1'), 200).body.epoch));

		assert.equal(new Set(all).size, 1);
		return all[0];
	}

	/** Waits until many more sends were accepted. */
	async busy()
	{
		const upto = this.times.length + 100;

		await eventually(() => this.times.length > upto, 'load', 60_000);
	}

	/**
	 * Waits until each node has seen twice, at heartbeats that begin from
	 * now on, that its commits wait for a standby.  A node that has not
	 * seen this cannot confirm that the next leader lacks nothing, and
	 * makes another epoch (server/cluster/lineage.h).
	 */
	async proven()
	{
		const heartbeats = async () => (await this.cluster.sql('SELECT string_agg(beat_at::text, ' +
			"' ' ORDER BY node_id) FROM nodes WHERE left_at IS NULL")).split(' ').map(Number);
		const mode = () => this.cluster.sql("SELECT value FROM meta WHERE key = 'line'");
		let last = await heartbeats();

		for (let seen = 0; seen < 3; seen++)
			await eventually(async () => {
				const now = await heartbeats();
				if (now.length !== 3 || !now.every((at, i) => at > last[i]))
					return false;
				last = now;
				return true;
			}, 'heartbeats of three nodes', 60_000);
		assert.match(await mode(), / sync$/);
	}

	/**
	 * Runs one accident, after which everything must be as before: the
	 * cluster is complete, the epoch has not changed, and every node is the
	 * same process.
	 */
	async accident(name, happen)
	{
		await this.proven();
		const from = this.times.length - 1;

		await this.round(name, happen);
		await this.busy();
		await this.cluster.whole();
		const times = this.times.slice(from);
		this.pauses[name] = (Math.max(...times.slice(1).map((at, i) => at - times[i])) / 1000)
			.toFixed(1);
		assert.equal(await this.epochNow(), this.epoch, `${name}: the epoch stays\n${
			this.nodes.map((node) => node.output().match(/.* cluster\.(epoch|line) .*/g)
				?.join('\n') ?? '').join('\n')}`);
		assert.ok(this.nodes.every((node) => node.starts === 1));
	}

	/**
	 * Asserts that each node logs its outages once a minute, and not at
	 * each attempt.
	 */
	assertQuiet()
	{
		for (const node of this.nodes) {
			const said = node.output().match(/ store\.fail /g)?.length ?? 0;
			assert.ok(said <= 2 * this.rounds + 3, `${said} lines`);
		}
	}

	async finish()
	{
		this.t.diagnostic(`longest time without an accepted send, in s: ${
			JSON.stringify(this.pauses)}`);
		await this.verdict();
		this.assertQuiet();
	}
}
