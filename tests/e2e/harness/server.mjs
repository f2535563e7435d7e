// SPDX-License-Identifier: MIT
//
// The server under test.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { dataArgs } from '../backend.mjs';
import { START_TIMEOUT_MS, eventually, run, tempDir, within } from './process.mjs';
import { Rest, expectStatus } from './rest.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export const TWINBOXD = path.resolve(
	process.env.TWINBOXD ?? path.join(here, '../../../build/twinboxd'));

/**
 * A twinboxd and its data directory, over any number of starts.  `url` changes
 * with each start, because the system chooses the port.
 */
export class Server {
	/**
	 * Options: data (directory; default: a fresh one), args (further
	 * arguments), env (additional environment), wrapper (program and
	 * arguments in front, for example strace), program. unlimited: switches
	 * the rate limit off; the text says why users of this server must make
	 * more requests than the default --rate-limit admits.
	 */
	constructor({ data, args = [], env = {}, wrapper = [], program = TWINBOXD, unlimited } = {})
	{
		if (unlimited !== undefined && !/\w/.test(unlimited))
			throw new TypeError('unlimited: the reason is missing');
		this.unlimited = unlimited;
		this.data = data ?? path.join(tempDir(), 'data');
		this.args = args;
		this.env = env;
		this.wrapper = wrapper;
		this.program = program;
		this.log = '';
		this.starts = 0;
		this.child = null;
	}

	/*
	 * twinboxd refuses a flag that is given twice, so a flag in args
	 * replaces the default one.
	 */
	command()
	{
		const given = (name) => this.args.some((arg) => arg === name || arg.startsWith(`${name}=`));

		return [...this.wrapper, this.program, 'serve', ...(given('--demo') ? [] : ['--demo']),
			...dataArgs(this.data, this.args),
			...(given('--listen') ? [] : ['--listen', '127.0.0.1:0']),
			...this.limit(), ...this.args];
	}

	/**
	 * Returns the arguments about the rate limit: none for most servers.
	 */
	limit()
	{
		return this.unlimited === undefined ? [] : ['--rate-limit', 'off'];
	}

	/**
	 * LeakSanitizer stops the threads with ptrace, which fails under
	 * another tracer such as strace.
	 */
	sanitizer()
	{
		const options = process.env.ASAN_OPTIONS;

		return options === undefined || this.wrapper[0] !== 'strace' ? {} :
			{ ASAN_OPTIONS: `${options}:detect_leaks=0` };
	}

	get pid()
	{
		return this.child?.pid;
	}

	get running()
	{
		return this.child !== null;
	}

	/** Starts the process.  Does not wait until it listens. */
	spawn({ env = {} } = {})
	{
		if (this.child)
			throw new Error('the server is running');
		const [program, ...args] = this.command();
		const child = run(program, args, {
			server: true,
			env: { ...process.env, ...this.sanitizer(), ...this.env, ...env },
		});
		this.child = child;
		this.starts++;
		this.url = undefined;
		child.exited = child.exited.then((end) => {
			this.log += child.out + child.err;
			if (this.child === child)
				this.child = null;
			this.last = { ...end, out: child.out, err: child.err };
			return end;
		});
		return child;
	}

	/**
	 * Starts the process and waits until it ends by itself.  Returns {code,
	 * signal}.
	 */
	async startAndEnd(options = {})
	{
		const child = this.spawn(options);

		try {
			return await within(child.exited, options.timeout ?? START_TIMEOUT_MS,
				() => `${this.program} did not end by itself\n${child.out}${child.err}`);
		} catch (error) {
			child.kill('SIGKILL');
			await child.exited;
			throw error;
		}
	}

	/** Starts the process and waits until it prints where it listens. */
	async start(options = {})
	{
		const child = this.spawn(options);
		const listening = new Promise((resolve, reject) => {
			const look = () => {
				// The line is text, or JSON with --log-format
				// json.
				const found = /^listening: (http:\/\/\S+)$/m.exec(child.out) ??
					/^\{.*"event":"server\.listening",.*"url":"(http:[^"]+)".*\}$/m.exec(child.out);
				if (found)
					resolve(found[1]);
			};
			child.on('twinbox-output', look);
			child.exited.then(({ code, signal, error }) => reject(new Error(
				`${this.program} ended before it listened: ` +
				`${error?.message ?? `code ${code} signal ${signal}`}\n` +
				`${child.out}${child.err}`)));
			look();
		});
		try {
			this.url = await within(listening, options.timeout ?? START_TIMEOUT_MS,
				() => `no "listening:" line from ${this.program}\n${child.out}${child.err}`);
		} catch (error) {
			if (this.child === child) {
				child.kill('SIGKILL');
				await child.exited;
			}
			throw error;
		}
		return this;
	}

	/** Sends ${signal} and waits for the end.  Returns {code, signal}. */
	async stop(signal = 'SIGTERM', timeout = 15_000)
	{
		const child = this.child;

		if (!child)
			return this.last;
		child.kill(signal);
		try {
			return await within(child.exited, timeout,
				() => `the server did not end on ${signal}\n${child.err}`);
		} catch (error) {
			child.kill('SIGKILL');
			await child.exited;
			throw error;
		}
	}

	async kill()
	{
		return this.stop('SIGKILL');
	}

	async restart(signal = 'SIGTERM')
	{
		await this.stop(signal);
		return this.start();
	}

	/** Returns all output of the server so far, over all its starts. */
	output()
	{
		return this.log + (this.child ? this.child.out + this.child.err : '');
	}

	rest(token)
	{
		return new Rest(this, token);
	}

	/**
	 * Returns the value of ${name} in /metrics.  The name has its labels,
	 * but not the prefix.
	 */
	async metric(name)
	{
		const { text } = expectStatus(await this.rest().get('/metrics'), 200);
		const line = text.split('\n').find((one) => one.startsWith(`twinbox_${name} `));

		if (line === undefined)
			throw new Error(`no metric ${name}`);
		return Number(line.split(' ')[1]);
	}

	/** Waits until ${n} long-polls wait at the server. */
	async polled(n)
	{
		return eventually(async () => await this.metric('long_polls') === n,
			`${n} long-polls wait`);
	}
}

/** Starts a server.  See Server for the options. */
export async function startServer(options)
{
	return new Server(options).start();
}

/**
 * Starts one server before the tests of a file, and stops it after them; it
 * must end with code 0.  Shows its log if a test failed.  ${setup} is called
 * once the server listens (a second root hook would run at the same time as the
 * first).
 *
 * 	const server = serverForFile({ before, after, afterEach });
 */
export function serverForFile(hooks, setup, options)
{
	const server = new Server(options);
	let failed = false;

	hooks.before(async () => {
		await server.start();
		await setup?.();
	});
	hooks.afterEach?.((context) => {
		failed ||= context?.passed === false;
	});
	hooks.after(async () => {
		const end = await server.stop();
		if (failed)
			process.stderr.write(`---- log of the server ----\n${server.output()}\n`);
		if (end && end.code !== 0)
			throw new Error(`the server ended with ${JSON.stringify(end)}\n${server.output()}`);
	});
	return server;
}
