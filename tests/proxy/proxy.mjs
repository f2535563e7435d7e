// SPDX-License-Identifier: MIT
//
// twinboxd behind nginx and Caddy, as contrib/ describes it, for the tests in
// this folder.  The samples run unchanged, except for the places that their own
// comments name (ports, certificate, upstream) and the changes that a test
// lists.  A place that is not found is a failure.  The certificates come from a
// private authority made for this run.  The services of the system are not
// touched: everything is in a temporary directory.
//
// Clients differ by their source address: 127.0.0.1 is the trusted proxy, any
// other 127.x.y.z is a client.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';

import {
	Rest, Server, WAIT_MS, eventually, removeDir, run, sleep, tempDir, within,
} from '../e2e/harness.mjs';
import { freePort } from '../e2e/harness/port.mjs';

const contrib = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../contrib');

/** The source address of clients that do not choose one. */
export const SOMEBODY = '127.0.0.2';

// ---- the private authority -------------------------------------------------

let authority;

/**
 * Returns paths: {ca, cert, key, other: {cert, key}}.  The certificate is for
 * localhost, the other one for another name.
 */
export function certificates()
{
	if (authority)
		return authority;
	const dir = tempDir('twinbox-ca-');
	const at = (name) => path.join(dir, name);
	const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });

	fs.writeFileSync(at('leaf.ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' +
		'basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n');
	fs.writeFileSync(at('other.ext'), 'subjectAltName=DNS:other.example\n');
	const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
	openssl('req', '-x509', ...curve, '-days', '2', '-subj', '/CN=twinbox test authority',
		'-keyout', at('ca.key'), '-out', at('ca.pem'));
	for (const leaf of ['leaf', 'other']) {
		openssl('req', ...curve, '-subj', `/CN=${leaf}`,
			'-keyout', at(`${leaf}.key`), '-out', at(`${leaf}.csr`));
		openssl('x509', '-req', '-in', at(`${leaf}.csr`), '-CA', at('ca.pem'),
			'-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2',
			'-extfile', at(`${leaf}.ext`), '-out', at(`${leaf}.pem`));
	}
	authority = {
		ca: at('ca.pem'), cert: at('leaf.pem'), key: at('leaf.key'),
		other: { cert: at('other.pem'), key: at('other.key') },
	};
	return authority;
}

// ---- the proxies -----------------------------------------------------------

/** Replaces each place in ${text}.  All of them must be there. */
function fill(text, places)
{
	for (const [place, value, count = 1] of places) {
		const pieces = text.split(place);
		assert.equal(pieces.length - 1, count, `"${place}" in the sample`);
		text = pieces.join(value);
	}
	return text;
}

/**
 * Returns the nginx sample inside the smallest configuration that nginx
 * accepts.
 */
function nginxConfig(dir, { port, plain, upstream, edit, name = 'localhost', host = '127.0.0.1',
	behind = '127.0.0.1', certificate = certificates() })
{
	const { cert, key } = certificate;
	const sample = fill(
		fs.readFileSync(path.join(contrib, 'nginx/twinbox.conf'), 'utf8'), [
			['\tlisten 80;', `\tlisten ${host}:${plain};`],
			['\tlisten [::]:80;', ''],
			['\tlisten 443 ssl http2;', `\tlisten ${host}:${port} ssl http2;`],
			['\tlisten [::]:443 ssl http2;', ''],
			['server_name chat.example;', `server_name ${name};`, 2],
			['https://chat.example$', `https://${name}:${port}$`],
			['/etc/ssl/twinbox.pem', cert],
			['/etc/ssl/twinbox.key', key],
			['server 127.0.0.1:8080;', `server ${behind}:${upstream};`, 2],
			...edit,
		]);

	for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'])
		fs.mkdirSync(path.join(dir, name));
	fs.writeFileSync(path.join(dir, 'twinbox.conf'), sample);
	fs.writeFileSync(path.join(dir, 'nginx.conf'), `daemon off;
${process.getuid() === 0 ? 'user root;' : ''}
worker_processes 2;
pid ${dir}/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
	access_log ${dir}/access.log;
	client_body_temp_path ${dir}/body;
	proxy_temp_path ${dir}/proxy;
	fastcgi_temp_path ${dir}/fastcgi;
	uwsgi_temp_path ${dir}/uwsgi;
	scgi_temp_path ${dir}/scgi;
	include ${dir}/twinbox.conf;
}
`);
	return ['nginx', ['-e', 'stderr', '-p', dir, '-c', path.join(dir, 'nginx.conf')], {}];
}

/** Returns the Caddy sample, filled in by its own variables. */
function caddyConfig(dir, { port, plain, upstream, edit, name = 'localhost', behind = '127.0.0.1',
	certificate = certificates() })
{
	const { cert, key } = certificate;
	const file = path.join(dir, 'Caddyfile');

	fs.writeFileSync(file,
		fill(fs.readFileSync(path.join(contrib, 'caddy/Caddyfile'), 'utf8'), edit));
	return ['caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
		HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir,
		TWINBOX_CADDY_ADMIN: 'off',
		TWINBOX_SITE: name,
		TWINBOX_HTTP_PORT: String(plain),
		TWINBOX_HTTPS_PORT: String(port),
		TWINBOX_UPSTREAM: `${behind}:${upstream}`,
		TWINBOX_TLS: `tls ${cert} ${key}`,
	}];
}

/**
 * For each proxy, a function that returns what runs it: [program, arguments,
 * environment].  Its arguments are a folder, the address (host, port), the name
 * and its certificate, and the upstream.
 */
export const configs = { nginx: nginxConfig, caddy: caddyConfig };
export const PROXIES = Object.keys(configs);

/** Edits that send WebSockets over the kept-alive connections for REST. */
export const SHARED = {
	nginx: [['proxy_pass http://twinbox_ws;', 'proxy_pass http://twinbox_rest;']],
	caddy: [['reverse_proxy /v1/ws ', 'reverse_proxy /v1/* '],
		['keepalive off', 'keepalive 50s']],
};

/** A running proxy in front of the port ${upstream}. */
export class Proxy {
	constructor(kind, upstream, edit = [])
	{
		this.kind = kind;
		this.upstream = upstream;
		this.edit = edit;
		this.ca = fs.readFileSync(certificates().ca);
	}

	async start()
	{
		this.dir = tempDir(`twinbox-${this.kind}-`);
		this.port = await freePort();
		this.plain = await freePort();
		const [program, args, env] = configs[this.kind](this.dir, this);
		this.child = run(program, args, { env: { ...process.env, ...env } });
		this.url = `https://localhost:${this.port}`;
		const ended = this.child.exited.then((end) => {
			throw Object.assign(new Error(
				`${program} ended: ${JSON.stringify(end)}\n${this.child.err}`), { final: true });
		});
		ended.catch(() => {});
		await Promise.race([ended, eventually(() => new Promise((resolve) => {
			const probe = tls.connect({ port: this.port, host: '127.0.0.1',
				servername: 'localhost', ca: this.ca }, () => {
				probe.destroy();
				resolve(true);
			});
			probe.on('error', () => resolve(false));
		}), `${program} listens`)]).catch((error) => {
			error.message += `\n${this.child.err}`;
			throw error;
		});
		return this;
	}

	async stop()
	{
		if (!this.child)
			return;
		this.child.kill('SIGTERM');
		await within(this.child.exited, WAIT_MS, `the end of ${this.kind}`)
			.catch(() => this.child.kill('SIGKILL'));
		this.child = null;
		removeDir(this.dir);
	}
}

// ---- the server behind -----------------------------------------------------

/**
 * A twinboxd that trusts 127.0.0.1 as its proxy and keeps its port over
 * restarts.
 */
export class Behind extends Server {
	command()
	{
		return [this.program, 'serve', '--registration', 'open',
			'--behind-proxy', '127.0.0.1', '--data', this.data,
			'--listen', `127.0.0.1:${this.port}`, ...this.limit(),
			'--log-level', 'debug', ...this.args];
	}

	async start(options)
	{
		this.port ??= await freePort();
		return super.start(options);
	}
}

/** Converts headers of node to the type that the harness uses. */
const headersOf = (raw) => new Headers(Object.entries(raw).flatMap(([name, value]) =>
	(name.startsWith(':') ? [] : [[name, String(value)]])));

/**
 * The target of requests in tests: the URL of the proxy, with the clients of
 * the harness.  `address` is the source address of the requests; `agent` keeps
 * connections open.
 */
export class Site {
	constructor(proxy, { address = SOMEBODY, maxSockets = 8 } = {})
	{
		this.proxy = proxy;
		this.url = proxy.url;
		this.tls = { ca: proxy.ca, localAddress: address, family: 4 };
		this.agent = new https.Agent({ ...this.tls, keepAlive: true, maxSockets });
		this.fetch = (url, options) => this.request(url, options);
	}

	rest(token)
	{
		return new Rest(this, token);
	}

	/** Works like fetch(), over HTTP/1.1 and with this site's agent. */
	request(url, { method = 'GET', headers, body, signal } = {})
	{
		return within(new Promise((resolve, reject) => {
			const request = https.request(url, {
				method, agent: this.agent, signal,
				headers: {
					...Object.fromEntries(new Headers(headers)),
					...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
				},
			}, (response) => {
				const pieces = [];
				response.on('data', (piece) => pieces.push(piece));
				response.on('error', reject);
				response.on('end', () => resolve(answerOf(
					response.statusCode, headersOf(response.headers),
					Buffer.concat(pieces).toString())));
			});
			request.on('error', reject);
			request.end(body);
		}), 70_000, `${method} ${url}`);
	}

	close()
	{
		this.agent.destroy();
	}
}

function answerOf(status, headers, text)
{
	return {
		status, headers, foreign: !headers.has('x-request-id'),
		text: async () => text,
	};
}

/** The same over one connection of HTTP/2. */
export class Site2 extends Site {
	async open()
	{
		const { ca, localAddress } = this.tls;

		this.client = http2.connect(this.url, { ca, createConnection: (url) => tls.connect({
			host: '127.0.0.1', port: url.port, servername: 'localhost', ca, localAddress,
			ALPNProtocols: ['h2'],
		}) });
		await within(new Promise((resolve, reject) => {
			this.client.on('connect', resolve);
			this.client.on('error', reject);
		}), WAIT_MS, 'HTTP/2');
		assert.equal(this.client.alpnProtocol, 'h2');
		return this;
	}

	/**
	 * Sends any pseudo-headers unchanged.  Returns {status, headers, text}
	 * or {error}.
	 */
	raw(headers, body)
	{
		return within(new Promise((resolve) => {
			const stream = this.client.request(headers, { endStream: body === undefined });
			const pieces = [];
			let answer;
			stream.on('response', (got) => {
				answer = { status: got[':status'], headers: headersOf(got) };
			});
			stream.on('data', (piece) => pieces.push(piece));
			stream.on('error', (error) => resolve({ error }));
			stream.on('close', () => resolve(answer ?
				{ ...answer, body: Buffer.concat(pieces).toString() } :
				{ error: new Error('closed') }));
			if (body !== undefined)
				stream.end(body);
		}), 70_000, 'an answer by HTTP/2');
	}

	async request(url, { method = 'GET', headers, body } = {})
	{
		const answer = await this.raw({
			':method': method, ':path': url.pathname + url.search,
			...Object.fromEntries(new Headers(headers)),
		}, body);

		if (answer.error)
			throw answer.error;
		return answerOf(answer.status, answer.headers, answer.body);
	}

	close()
	{
		super.close();
		this.client.close();
	}
}

/**
 * Starts a server and a proxy before the tests of a file.  The members of the
 * result are set then: {server, proxy, site}.
 */
export function stage(hooks, kind, { edit, args, site, unlimited } = {})
{
	const it = { kind };
	let failed = false;

	hooks.before(async () => {
		it.server = new Behind({ args, unlimited });
		await it.server.start();
		it.proxy = await new Proxy(kind, it.server.port, edit).start();
		it.site = new Site(it.proxy, site);
	});
	hooks.afterEach((context) => {
		failed ||= context?.passed === false;
	});
	hooks.after(async () => {
		it.site?.close();
		const said = it.proxy?.child?.err;
		await it.proxy?.stop();
		const end = await it.server?.stop();
		if (failed) {
			process.stderr.write(`---- log of the proxy ----\n${said}\n` +
				`---- log of the server ----\n${it.server?.output().slice(-5000)}\n`);
		}
		if (end && end.code !== 0)
			throw new Error(`the server ended with ${JSON.stringify(end)}\n${it.server.output()}`);
	});
	return it;
}

// ---- raw connections -------------------------------------------------------

/**
 * Opens a socket: to the proxy over TLS, or to the server itself in plain text.
 */
export function connect(to, { address = SOMEBODY } = {})
{
	const socket = to.ca ?
		tls.connect({ host: '127.0.0.1', port: to.port, servername: 'localhost', ca: to.ca,
			localAddress: address, ALPNProtocols: ['http/1.1'] }) :
		net.connect({ host: '127.0.0.1', port: to.port, localAddress: address });

	socket.text = '';
	socket.setNoDelay(true);
	socket.on('data', (piece) => {
		socket.text += piece.toString('latin1');
	});
	socket.on('error', () => {});
	socket.ended = new Promise((resolve) => {
		socket.on('close', () => {
			socket.gone = true;
			resolve();
		});
	});
	return within(new Promise((resolve, reject) => {
		socket.on(to.ca ? 'secureConnect' : 'connect', () => resolve(socket));
		socket.on('error', reject);
	}), WAIT_MS, 'a connection');
}

/** Returns the complete answers in ${text}. */
export function answersIn(text)
{
	const found = [];

	for (let at = 0; at < text.length;) {
		const end = text.indexOf('\r\n\r\n', at);
		if (end < 0)
			break;
		const lines = text.slice(at, end).split('\r\n');
		const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(lines[0])?.[1]);
		const headers = new Map(lines.slice(1).map((line) => {
			const colon = line.indexOf(':');
			return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
		}));
		at = end + 4;
		if (headers.get('transfer-encoding') === 'chunked') {
			const last = text.indexOf('0\r\n\r\n', at);
			at = last < 0 ? text.length : last + 5;
		} else {
			at += Number(headers.get('content-length') ?? 0);
		}
		if (status >= 200)
			found.push({ status, headers, ours: headers.has('x-request-id') });
		if (Number.isNaN(status))
			break;
	}
	return found;
}

export { eventually, http, sleep, within };
