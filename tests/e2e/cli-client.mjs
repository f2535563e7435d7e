// SPDX-License-Identifier: MIT
//
// The command line client for tests: each person has a home directory of their
// own, and methods to run commands.  A proxy between the client and the server
// keeps one address over restarts of the server; it can cut connections,
// swallow answers or hold them back.

import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { PASSWORD, freshName, run, tempDir } from './harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export const TWINBOX = path.resolve(
	process.env.TWINBOX ?? path.join(here, '../../build/twinbox'));

/** The exit codes of sysexits.h. */
export const EX = {
	OK: 0, USAGE: 64, DATAERR: 65, NOUSER: 67, UNAVAILABLE: 69, SOFTWARE: 70,
	CANTCREAT: 73, IOERR: 74, TEMPFAIL: 75, PROTOCOL: 76, NOPERM: 77, CONFIG: 78,
};

/**
 * The options of the sanitizers, for programs that do not inherit the
 * environment.
 */
export function sanitizers()
{
	return Object.fromEntries(
		['ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS']
			.filter((name) => process.env[name])
			.map((name) => [name, process.env[name]]));
}

/**
 * A person with a home directory and a server, who uses the twinbox command.
 */
export class Person {
	constructor(url, { name = freshName('p'), home } = {})
	{
		this.url = url;
		this.name = name;
		this.home = home ?? tempDir('twinbox-home-');
		this.env = {
			PATH: process.env.PATH, HOME: this.home, TZ: 'UTC',
			TWINBOX_SERVER: url,
			...sanitizers(),
		};
	}

	/**
	 * Starts a command.  `exited` is a promise of its end, `out` and `err`
	 * are its output.
	 */
	start(...args)
	{
		return run(TWINBOX, args.map(String), { env: this.env });
	}

	/** Runs a command.  Returns {code, out, err, lines}. */
	async try(args, { input, env = {} } = {})
	{
		const child = run(TWINBOX, args.map(String), {
			env: { ...this.env, ...env },
			stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
		});
		if (input !== undefined) {
			child.stdin.on('error', () => {});
			child.stdin.end(input);
		}
		const { code, signal } = await child.exited;
		return {
			code: code ?? signal, out: child.out, err: child.err,
			lines: child.out.split('\n').filter(Boolean),
		};
	}

	/** Runs a command that must succeed.  Returns the same as try(). */
	async run(...args)
	{
		const done = await this.try(args);
		if (done.code !== 0)
			throw new Error(`twinbox ${args.join(' ')}: ${done.code}\n${done.out}${done.err}`);
		return done;
	}

	/**
	 * Runs a command with --json, which must succeed.  Returns its output,
	 * parsed.
	 */
	async json(...args)
	{
		return JSON.parse((await this.run(...args, '--json')).out);
	}

	/**
	 * Runs a command that prints a list.  Returns the whole page (--page).
	 */
	async page(...args)
	{
		return this.json(...args, '--page');
	}

	/**
	 * Runs a command that prints a list.  Returns its rows; the output has
	 * one in each line.
	 */
	async rows(...args)
	{
		return (await this.run(...args, '--json')).lines.map((line) => JSON.parse(line));
	}

	/** Runs a command that reads a password from standard input. */
	async withPassword(args, password = PASSWORD)
	{
		return this.try([...args, '--password-stdin'], { input: `${password}\n` });
	}

	async register()
	{
		const done = await this.withPassword(['register', this.name]);
		if (done.code !== 0)
			throw new Error(`register: ${done.code} ${done.err}`);
		return this;
	}

	/** Returns the content of the stored profile. */
	profile(name = 'default')
	{
		return JSON.parse(fs.readFileSync(this.profilePath(name), 'utf8'));
	}

	profilePath(name = 'default')
	{
		return path.join(this.home, '.config/twinbox', `${name}.json`);
	}

	/** Returns the events of the inbox as --json prints them. */
	async events(after = 0)
	{
		return this.rows('inbox', '--after', after, '--limit', 200);
	}
}

/** Registers users, each with a home directory of their own. */
export async function people(url, ...names)
{
	return Promise.all(names.map((name) =>
		new Person(url, { name: freshName(name) }).register()));
}

/**
 * A TCP proxy in front of ${server}, whose address never changes.  It refuses
 * connections while `open` is false.  `swallow` = n passes the next n requests
 * to the server and cuts their connections before the answer.  `hold` keeps
 * back what the server sends.  `refused` is the number of connections that were
 * refused since down().
 */
export class Proxy {
	constructor(server)
	{
		this.server = server;
		this.open = true;
		this.swallow = 0;
		this.hold = false;
		this.refused = 0;
		this.sockets = new Set();
	}

	async listen()
	{
		this.listener = net.createServer((client) => this.connected(client));
		await new Promise((resolve) => {
			this.listener.listen(0, '127.0.0.1', resolve);
		});
		this.port = this.listener.address().port;
		this.url = `http://127.0.0.1:${this.port}`;
		return this;
	}

	connected(client)
	{
		client.on('error', () => {});
		if (!this.open || !this.server.url) {
			this.refused++;
			client.resetAndDestroy();
			return;
		}
		const { port } = new URL(this.server.url);
		const server = net.connect(Number(port), '127.0.0.1');
		for (const socket of [client, server]) {
			this.sockets.add(socket);
			socket.on('close', () => {
				this.sockets.delete(socket);
				client.destroy();
				server.destroy();
			});
		}
		server.on('error', () => {});
		client.pipe(server);
		server.on('data', (data) => {
			if (this.hold)
				return;
			if (this.swallow > 0) {
				this.swallow--;
				client.resetAndDestroy();
				return;
			}
			client.write(data);
		});
	}

	/** Cuts all connections. */
	cut()
	{
		for (const socket of [...this.sockets])
			socket.resetAndDestroy();
	}

	/** Refuses new connections from now on, and cuts the existing ones. */
	down()
	{
		this.open = false;
		this.refused = 0;
		this.cut();
	}

	up()
	{
		this.open = true;
	}

	async close()
	{
		this.cut();
		await new Promise((resolve) => {
			this.listener.close(resolve);
		});
	}
}
