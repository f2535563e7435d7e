// SPDX-License-Identifier: MIT
//
// The parts of bench-federation.js that stand between servers or in place of
// them: a slow connection, peers that are silent or answer garbage, and
// strangers that are silent or send garbage.
'use strict';

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const net = require('node:net');
const path = require('node:path');
const { performance } = require('node:perf_hooks');

const DELIVER = '/v1/federation/deliver';
const DOCUMENT = '/.well-known/twinbox';

// ---- a slow connection ----

// Each connection to the proxy becomes one to ${target}.  Data arrives at the
// other side half a round trip later.
class DelayProxy {
	constructor(port, target, round_trip_ms) {
		this.port = port;
		this.target = target;
		this.delay_ms = round_trip_ms / 2;
		this.sockets = new Set();
		this.pieces = 0;
		this.late_ms = 0; // total, beyond the delay
	}

	async listen() {
		this.server = net.createServer({ noDelay: true }, (client) =>
		    this.join(client, net.connect({ host: '127.0.0.1',
			port: this.target, noDelay: true })));
		await new Promise((done, fail) => {
			this.server.once('error', fail);
			this.server.listen(this.port, '127.0.0.1', done);
		});
		return this;
	}

	join(client, server) {
		for (const [from, to] of [[client, server], [server, client]]) {
			const forward = this.forwarderTo(to);

			this.sockets.add(from);
			from.on('error', () => {});
			from.on('data', forward);
			from.on('close', () => {
				this.sockets.delete(from);
				forward(null);
			});
		}
	}

	// Returns a function that passes each piece to ${to} after the delay.
	// null means the end.
	forwarderTo(to) {
		const queue = [];
		let timer;
		const give = () => {
			const now = performance.now();

			timer = undefined;
			while (queue.length > 0 && queue[0].due <= now)
				this.give(to, queue.shift(), now);
			wait();
		};
		const wait = () => {
			if (timer === undefined && queue.length > 0)
				timer = setTimeout(give, Math.ceil(
				    queue[0].due - performance.now()));
		};

		return (piece) => {
			const now = performance.now();
			const one = { due: now + this.delay_ms, piece };

			if (this.delay_ms === 0) {
				this.give(to, one, now);
				return;
			}
			queue.push(one);
			wait();
		};
	}

	give(to, { due, piece }, now) {
		this.pieces++;
		this.late_ms += now - due;
		if (piece === null)
			to.end();
		else if (to.writable)
			to.write(piece);
	}

	// Returns the average extra delay of a piece, which arises when node
	// does not run in time.
	get lateness() {
		return this.pieces > 0 ? this.late_ms / this.pieces : 0;
	}

	async close() {
		const closed = new Promise((done) => this.server.close(done));

		for (const socket of this.sockets)
			socket.destroy();
		await closed;
	}
}

// ---- faulty peers ----

const ADDRESS = '127.0.77.1';
const ZONE = 'bad.example';
const HOSTS = '/etc/hosts';
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
// Runs "$@" with the files $1 and $2 mounted over these two.
const DISGUISE = `mount --bind "$1" ${HOSTS}; ` +
	`mount --bind "$2" ${AUTHORITIES}; shift 2; exec "$@"`;

// Answers instead of acks.  The last one is not HTTP.
const GARBAGE = [
	(response) => response.writeHead(200).end(crypto.randomBytes(2000)),
	(response) => response.writeHead(200,
	    { 'Content-Type': 'application/json' }).end('{"acks":[{"mess'),
	(response) => response.writeHead(418).end('<html>teapot</html>'),
	(response) => response.socket.end(crypto.randomBytes(2000)),
];

// Servers s0.bad.example …, which are silent, and g0.bad.example …, which
// answer garbage: every other one to the request for its document, the others
// to a delivery.  They listen on port 443 of a loopback address and have a
// certificate.  The server that must reach them runs in its own mount
// namespace, in which it finds their names and trusts the certificate.  This
// requires root.
class BadPeers {
	constructor(dir, count) {
		this.dir = dir;
		this.domains = ['s', 'g'].flatMap((kind) => Array.from(
		    { length: count }, (_, i) => `${kind}${i}.${ZONE}`));
		this.requests = 0;
		this.held = new Set();
	}

	// The words to put before the command line of a server that must reach
	// them.
	get through() {
		return ['unshare', '--mount', 'sh', '-ec', DISGUISE, 'sh',
			path.join(this.dir, 'hosts'),
			path.join(this.dir, 'bad.crt')];
	}

	// A request to a silent peer times out after one second, so that such
	// requests keep coming.
	get flags() {
		return ['--federation-networks', `${ADDRESS}/32`,
			'--delivery-timeout', '1s'];
	}

	makeFiles() {
		const names = this.domains.map((d) => `${ADDRESS} ${d}\n`);

		fs.writeFileSync(path.join(this.dir, 'hosts'),
		    fs.readFileSync(HOSTS, 'latin1') + names.join(''));
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec',
			'-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
			'-days', '2', '-subj', `/CN=${ZONE}`, '-addext',
			`subjectAltName=DNS:*.${ZONE}`, '-keyout', 'bad.key',
			'-out', 'bad.crt'], { cwd: this.dir, stdio: 'pipe' });
	}

	async listen() {
		this.makeFiles();
		this.key = crypto.generateKeyPairSync('ed25519').publicKey
		    .export({ format: 'der', type: 'spki' }).subarray(-32)
		    .toString('base64');
		this.server = https.createServer({
			key: fs.readFileSync(path.join(this.dir, 'bad.key')),
			cert: fs.readFileSync(path.join(this.dir, 'bad.crt')),
		}, (request, response) => this.serve(request, response));
		this.server.requestTimeout = 0;
		await new Promise((done, fail) => {
			this.server.once('error', fail);
			this.server.listen(443, ADDRESS, done);
		});
		return this;
	}

	document(domain) {
		return JSON.stringify({ domain,
			keys: [{ id: 'k', alg: 'ed25519', public: this.key }],
			deliver: `https://${domain}${DELIVER}`,
			ack_statuses: ['accepted', 'retryable', 'rejected'],
			versions: ['1'] });
	}

	serve(request, response) {
		const domain = request.headers.host;
		const early = Number(/[0-9]+/.exec(domain)?.[0]) % 2 === 0;

		request.on('error', () => {});
		response.on('error', () => {});
		request.resume();
		this.requests++;
		if (request.url === DOCUMENT && !early) {
			response.writeHead(200,
			    { 'Content-Type': 'application/json' });
			response.end(this.document(domain));
		} else if (domain.startsWith('g')) {
			GARBAGE[this.requests % GARBAGE.length](response);
		} else {
			this.held.add(response);
			response.on('close', () => this.held.delete(response));
		}
	}

	async close() {
		const closed = new Promise((done) => this.server.close(done));

		this.server.closeAllConnections();
		await closed;
	}
}

// ---- strangers ----

const SILENT_AGAIN_MS = 200;
const GARBAGE_EVERY_MS = 100;

function forged({ from, to, key_id }) {
	const now = Math.floor(Date.now() / 1000);
	const body = crypto.randomBytes(4000);
	const base64 = (n) => crypto.randomBytes(n).toString('base64');

	return Buffer.concat([Buffer.from([
		`POST ${DELIVER} HTTP/1.1`, `Host: ${to}`,
		'Content-Type: application/json',
		`Content-Length: ${body.length}`,
		`Content-Digest: sha-256=:${base64(32)}:`,
		`Twinbox-From: ${from}`, `Twinbox-To: ${to}`,
		'Signature-Input: tb=("@method" "@authority" "@path" ' +
		    '"content-digest" "content-type" "twinbox-from" ' +
		    `"twinbox-to");created=${now};expires=${now + 300};` +
		    `nonce="${crypto.randomBytes(16).toString('hex')}";` +
		    `keyid="${key_id}";alg="ed25519";tag="twinbox-1"`,
		`Signature: tb=:${base64(64)}:`, '', ''].join('\r\n')), body]);
}

// The messages of senders of garbage, by turns: a wrong signature with a known
// key, one with an unknown key, a request that does not follow the protocol,
// and random bytes.
const SAYINGS = [
	(claim) => forged(claim),
	(claim) => forged({ ...claim, key_id: 'made-up' }),
	() => Buffer.from(`POST ${DELIVER} HTTP/1.1\r\nHost: x\r\n` +
	    'Content-Length: 2\r\n\r\n{}'),
	() => crypto.randomBytes(2000),
];

// Strangers at ${port}: ${count} begin a request and send nothing more, and
// ${count} send garbage ten times a second each.  ${claim} has from, to and
// key_id.
class Strangers {
	constructor(port, count, claim) {
		this.port = port;
		this.count = count;
		this.claim = claim;
		this.sockets = new Set();
		this.sent = 0;
	}

	start() {
		this.going = true;
		for (let i = 0; i < this.count; i++)
			this.keepSilent();
		this.timer = setInterval(() => {
			for (let i = 0; i < this.count; i++)
				this.say(SAYINGS[this.sent++ % SAYINGS.length](
				    this.claim)).setTimeout(1000,
				    function end() { this.destroy(); });
		}, GARBAGE_EVERY_MS);
	}

	say(words) {
		const socket = net.connect(this.port, '127.0.0.1');

		this.sockets.add(socket);
		socket.on('error', () => {});
		socket.on('close', () => this.sockets.delete(socket));
		socket.resume();
		socket.write(words);
		return socket;
	}

	keepSilent() {
		const socket = this.say(`POST ${DELIVER} HTTP/1.1\r\n` +
		    `Host: ${this.claim.to}\r\n`);

		socket.on('close', () => {
			if (this.going)
				setTimeout(() => this.going &&
				    this.keepSilent(), SILENT_AGAIN_MS);
		});
	}

	stop() {
		this.going = false;
		clearInterval(this.timer);
		for (const socket of this.sockets)
			socket.destroy();
	}
}

module.exports = { BadPeers, DelayProxy, DOCUMENT, Strangers };
