// SPDX-License-Identifier: MIT
//
// A network of its own for a test file: two machines, a.example and b.example,
// each with an address, port 443, a name service, certificate authorities that
// the system trusts, and a cable between them that can be broken.
//
//	const skip = await enterNetwork();
//	describe('…', { skip }, () => { … s = await startSites({ authority: new Authority('…') }); … });
//
// enterNetwork() runs the file again in its own namespaces, which end with it,
// so nothing on the real machine is changed. a.example is the namespace of the
// test itself, and b.example is another one.  Besides the cable (10.77.0.0/24)
// there is a second one between the test and b.example (10.78.0.0/24), which no
// fault affects.  Clients use it by a port of loopback, so that each client has
// its own address there.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

import { dataArgs } from '../e2e/backend.mjs';
import { assertSound } from '../e2e/fsck.mjs';
import { TWINBOXD, WAIT_MS, eventually, expectStatus, removeDir, run, tempDir, uuid7, within } from '../e2e/harness.mjs';
import { Side, surely } from '../e2e/pair.mjs';
import { configs } from './proxy.mjs';

const INSIDE = 'TWINBOX_INSIDE_NETWORK';
const AS_ROOT = process.getuid() === 0 ? [] : ['--user', '--map-root-user'];
const PORT = 8080;
const B_PORT = 8082; // on loopback

// ---- the two machines ------------------------------------------------------

class Machine {
	constructor(domain, device, address, own)
	{
		this.domain = domain;
		this.device = device;   // its end of the cable
		this.address = address; // its address for the other machine
		this.own = own;         // its address for clients
		this.wrapper = [];
	}

	/** Runs a program on the machine to its end.  Returns its output. */
	do(...words)
	{
		const [program, ...args] = [...this.wrapper, ...words];

		return execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' });
	}
}

export const A = new Machine('a.example', 'cable0', '10.77.0.1', '127.0.0.1');
export const B = new Machine('b.example', 'cable1', '10.77.0.2', '10.78.0.2');

let hosts;       // the file that replaces /etc/hosts
let authorities; // the folder that replaces /etc/ssl/certs

/** Sets the addresses of the two names. */
export function nameService(addresses = {})
{
	fs.writeFileSync(hosts, ['127.0.0.1 localhost', ...[A, B].map(({ domain, address }) =>
		`${addresses[domain] ?? address} ${domain}`)].map((line) => `${line}\n`).join(''));
}

/**
 * Sets what the system of both machines trusts from now on: ${authority}, or
 * none.
 */
export function systemTrusts(authority)
{
	for (const name of fs.readdirSync(authorities))
		fs.rmSync(path.join(authorities, name));
	fs.writeFileSync(path.join(authorities, 'ca-certificates.crt'),
		authority ? fs.readFileSync(authority.ca) : '');
	if (authority) {
		fs.copyFileSync(authority.ca, path.join(authorities, 'private.pem'));
		execFileSync('openssl', ['rehash', authorities], { stdio: 'pipe' });
	}
}

async function build()
{
	const dir = tempDir('twinbox-network-');
	const holder = run('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], { stdio: ['pipe', 'pipe', 'pipe'] });

	hosts = path.join(dir, 'hosts');
	authorities = path.join(dir, 'certs');
	fs.mkdirSync(authorities);
	nameService();
	systemTrusts();
	A.do('mount', '--bind', hosts, '/etc/hosts');
	A.do('mount', '--bind', authorities, '/etc/ssl/certs');
	await eventually(() => holder.out.includes('ready'), 'the other machine');
	B.wrapper = ['nsenter', `--net=/proc/${holder.pid}/ns/net`, '--'];
	for (const [one, other] of [[A.device, B.device], ['client0', 'client1']])
		A.do('ip', 'link', 'add', one, 'type', 'veth', 'peer', 'name', other, 'netns', String(holder.pid));
	for (const [machine, client, own] of [[A, 'client0', '10.78.0.1'], [B, 'client1', B.own]]) {
		for (const [device, address] of [[machine.device, machine.address], [client, own]]) {
			machine.do('ip', 'address', 'add', `${address}/24`, 'dev', device);
			machine.do('ip', 'link', 'set', device, 'up');
		}
		machine.do('ip', 'link', 'set', 'lo', 'up');
	}
	await forward();
}

/** Lets clients reach the server of b.example at a port of loopback. */
async function forward()
{
	const listener = net.createServer((client) => {
		const server = net.connect(PORT, B.own);

		for (const [one, other] of [[client, server], [server, client]]) {
			one.pipe(other);
			one.on('error', () => {});
			one.on('close', () => other.destroy());
		}
	});
	listener.listen(B_PORT, '127.0.0.1');
	await once(listener, 'listening');
	listener.unref();
}

function obstacle()
{
	for (const program of ['unshare', 'nsenter', 'setpriv', 'ip', 'openssl', 'nginx', 'caddy']) {
		if (spawnSync(program, ['--version']).error)
			return `${program} is missing`;
	}
	const tried = spawnSync('unshare', [...AS_ROOT, '--net', '--mount', 'sh', '-c',
		'mount --bind /etc/hosts /etc/hosts && ip link add one type veth peer name other'], { encoding: 'utf8' });
	return tried.status === 0 ? false : `no network namespace may be made here: ${tried.stderr.trim()}`;
}

/**
 * Returns false if the test runs in its network, or else the reason why there
 * cannot be one.
 */
export async function enterNetwork()
{
	if (process.env[INSIDE] !== undefined) {
		await build();
		return false;
	}
	process.env.PATH += ':/usr/sbin:/sbin';
	const why = obstacle();
	if (why)
		return why;
	const child = spawn('unshare', [...AS_ROOT, '--net', '--mount', 'setpriv', '--pdeathsig', 'SIGKILL',
		process.execPath, ...process.execArgv, ...process.argv.slice(1)],
	{ stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
	const [code] = await once(child, 'exit');
	return process.exit(code ?? 1);
}

// ---- authorities -----------------------------------------------------------

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export class Authority {
	constructor(name)
	{
		this.dir = tempDir('twinbox-ca-');
		this.ca = path.join(this.dir, 'ca.pem');
		this.openssl('req', '-x509', ...KEY, '-days', '2', '-subj', `/CN=${name}`, '-keyout', 'ca.key', '-out', 'ca.pem');
	}

	openssl(...args)
	{
		execFileSync('openssl', args, { cwd: this.dir, stdio: 'pipe' });
	}

	/**
	 * Makes a certificate for ${domain}: {cert, key}.  With ${days} -1 it
	 * has expired.
	 */
	certify(domain, { days = 2 } = {})
	{
		const name = `${domain}${days}`;

		fs.writeFileSync(path.join(this.dir, 'ext'), `subjectAltName=DNS:${domain}\nbasicConstraints=CA:FALSE\n`);
		this.openssl('req', ...KEY, '-subj', `/CN=${domain}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
		this.openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial',
			'-days', String(days), '-extfile', 'ext', '-out', `${name}.pem`);
		return { cert: path.join(this.dir, `${name}.pem`), key: path.join(this.dir, `${name}.key`) };
	}
}

// ---- servers and their proxies ---------------------------------------------

/** A proxy at port 443 of ${machine}, made from the sample for ${kind}. */
export class Gate {
	constructor(machine, kind, certificate, { edit = [], env = {} } = {})
	{
		Object.assign(this, { machine, kind, certificate, edit, more: env });
	}

	async start()
	{
		const { machine, kind, certificate, edit } = this;
		this.dir = tempDir(`twinbox-${kind}-`);
		const [program, args, env] = configs[kind](this.dir, { name: machine.domain, host: machine.address, port: 443,
			plain: 80, behind: machine.own, upstream: PORT, certificate, edit });
		const [first, ...words] = [...machine.wrapper, program, ...args];
		this.child = run(first, words, { env: { ...process.env, ...env, ...this.more } });
		await eventually(() => {
			if (this.child.exitCode !== null)
				throw Object.assign(new Error(this.child.err), { final: true });
			return connects(machine.address, 443);
		}, `${kind} listens`);
		return this;
	}

	async stop()
	{
		if (!this.child)
			return;
		this.child.kill('SIGTERM');
		await this.ended();
	}

	/** Kills all of its processes at once. */
	async die()
	{
		const { pid } = this.child;
		const workers = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);

		for (const one of [pid, ...workers])
			process.kill(Number(one), 'SIGKILL');
		await this.ended();
	}

	async ended()
	{
		await within(this.child.exited, WAIT_MS, `the end of ${this.kind}`);
		this.child = null;
		removeDir(this.dir);
	}

	/** Restarts the proxy with another certificate or other options. */
	async become(certificate, options)
	{
		await this.stop();
		Object.assign(this, new Gate(this.machine, this.kind, certificate, options));
		return this.start();
	}
}

const connects = (host, port) => new Promise((resolve) => {
	const probe = net.connect(port, host, () => {
		probe.destroy();
		resolve(true);
	});
	probe.on('error', () => resolve(false));
});

/** A server behind the proxy of its machine. */
class Site extends Side {
	constructor(machine, { args = [], ...options } = {})
	{
		super({ domain: machine.domain, port: PORT, url: `https://${machine.domain}`, wrapper: machine.wrapper,
			args: ['--federation-networks', '10.77.0.0/24', ...args], ...options });
		this.machine = machine;
	}

	command()
	{
		return [...this.wrapper, this.program, 'serve', '--registration', 'open', '--behind-proxy', this.machine.own,
			'--data', this.data, '--listen', `${this.machine.own}:${PORT}`, ...this.limit(),
			'--log-level', 'debug', ...this.args];
	}

	async start(options)
	{
		await super.start(options);
		if (this.machine === B)
			this.url = `http://127.0.0.1:${B_PORT}`;
		return this;
	}

	/**
	 * Runs `twinboxd check-federation ${domain}` on this machine.  Returns
	 * {code, text}; in the text there is one space between words.
	 */
	async check(domain, { env = {} } = {})
	{
		const [program, ...args] = [...this.wrapper, this.program, 'check-federation', domain,
			...dataArgs(this.data, this.args), '--behind-proxy', this.machine.own, ...this.args];
		const child = run(program, args, { env: { ...process.env, ...env } });
		const { code } = await child.exited;

		return { code, text: (child.out + child.err).replace(/\s+/g, ' ') };
	}
}

/**
 * Starts both servers and their proxies; stop() ends them.  Options: authority,
 * which signs the certificates of both proxies; a, b: {kind: of the proxy;
 * further options of Side}.
 */
export async function startSites({ authority, a = {}, b = {}, args = [], env = {} })
{
	const it = { authority, gates: {} };

	for (const [name, machine, { kind = 'nginx', ...options }] of [['a', A, a], ['b', B, b]]) {
		it[name] = new Site(machine, { ...options, args: [...args, ...options.args ?? []],
			env: { ...env, ...options.env } });
		await it[name].start();
		it.gates[name] = await new Gate(machine, kind, authority.certify(machine.domain)).start();
	}
	it.sound = () => sound(it);
	it.stop = () => stop(it);
	return it;
}

/** Stops both servers and proxies.  All must end well. */
async function stop({ a, b, gates })
{
	const ends = await Promise.allSettled([...Object.values(gates).map((gate) => gate.stop()),
		...[a, b].map(async (site) => {
			if (!site?.running)
				return;
			const { code } = await site.stop();
			assert.equal(code, 0, site.output().slice(-5000));
		})]);

	for (const end of ends) {
		if (end.status === 'rejected')
			throw end.reason;
	}
}

/** Asserts that fsck finds nothing on either server, or between the two. */
async function sound({ a, b })
{
	for (const [one, other] of [[a, b], [b, a]]) {
		await assertSound(one);
		const child = run(TWINBOXD, ['fsck', ...dataArgs(one.data), '--domain', one.domain,
			'--with-peer', path.join(other.data, 'twinbox.db'), '--peer-domain', other.domain]);
		const { code } = await child.exited;
		assert.equal(code, 0, child.out + child.err);
	}
}

/**
 * Sends ${n} messages with ${body} one by one, even if the server of ${from}
 * goes down meanwhile.  Returns their ids.
 */
export async function sendThrough(from, to, n, body = 'through')
{
	const ids = [];

	for (let i = 0; i < n; i++) {
		const message = { id: uuid7(), to, body };
		expectStatus(await surely(() => from.post('/v1/messages', message)), 200, 201);
		ids.push(message.id);
	}
	return ids;
}

// ---- faults of the cable ---------------------------------------------------

/** The addresses at which relays listen, one in front of each machine. */
const RELAYED = { [A.domain]: '10.77.0.4', [B.domain]: '10.77.0.3' };
const NOBODY = '02:00:00:00:00:fe'; // a link address that no machine has

const addressesOf = (machine) => (machine === A ? [A.address, ...Object.values(RELAYED)] : [B.address]);
const otherOf = (machine) => (machine === A ? B : A);

/**
 * From now on nothing that ${machine} sends arrives, and no error is reported.
 */
export function mute(machine)
{
	for (const address of addressesOf(otherOf(machine)))
		machine.do('ip', 'neighbour', 'replace', address, 'lladdr', NOBODY, 'dev', machine.device, 'nud', 'permanent');
}

/** Ends mute(). */
export function unmute(machine)
{
	for (const address of addressesOf(otherOf(machine)))
		machine.do('ip', 'neighbour', 'delete', address, 'dev', machine.device);
}

/** The reason why packets cannot be dropped at random here, or false. */
export const noLoss = spawnSync('nft', ['--version']).error ? 'nft is missing' : false;

/**
 * Drops ${percent} of 100 packets of each machine.  Returns a function that
 * ends this and returns the number of dropped packets.
 */
export function lossy(percent)
{
	for (const machine of [A, B]) {
		machine.do('nft', `add table inet cable; add chain inet cable out { type filter hook output priority 0; }; ` +
			`add rule inet cable out oifname ${machine.device} numgen random mod 100 < ${percent} counter drop`);
	}
	return () => [A, B].map((machine) => {
		const [, lost] = /counter packets (\d+)/.exec(machine.do('nft', 'list', 'table', 'inet', 'cable'));
		machine.do('nft', 'delete', 'table', 'inet', 'cable');
		return Number(lost);
	});
}

/**
 * A relay in front of port 443 of ${machine}, to which the name service points.
 * Bytes arrive delay_ms later. cut() makes it reset connections.
 */
export class Relay {
	constructor(machine)
	{
		this.machine = machine;
		this.address = RELAYED[machine.domain];
		this.delay_ms = 0;
		this.cuts = [];
		this.done = 0; // number of cuts so far
	}

	async listen()
	{
		A.do('ip', 'address', 'add', `${this.address}/24`, 'dev', A.device);
		this.listener = net.createServer({ noDelay: true }, (client) => this.join(client));
		this.listener.listen(443, this.address);
		await once(this.listener, 'listening');
		return this;
	}

	/**
	 * Resets the next connection whose client sends more than ${request}
	 * bytes from now on: at that point, or after ${answer} bytes of the
	 * answer.
	 */
	cut(request, answer)
	{
		this.cuts.push({ request, answer });
	}

	join(client)
	{
		const server = net.connect({ host: this.machine.address, port: 443, noDelay: true });
		const pair = { client, server, cut: undefined, said: 0 };

		this.pass(pair, client, server);
		this.pass(pair, server, client);
	}

	pass(pair, from, to)
	{
		const later = (act) => (this.delay_ms === 0 ? act() : setTimeout(act, this.delay_ms));

		from.on('error', () => {});
		from.on('data', (piece) => {
			const left = this.left(pair, from, piece.length);
			later(() => to.writable && to.write(piece.subarray(0, left)));
			if (left >= piece.length)
				return;
			this.done++;
			// The other side must first receive what was passed on.
			later(() => setTimeout(() => {
				pair.client.resetAndDestroy();
				pair.server.resetAndDestroy();
			}, 20));
		});
		from.on('close', () => later(() => to.destroy()));
	}

	/**
	 * Returns how many of the next ${n} bytes from ${from} may still pass.
	 */
	left(pair, from, n)
	{
		const [next] = this.cuts;

		if (from === pair.client) {
			if (pair.cut !== next)
				Object.assign(pair, { cut: next, said: 0, answered: 0 });
			pair.said += n;
		} else {
			pair.answered += n;
		}
		if (!next || pair.cut !== next || pair.said <= next.request)
			return n;
		if (next.answer === undefined) {
			this.cuts.shift();
			return n - (pair.said - next.request);
		}
		if (from === pair.client)
			pair.answered = 0;
		if (pair.answered <= next.answer)
			return n;
		this.cuts.shift();
		return Math.max(0, n - (pair.answered - next.answer));
	}
}

/**
 * Starts relays in front of both machines.  From now on the names point to
 * them.
 */
export async function startRelays()
{
	const [a, b] = [await new Relay(A).listen(), await new Relay(B).listen()];

	nameService(RELAYED);
	return { a, b };
}

// ---- a clock that is wrong ---------------------------------------------------

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

/** The reason why there cannot be a wrong clock here, or false. */
export const noClock = process.env.TWINBOXD_FAULTS === undefined ? 'needs --enable-faults' :
	!fs.existsSync(FAKETIME) ? 'libfaketime is missing' : false;

/**
 * Returns the environment of a server and of a proxy whose clocks are
 * ${seconds} ahead.
 */
export const wrongClock = (seconds) => ({
	server: { TWINBOX_CLOCK_OFFSET: String(seconds) },
	proxy: { LD_PRELOAD: FAKETIME, FAKETIME: `${seconds > 0 ? '+' : ''}${seconds}`, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
});
