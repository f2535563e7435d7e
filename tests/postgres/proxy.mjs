// SPDX-License-Identifier: MIT
//
// A TCP proxy between a node and its database.  It passes bytes on, and can
// simulate a bad network.  The effects on a node:
//
//	cut()           every connection is reset; new ones work
//	refuse()        every connection is reset, and new ones are refused,
//	                until accept()
//	blackhole()     connections stay and new ones are accepted, but no byte
//	                passes in either direction, until forward(): a route
//	                that is gone, a frozen machine
//	delay(ms)       each byte arrives that much later, in order
//	cutAfter(text)  a connection is reset when ${text} was passed on to the
//	                database: a COMMIT whose answer is lost; optionally only
//	                after another text on the same connection
//
//	const proxy = await new TcpProxy({ port: cluster.port }).start();
//	const url = cluster.url('chat', { port: proxy.port });
//
// Bytes that were held during a blackhole are passed on afterwards, as by a
// network that retransmits.

import net from 'node:net';

/** One direction of a connection. */
class Pipe {
	constructor(link, from, to, label)
	{
		this.link = link;
		this.from = from;
		this.to = to;
		this.label = label;
		this.held = []; /* {bytes, at}; bytes undefined: the end of the stream */
		from.on('data', (bytes) => this.take(bytes));
		from.on('end', () => this.take(undefined));
	}

	take(bytes)
	{
		if (this.link.deaf)
			return;
		this.held.push({ bytes, at: Date.now() + this.link.proxy.delayMs });
		/* The sender must not fill the memory of this process. */
		if (this.link.proxy.holding || this.held.length > 64)
			this.from.pause();
		this.pass();
	}

	/** Passes on the bytes that are due. */
	pass()
	{
		clearTimeout(this.timer);
		while (!this.link.proxy.holding && this.held.length > 0) {
			const wait = this.held[0].at - Date.now();
			if (wait > 0) {
				this.timer = setTimeout(() => this.pass(), wait);
				return;
			}
			const { bytes } = this.held.shift();
			if (bytes === undefined)
				this.to.end();
			else
				this.write(bytes);
		}
		if (!this.link.proxy.holding)
			this.from.resume();
	}

	/**
	 * Returns true if ${bytes} contain the text that cutAfter() waits for.
	 */
	tempted(bytes)
	{
		const { bait, first } = this.link.proxy;
		let from = 0;

		if (first && this.ready !== first) {
			from = bytes.indexOf(first);
			if (from === -1)
				return false;
			this.ready = first;
		}
		return bytes.indexOf(bait, from) !== -1;
	}

	write(bytes)
	{
		const { proxy } = this.link;

		if (this.label !== 'up' || !proxy.bait || !this.tempted(bytes)) {
			proxy.bytes[this.label] += bytes.length;
			this.to.write(bytes);
			return;
		}
		/*
		 * Only the client is reset.  A reset of the connection to the
		 * database could discard bytes that the database has not read
		 * yet.
		 */
		const { caught } = proxy;
		proxy.bait = undefined;
		this.link.deaf = true;
		this.to.write(bytes, () => {
			this.link.client.resetAndDestroy();
			this.link.server.end();
			caught();
		});
	}
}

class Link {
	constructor(proxy, client)
	{
		this.proxy = proxy;
		this.client = client;
		this.server = net.connect({ ...proxy.target, allowHalfOpen: true });
		this.up = new Pipe(this, client, this.server, 'up');
		this.down = new Pipe(this, this.server, client, 'down');
		client.setNoDelay(true);
		this.server.setNoDelay(true);
		for (const [one, other] of [[client, this.server], [this.server, client]]) {
			one.on('error', () => {});
			one.on('close', (hadError) => {
				/*
				 * A reset is passed on as a reset, except
				 * during a blackhole.
				 */
				if (hadError && !proxy.holding && !this.deaf)
					other.resetAndDestroy();
				if (client.destroyed && this.server.destroyed)
					proxy.links.delete(this);
			});
		}
	}

	reset()
	{
		this.client.resetAndDestroy();
		this.server.resetAndDestroy();
	}

	go()
	{
		this.up.pass();
		this.down.pass();
	}
}

export class TcpProxy {
	/** Makes a proxy in front of ${host}:${port}. */
	constructor({ host = '127.0.0.1', port })
	{
		this.target = { host, port };
		this.links = new Set();
		this.holding = false;
		this.delayMs = 0;
		this.bytes = { up: 0, down: 0 };
		this.taken = 0;
	}

	/** Starts listening.  Later calls use the same port. */
	async start()
	{
		this.listener = net.createServer({ allowHalfOpen: true }, (client) => {
			this.taken++;
			this.links.add(new Link(this, client));
		});
		await new Promise((resolve, reject) => {
			this.listener.once('error', reject);
			this.listener.listen(this.port ?? 0, '127.0.0.1', resolve);
		});
		this.port = this.listener.address().port;
		return this;
	}

	/** Resets every connection. */
	cut()
	{
		for (const link of [...this.links])
			link.reset();
	}

	/** Resets every connection, and refuses new ones. */
	async refuse()
	{
		if (!this.listener)
			return;
		const closed = new Promise((resolve) => { this.listener.close(resolve); });
		this.listener = undefined;
		this.cut();
		await closed;
	}

	async accept()
	{
		if (!this.listener)
			await this.start();
	}

	blackhole()
	{
		this.holding = true;
	}

	forward()
	{
		this.holding = false;
		for (const link of this.links)
			link.go();
	}

	/** Sets the delay of new bytes.  Bytes under way keep theirs. */
	delay(ms)
	{
		this.delayMs = ms;
	}

	/**
	 * Resets the next connection on which a piece with ${text} goes to the
	 * database, after the piece was passed on; the answer of the database
	 * is lost.  With ${first} only if that text was passed on before.  The
	 * promise resolves when this has happened.
	 */
	cutAfter(text, first)
	{
		this.bait = Buffer.from(text);
		this.first = first && Buffer.from(first);
		return new Promise((resolve) => { this.caught = resolve; });
	}

	async stop()
	{
		this.holding = false;
		await this.refuse();
	}
}
