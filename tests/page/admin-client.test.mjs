// SPDX-License-Identifier: MIT
// tags: unit
//
// The admin page's client (web/src/admin/client.ts) in node: who may use the
// page, what it polls and when, and what it says if there is no answer.  Clock
// and server are fakes.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { stats } from './admin-standin.mjs';
import { Browser, turn } from './fakes.mjs';
import { bundle } from './modules.mjs';

// The times in client.ts, in milliseconds.
const EVERY = 2_000;
const SLOW = 4_000;
const CAP = 30_000;
const GIVEN_UP = 20_000; // the time-out of a request in api.ts
const DAY = 86_400_000;

const AHEAD = 3_600_000; // how far the server's clock is ahead
const STATS = '/v1/admin/stats';
const LANES = '/v1/admin/lanes';
const AUDIT = '/v1/admin/audit';

let page;

before(async () => {
	page = await import(bundle('web/src/admin', 'client.ts', '../api.ts'));
});

const problem = (status, more = {}) => [status, { title: 'No', status, detail: 'so not', code: 'x', ...more }];
const unreachable = () => { throw new TypeError('Failed to fetch'); };

/** A browser with a server, in which an operator is logged in. */
class Scene {
	constructor(t)
	{
		this.browser = new Browser(t);
		this.browser.random = 1;
		this.clock = this.browser.clock;
		this.changes = 0;
		this.known = 0;
		this.answer('/v1', () => [200, { domain: 'here.example', user: { name: 'root', admin: true } }]);
		this.well();
	}

	answer(path, answer)
	{
		this.browser.answers[`GET ${path}`] = answer;
	}

	/**
	 * Makes the server answer all polls, with the time of its own clock.
	 */
	well()
	{
		this.answer(STATS, () => [200, { ...stats(), at: new Date(this.clock.now + AHEAD).toISOString() }]);
		for (const path of [LANES, AUDIT])
			this.answer(path, (url) => [200, { of: url.pathname + url.search, at: this.clock.now }]);
	}

	/**
	 * Makes the server withhold its answer for ${path}.  The returned
	 * function gives the answer.
	 */
	held(path)
	{
		let give;
		const waiting = new Promise((resolve) => { give = resolve; });
		this.answer(path, () => waiting);
		return give;
	}

	open()
	{
		this.client = new page.AdminClient('secret', () => { this.changes++; });
		this.browser.atEnd(() => this.client.end());
		return this;
	}

	/** Returns the requests since the last call. */
	fresh()
	{
		const { requests } = this.browser;
		return requests.slice(this.known, this.known = requests.length)
			.map((one) => one.what.replace('GET ', '') + one.query);
	}

	/**
	 * Returns how many times the page was notified to draw since the last
	 * call.
	 */
	drawn()
	{
		return this.changes - (this.changes = 0);
	}

	/**
	 * Asserts that the client makes no request for ${ms} - 1 milliseconds,
	 * and requests ${wanted} one millisecond later.
	 */
	async asksAfter(ms, wanted, what)
	{
		await this.clock.pass(ms - 1);
		assert.deepEqual(this.fresh(), [], `${what}: before ${ms} ms`);
		await this.clock.pass(1);
		assert.deepEqual(this.fresh(), wanted, `${what}: after ${ms} ms`);
	}

	/** Asserts that the client makes no more requests. */
	async asksNothing()
	{
		this.fresh();
		await this.clock.pass(DAY);
		assert.deepEqual(this.fresh(), []);
	}
}

/**
 * Returns a client that has been live for one second and that watches ${paths}.
 */
async function live(t, ...paths)
{
	const s = new Scene(t).open();

	await s.clock.pass(1000);
	s.watches = paths.map((path) => s.client.watch(path));
	await turn();
	assert.equal(s.client.link.state, 'live');
	s.fresh();
	s.drawn();
	return s;
}

describe('whose page it is', () => {
	it('is asked first, then the figures, every two seconds', async (t) => {
		const s = new Scene(t).open();
		assert.deepEqual([s.client.stage, s.client.link, s.drawn()], ['unknown', { state: 'connecting' }, 1]);
		assert.deepEqual(s.fresh(), ['/v1']);
		await turn();
		assert.deepEqual(s.fresh(), [STATS]);
		const { stage, who, domain, link, history } = s.client;
		assert.deepEqual([stage, who, domain, link, history.length],
			['admin', 'root', 'here.example', { state: 'live' }, 1]);
		assert.equal(s.client.stats.at, new Date(Browser.NOW + AHEAD).toISOString());
		assert.equal(s.drawn(), 1);
		for (const n of [2, 3]) {
			await s.asksAfter(EVERY, [STATS], 'the next');
			assert.deepEqual([s.drawn(), s.client.history.length], [1, n]);
		}
		assert.deepEqual([...new Set(s.browser.requests.map((one) => one.authorization))], ['Bearer secret']);
	});

	for (const [what, user, stage, who] of [
		['nobody', null, 'login', ''],
		['a user who is not an administrator', { name: 'ann', admin: false }, 'denied', 'ann'],
	]) it(`${what}: ${stage}, and nothing more is asked`, async (t) => {
		const s = new Scene(t);
		s.answer('/v1', () => [200, { domain: 'here.example', user }]);
		s.open();
		s.client.watch(LANES);
		await turn();
		assert.deepEqual([s.client.stage, s.client.who, s.drawn()], [stage, who, 2]);
		assert.deepEqual(s.fresh(), ['/v1']);
		s.client.refresh();
		await s.asksNothing();
	});

	for (const [status, stage] of [[401, 'login'], [403, 'denied']])
		for (const path of ['/v1', STATS, LANES]) it(`${path} answers ${status}: ${stage}, and nothing more is asked`, async (t) => {
			const s = new Scene(t);
			s.answer(path, () => problem(status));
			s.open();
			s.client.watch(LANES);
			await turn();
			assert.equal(s.client.stage, stage);
			assert.equal(s.clock.timers.size, 0);
			assert.ok(s.drawn() > 1);
			await s.asksNothing();
		});

	it('nobody any more, when what an operator does is answered with 401', async (t) => {
		const s = await live(t, LANES);
		s.browser.answers['POST /v1/admin/lanes/7/rewind'] = () => problem(401);
		await assert.rejects(s.client.api.post('/v1/admin/lanes/7/rewind', {}), page.Refused);
		assert.deepEqual([s.client.stage, s.clock.timers.size, s.drawn()], ['login', 0, 1]);
		await s.asksNothing();
	});

	for (const [what, answer, why] of [
		['cannot be reached', unreachable, 'The server cannot be reached.'],
		['is busy', () => problem(503), 'So not.'],
		['is broken', () => problem(500), 'So not.'],
	]) it(`the server ${what} at first: it is asked again`, async (t) => {
		const s = new Scene(t);
		const was = s.browser.answers['GET /v1'];
		s.answer('/v1', answer);
		s.open();
		s.client.watch(LANES);
		await turn();
		assert.equal(s.client.stage, 'unknown');
		assert.deepEqual(s.client.link, { state: 'waiting', until: Browser.NOW + 4000, why });
		s.fresh();
		s.answer('/v1', was);
		await s.asksAfter(4000, ['/v1', STATS, LANES], 'the second time');
		assert.deepEqual([s.client.stage, s.client.link.state], ['admin', 'live']);
	});
});

describe('what is watched', () => {
	it('before anybody is known is asked for after the first figures', async (t) => {
		const s = new Scene(t).open();
		const one = s.client.watch(`${LANES}?limit=5`);
		assert.deepEqual([one.data, one.error, s.fresh()], [null, '', ['/v1']]);
		await turn();
		assert.deepEqual(s.fresh(), [STATS, `${LANES}?limit=5`]);
		assert.deepEqual(one.data, { of: `${LANES}?limit=5`, at: Browser.NOW });
	});

	it('is asked for at once, then every two seconds, whatever the figures do', async (t) => {
		const s = await live(t);
		const [lanes, audit] = [s.client.watch(LANES), s.client.watch(AUDIT)];
		assert.deepEqual(s.fresh(), [LANES, AUDIT]);
		await turn();
		assert.equal(s.drawn(), 2);
		assert.deepEqual([lanes.data.of, audit.data.of], [LANES, AUDIT]);
		await s.asksAfter(1000, [STATS], 'figures');
		await s.asksAfter(1000, [LANES, AUDIT], 'both');
		await s.asksAfter(1000, [STATS], 'figures');
		await s.asksAfter(1000, [LANES, AUDIT], 'both');
		assert.equal(lanes.data.at, s.clock.now);
	});

	it('and is not watched any more is not asked for again, nor shown when it comes late', async (t) => {
		const s = await live(t, LANES, AUDIT);
		const [lanes, audit] = s.watches;
		const timers = s.clock.timers.size;
		s.client.unwatch(lanes);
		assert.deepEqual([s.client.watches.size, s.clock.timers.size], [1, timers - 1]);
		await s.asksAfter(1000, [STATS], 'figures');
		await s.asksAfter(1000, [AUDIT], 'the other');
		const give = s.held(AUDIT);
		await s.asksAfter(1000, [STATS], 'figures');
		await s.asksAfter(1000, [AUDIT], 'the other');
		s.client.unwatch(audit);
		s.drawn();
		give([200, {}]);
		await turn();
		assert.equal(s.drawn(), 0);
		await s.asksAfter(1000, [STATS], 'figures');
		await s.asksAfter(EVERY, [STATS], 'only figures');
		assert.equal(s.clock.timers.size, 1, 'that for the next figures');
	});

	it('is asked for one at a time', async (t) => {
		const s = await live(t, LANES);
		const give = s.held(LANES);
		await s.clock.pass(EVERY);
		assert.deepEqual(s.fresh(), [STATS, LANES]);
		s.client.refresh();
		await turn();
		assert.deepEqual(s.fresh(), [STATS]);
		s.well();
		await s.asksAfter(EVERY, [STATS], 'only figures');
		give([200, { of: 'late' }]);
		await turn();
		assert.equal(s.watches[0].data.of, 'late');
		await s.asksAfter(EVERY, [STATS, LANES], 'both');
	});

	it('all of it is asked for when something was done, and two seconds later', async (t) => {
		const s = await live(t, LANES);
		s.client.refresh();
		assert.deepEqual(s.fresh(), [STATS, LANES]);
		await turn();
		assert.deepEqual([s.client.link.state, s.drawn()], ['live', 2]);
		await s.asksAfter(EVERY, [STATS, LANES], 'both');
	});

	it('and is refused says why, there only, and is asked for more and more seldom', async (t) => {
		const s = await live(t, LANES, AUDIT);
		const [lanes, audit] = s.watches;
		s.answer(LANES, () => problem(500, { detail: 'it broke' }));
		await s.clock.pass(EVERY);
		const { data } = lanes;
		assert.deepEqual([lanes.error, audit.error, s.client.link.state], ['It broke.', '', 'live']);
		assert.equal(data.of, LANES, 'what was known is still there');
		const asked = async (ms) => {
			s.fresh();
			await s.clock.pass(ms);
			return s.fresh().filter((one) => one === LANES).length;
		};
		for (const ms of [4000, 8000, 16_000, CAP, CAP])
			assert.deepEqual([await asked(ms - 1), await asked(1)], [0, 1], `after ${ms} ms`);
		s.well();
		await asked(CAP);
		assert.deepEqual([lanes.error, lanes.data.at], ['', s.clock.now]);
		assert.deepEqual([await asked(EVERY - 1), await asked(1)], [0, 1]);
		s.answer(LANES, () => problem(503, { retry_after: 45 }));
		await asked(EVERY);
		assert.equal(lanes.error, 'So not. It asks to wait 45 s.');
		assert.deepEqual([await asked(44_999), await asked(1)], [0, 1]);
		s.well();
		await asked(45_000);
		s.answer(LANES, () => problem(500));
		await asked(EVERY);
		assert.deepEqual([await asked(3999), await asked(1)], [0, 1], 'a success forgives what failed before');
	});

	it('and does not answer has the figures asked for, which say how it stands', async (t) => {
		const s = await live(t, LANES);
		s.answer(LANES, unreachable);
		await s.clock.pass(EVERY);
		assert.deepEqual(s.fresh(), [STATS, LANES, STATS]);
		assert.deepEqual([s.watches[0].error, s.client.link.state], ['', 'live']);
		s.answer(STATS, unreachable);
		await s.asksAfter(EVERY, [STATS], 'figures');
		assert.equal(s.client.link.state, 'waiting');
		assert.equal(s.watches[0].error, '');
		await s.asksAfter(4000, [STATS], 'only one knocks');
		s.well();
		await s.asksAfter(8000, [STATS, LANES], 'all is well');
		assert.deepEqual([s.client.link.state, s.watches[0].data.at], ['live', s.clock.now]);
	});
});

describe('no answer', () => {
	it('is said, and the figures are asked for more and more seldom, and nothing else', async (t) => {
		const s = await live(t, LANES);
		const { stats: known } = s.client;
		s.answer(STATS, unreachable);
		await s.asksAfter(1000, [STATS], 'the first');
		for (const ms of [4000, 8000, 16_000, CAP, CAP]) {
			assert.deepEqual(s.client.link, { state: 'waiting', until: s.clock.now + ms, why: 'The server cannot be reached.' });
			assert.equal(s.drawn(), 1);
			assert.equal(s.clock.timers.size, ms === 4000 ? 2 : 1, 'no more is planned than that');
			await s.asksAfter(ms, [STATS], 'the next');
		}
		assert.equal(s.client.stats, known);
		const audit = s.client.watch(AUDIT);
		await turn();
		assert.deepEqual([s.fresh(), audit.data], [[], null]);
		s.well();
		await s.asksAfter(CAP, [STATS, LANES, AUDIT], 'the last');
		assert.deepEqual([s.client.link, audit.data.of], [{ state: 'live' }, AUDIT]);
		await s.asksAfter(EVERY, [STATS, LANES, AUDIT], 'as ever');
		s.answer(STATS, unreachable);
		await s.asksAfter(EVERY, [STATS], 'again none');
		assert.equal(s.client.link.until, s.clock.now + 4000, 'an answer forgives what failed before');
	});

	it('a pause is drawn by lot from three quarters on', async (t) => {
		const s = await live(t);
		s.browser.random = 0;
		s.answer(STATS, unreachable);
		await s.asksAfter(1000, [STATS], 'the first');
		await s.asksAfter(3000, [STATS], 'the second');
		await s.asksAfter(6000, [STATS], 'the third');
	});

	it('not before the server wants it, which says why', async (t) => {
		const s = await live(t);
		s.answer(STATS, () => problem(503, { detail: 'too much waits', retry_after: 45 }));
		await s.clock.pass(1000);
		assert.deepEqual(s.client.link, { state: 'waiting', until: s.clock.now + 45_000,
			why: 'Too much waits. It asks to wait 45 s.' });
		s.fresh();
		await s.asksAfter(45_000, [STATS], 'as asked');
	});

	it('a page that is not of the server is none', async (t) => {
		const s = await live(t, LANES);
		for (const path of [STATS, LANES])
			s.answer(path, () => [200, '<html>Please log in to this network</html>']);
		await s.clock.pass(EVERY);
		assert.deepEqual(s.client.link, { state: 'waiting', until: s.clock.now + 3000, why: 'The server cannot be reached.' });
		s.well();
		await s.clock.pass(3000);
		assert.equal(s.client.link.state, 'live');
	});

	for (const [what, hurry] of [
		['somebody says so', (s) => s.client.retryNow()],
		['the network is back', (s) => s.browser.happens('online')],
		['something was done', (s) => s.client.refresh()],
	]) it(`it is tried at once when ${what}, and only then`, async (t) => {
		const s = await live(t, LANES);
		if (what !== 'something was done') {
			hurry(s);
			assert.deepEqual(s.fresh(), [], 'nothing is to be hurried');
		}
		s.answer(STATS, unreachable);
		await s.clock.pass(EVERY);
		assert.equal(s.client.link.state, 'waiting');
		s.fresh();
		hurry(s);
		await turn();
		assert.deepEqual(s.fresh(), [STATS]);
		s.well();
		hurry(s);
		await turn();
		assert.deepEqual(s.fresh(), [STATS, LANES]);
		assert.equal(s.client.link.state, 'live');
		await s.asksAfter(EVERY, [STATS, LANES], 'what was being waited for is not asked as well');
	});
});

describe('a slow answer', () => {
	it('is said after four seconds; after twenty it is none', async (t) => {
		const s = await live(t, LANES);
		const give = s.held(STATS);
		await s.asksAfter(1000, [STATS], 'the slow one');
		const since = s.clock.now;
		await s.clock.pass(SLOW - 1);
		assert.equal(s.client.link.state, 'live');
		s.drawn();
		await s.clock.pass(1);
		assert.deepEqual([s.client.link, s.drawn()], [{ state: 'slow', since }, 1]);
		s.fresh();
		await s.asksAfter(1000, [LANES], 'what is watched goes on');
		give([200, { ...stats(), at: new Date(s.clock.now).toISOString() }]);
		await turn();
		assert.deepEqual([s.client.link, s.fresh()], [{ state: 'live' }, [LANES]]);
		s.answer(STATS, () => null);
		await s.clock.pass(EVERY + GIVEN_UP - 1);
		assert.equal(s.client.link.state, 'slow');
		await s.clock.pass(1);
		assert.equal(s.client.link.state, 'waiting');
	});

	it('that came in time is not called slow later', async (t) => {
		const s = await live(t);
		const give = s.held(STATS);
		await s.clock.pass(1000 + SLOW - 1);
		give([200, { ...stats(), at: new Date(s.clock.now).toISOString() }]);
		s.well();
		await s.clock.pass(1);
		assert.equal(s.client.link.state, 'live');
		await s.clock.pass(EVERY - 1);
		assert.equal(s.client.history.length, 3);
	});

	it('is not said while there was none before', async (t) => {
		const s = await live(t);
		s.answer(STATS, unreachable);
		await s.clock.pass(1000);
		s.held(STATS);
		await s.clock.pass(4000 + SLOW);
		assert.equal(s.client.link.state, 'waiting');
	});
});

describe('while nobody looks', () => {
	it('nothing is asked; then all of it at once', async (t) => {
		const s = await live(t, LANES);
		s.browser.seen('hidden');
		assert.deepEqual([s.client.link, s.drawn(), s.clock.timers.size], [{ state: 'hidden' }, 1, 0]);
		s.client.retryNow();
		s.client.refresh();
		s.browser.happens('online');
		s.client.watch(AUDIT);
		await s.asksNothing();
		s.browser.seen('visible');
		assert.deepEqual([s.client.link, s.drawn()], [{ state: 'connecting' }, 1]);
		assert.deepEqual(s.fresh(), [STATS, LANES, AUDIT]);
		await turn();
		assert.deepEqual([s.client.link, s.fresh()], [{ state: 'live' }, []]);
		await s.asksAfter(EVERY, [STATS, LANES, AUDIT], 'as ever');
	});

	it('an answer that is still to come changes nothing of that', async (t) => {
		const s = await live(t, LANES);
		const [first, second] = [s.held(STATS), s.held(LANES)];
		await s.clock.pass(EVERY);
		s.browser.seen('hidden');
		first([200, { ...stats(), at: new Date(s.clock.now).toISOString() }]);
		second([200, { of: 'late' }]);
		await turn();
		assert.deepEqual([s.client.link.state, s.watches[0].data.of], ['hidden', 'late']);
		await s.asksNothing();
		assert.equal(s.client.link.state, 'hidden');
	});

	for (const [what, answer] of [['no', null], ['a refused', problem(503)]]) it(`${what} answer changes nothing of that`, async (t) => {
		const s = await live(t);
		const give = s.held(STATS);
		await s.clock.pass(1000);
		s.browser.seen('hidden');
		give(answer);
		await s.asksNothing();
		assert.equal(s.client.link.state, 'hidden');
	});

	it('a page that is opened unseen begins when it is looked at', async (t) => {
		const s = new Scene(t);
		s.browser.document.visibilityState = 'hidden';
		s.open();
		await s.asksNothing();
		assert.deepEqual([s.client.stage, s.client.link.state], ['unknown', 'hidden']);
		s.browser.seen('visible');
		await turn();
		assert.deepEqual([s.client.stage, s.client.link.state], ['admin', 'live']);
	});

	it('who looks again is live meanwhile, and what waits goes on to wait', async (t) => {
		const s = await live(t);
		s.browser.seen('visible');
		assert.deepEqual([s.client.link.state, s.fresh()], ['live', [STATS]]);
		s.answer(STATS, unreachable);
		await s.clock.pass(EVERY);
		s.browser.seen('visible');
		assert.equal(s.client.link.state, 'waiting');
		await turn();
	});
});

describe('the end of the client', () => {
	it('nothing is asked or drawn any more, whatever happens', async (t) => {
		const s = await live(t, LANES);
		assert.ok(s.browser.listeners > 0);
		s.client.end();
		assert.deepEqual([s.clock.timers.size, s.browser.listeners], [0, 0]);
		s.browser.seen('hidden');
		s.browser.seen('visible');
		s.client.refresh();
		await s.asksNothing();
		assert.equal(s.drawn(), 0);
	});

	it('answers that are still to come are not drawn', async (t) => {
		const s = await live(t, LANES);
		const give = [s.held(STATS), s.held(LANES)];
		await s.clock.pass(EVERY);
		s.client.end();
		s.drawn();
		give[0]([200, { ...stats(), at: new Date(s.clock.now).toISOString() }]);
		give[1](problem(500));
		await turn();
		assert.equal(s.drawn(), 0);
		assert.equal(s.clock.timers.size, 0);
	});
});

describe('the time of the client', () => {
	it('is that of the server, once it is known', async (t) => {
		const s = new Scene(t);
		s.open();
		assert.equal(s.client.now(), Browser.NOW);
		await turn();
		assert.equal(s.client.now(), Browser.NOW + AHEAD);
		await s.clock.pass(EVERY - 1);
		assert.equal(s.client.now(), s.clock.now + AHEAD);
		s.answer(STATS, unreachable);
		await s.clock.pass(60_000);
		assert.equal(s.client.now(), s.clock.now + AHEAD);
	});
});

describe('the requests of the client', () => {
	it('a change is a PATCH', async (t) => {
		const s = await live(t);
		s.browser.answers['PATCH /v1/admin/destinations/a.example'] = () => [200, { name: 'a.example' }];
		assert.deepEqual(await s.client.api.patch('/v1/admin/destinations/a.example', { per_second: 5 }), { name: 'a.example' });
		const { json, type, authorization } = s.browser.requests.pop();
		assert.deepEqual([json, type, authorization], [{ per_second: 5 }, 'application/json', 'Bearer secret']);
	});

	it('a file comes as it is, however long that takes', async (t) => {
		const s = await live(t);
		const path = '/v1/admin/dead-letters/export';
		const give = s.held(path);
		const coming = s.client.api.file(`${path}?sender=ann`);
		await s.clock.pass(2 * GIVEN_UP);
		give([200, '{"dead_id":1}\n{"dead_id":2}\n']);
		assert.equal(await (await coming).text(), '{"dead_id":1}\n{"dead_id":2}\n');
		const { query, authorization, cache, credentials } = s.browser.requests.find((one) => one.what === `GET ${path}`);
		assert.deepEqual([query, authorization, cache, credentials], ['?sender=ann', 'Bearer secret', 'no-store', 'omit']);
		s.answer(path, () => problem(503));
		await assert.rejects(s.client.api.file(path), { message: 'The server answered 503.' });
		s.answer(path, unreachable);
		await assert.rejects(s.client.api.file(path), page.Unreachable);
	});

	it('why it failed is a sentence', () => {
		const refused = (status, more) => new page.Refused(problem(status, more)[1]);
		for (const [error, words] of [
			[refused(429, { retry_after: 3 }), 'So not. It asks to wait 3 s.'],
			[refused(503, { retry_after: 3 }), 'So not. It asks to wait 3 s.'],
			[refused(503), 'So not.'],
			[refused(500, { retry_after: 3 }), 'So not.'],
			[refused(409, { detail: 'Too late!' }), 'Too late!'],
			[new page.Unreachable(), 'The server cannot be reached.'],
			[new Error('the disk is full'), 'The disk is full.'],
			['x', 'Something failed.'],
		]) assert.equal(page.why(error), words);
	});
});
