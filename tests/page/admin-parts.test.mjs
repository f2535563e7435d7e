// SPDX-License-Identifier: MIT
// tags: unit
//
// The parts of the admin page that need no browser: the history of statistics
// and its limits, the alerts, the history of a message, words.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { destination, failedStory, fullRow, readStory, stats } from './admin-standin.mjs';
import { bundle } from './modules.mjs';

const MIN = 60_000;
const HOUR = 60 * MIN;
const page = {};

before(async () => {
	Object.assign(page, await import(bundle('web/src/admin', 'alerts.ts', 'batch.tsx', 'client.ts', 'history.ts',
		'picture.tsx', 'route.ts', 'story.ts', 'words.ts')));
});

const at = (ms, more = {}) => ({ ...stats(more), at: new Date(ms).toISOString() });

describe('what was measured', () => {
	it('is kept for an hour and no longer', () => {
		const history = new page.History();
		for (let i = 0; i < page.KEPT + 500; i++)
			history.add(at(i * 2000), 2000);
		assert.equal(history.length, page.KEPT);
		assert.equal(history.times().pop(), (page.KEPT + 499) * 2);
	});

	it('rates and retry rates are of the samples before', () => {
		const history = new page.History();
		for (let i = 0; i <= 40; i++)
			history.add(at(i * 2000, { totals: { sent: i * 20, retries: i * 5 } }), 2000);
		const rates = history.rate((one) => one.totals.sent);
		assert.equal(rates[0], null, 'of one sample nothing can be said');
		assert.deepEqual([...new Set(rates.slice(1))], [10]);
		assert.equal(history.retryRate().pop(), 0.2);
		assert.equal(history.recentRetryRate(), 0.2);
		assert.equal(history.growth((one) => one.totals.sent, 20_000), 200);
	});

	it('where nobody looked is a hole, and so is a restored database', () => {
		const history = new page.History();
		history.add(at(0, { totals: { sent: 100 } }), 2000);
		history.add(at(2000, { totals: { sent: 120 } }), 2000);
		history.add(at(60_000, { totals: { sent: 500 } }), 2000);
		history.add(at(62_000, { totals: { sent: 20 } }), 2000);
		const rates = history.rate((one) => one.totals.sent);
		assert.deepEqual(rates, [null, 10, null, null, null]);
		assert.deepEqual(history.figure((one) => one.totals.sent), [100, 120, null, 500, 20]);
	});

	it('a clock that is set back begins again; an answer that comes twice counts once', () => {
		const history = new page.History();
		for (const ms of [10_000, 12_000, 12_000, 11_500])
			history.add(at(ms), 2000);
		assert.deepEqual(history.times(), [10, 12]);
		history.add(at(1000), 2000);
		assert.deepEqual(history.times(), [1]);
	});

	it('five questions without an answer are a hole, fewer are not', () => {
		const history = new page.History();
		for (const ms of [0, 10_000, 20_001])
			history.add(at(ms), 2000);
		assert.deepEqual(history.times(), [0, 10, 10.001, 20.001]);
		assert.deepEqual(history.figure((one) => one.states.pending), [0, 0, null, 0]);
	});

	it('a clock that is set back by less than a question does not begin anew', () => {
		const history = new page.History();
		for (const ms of [10_000, 12_000, 10_001])
			history.add(at(ms), 2000);
		assert.deepEqual(history.times(), [10, 12]);
		history.add(at(10_000), 2000);
		assert.deepEqual(history.times(), [10]);
	});

	it('a rate is over the last ten seconds, a retry rate over the last minute', () => {
		const history = new page.History();
		const add = (ms, sent, retries) => history.add(at(ms, { totals: { sent, retries } }), MIN);
		for (const [ms, sent, retries] of [[0, 0, 0], [4000, 40, 10], [10_000, 40, 10], [14_000, 60, 20],
			[24_001, 60, 20], [60_000, 260, 20], [60_001, 260, 20]])
			add(ms, sent, retries);
		assert.deepEqual(history.rate((one) => one.totals.sent), [null, 10, 4, 2, null, null, 0]);
		assert.deepEqual(history.retryRate(), [null, 0.2, 0.2, 0.25, 0.25, 20 / 280, 10 / 230]);
		assert.deepEqual([MIN - 1, MIN, MIN + 1].map((ms) => history.growth((one) => one.totals.sent, ms)), [220, 220, 260]);
	});

	it('a rate is nothing after a hole, and where all has begun again', () => {
		const history = new page.History();
		const add = (ms, sent, retries) => history.add(at(ms, { totals: { sent, retries } }), 2000);
		for (const [ms, sent, retries] of [[0, 100, 50], [2000, 100, 50], [4000, 20, 10], [6000, 30, 10]])
			add(ms, sent, retries);
		assert.deepEqual(history.rate((one) => one.totals.sent), [null, 0, null, null]);
		assert.deepEqual(history.retryRate(), [null, null, null, null]);
		add(60_000, 40, 10);
		add(62_000, 40, 20);
		assert.deepEqual(history.rate((one) => one.totals.sent).slice(4), [null, null, 0]);
		assert.deepEqual(history.retryRate().slice(4), [null, null, 1]);
		assert.equal(history.growth((one) => one.totals.sent, MIN), -60);
		assert.equal(history.growth((one) => one.totals.sent, 3000), 0, 'not over the hole');
	});

	it('the retry rate of now is known after half a minute, of twenty tries', () => {
		for (const [samples, sent, rate] of [[15, 95, null], [16, 95, 0.05], [16, 18, 0.1], [16, 17, 0], [16, 0, 0]]) {
			const history = new page.History();
			for (let i = 0; i < samples; i++) {
				const last = i === samples - 1;
				const retries = sent === 95 ? 5 : 2;
				history.add(at(i * 2000, { totals: { sent: last ? sent : 0, retries: last ? retries : 0 } }), 2000);
			}
			assert.equal(history.recentRetryRate(), rate, `${samples} samples, ${sent} sent`);
		}
	});

	it('a few retries do not make a rate', () => {
		const history = new page.History();
		for (let i = 0; i <= 40; i++)
			history.add(at(i * 2000, { totals: { retries: i % 2 } }), 2000);
		assert.equal(history.recentRetryRate(), 0);
		assert.equal(new page.History().recentRetryRate(), null, 'not known yet');
	});
});

describe('what needs somebody first', () => {
	const NOW = Date.now();
	const alerts = (more = {}, destinations = [], now = NOW) =>
		page.alertsOf({ ...stats(more), at: new Date(NOW).toISOString() }, destinations, new page.History(), NOW, now);
	const ids = (...given) => alerts(...given).map((one) => one.id);

	it('nothing, on a good day', () => {
		assert.deepEqual(alerts({}, [destination('*'), destination('local')]), []);
	});

	const cases = [
		['relay', { relay: { last_turn_age_ms: 10_001, in_flight: 0 } }, true],
		['relay', { relay: { last_turn_age_ms: null, in_flight: 0 } }, true],
		['full', { states: { pending: 100_000 } }, true],
		['full', { states: { pending: 80_000 } }, false],
		['pending', { states: { pending: 1001 } }, true],
		['pending', { states: { pending: 101 } }, false],
		['old', { oldest_pending_age_ms: 16 * MIN }, true],
		['stuck', { stuck_sending: 1 }, true],
		['dead', { dead_letters_open: 11 }, true],
		['dead', { dead_letters_open: 1 }, false],
		['near', { near_failure: 1 }, false],
		['retries', { retry_rate: 0.11 }, false],
		['latency', { average_latency_ms: 6 * MIN }, false],
		['wal', { wal_bytes: 65 * 1024 * 1024 }, false],
	];
	for (const [id, more, bad] of cases)
		it(`${id}: ${JSON.stringify(more)} is ${bad ? 'urgent' : 'to be looked at'}`, () => {
			const found = alerts(more);
			assert.deepEqual(found.map((one) => [one.id, one.bad]), [[id, bad]]);
			assert.match(found[0].title, /^[A-Z0-9].*[^.]$/);
			assert.match(found[0].cure, /[.]$/);
		});

	it('just below each limit there is none', () => {
		assert.deepEqual(ids({ relay: { last_turn_age_ms: 10_000, in_flight: 0 }, states: { pending: 100 },
			oldest_pending_age_ms: 15 * MIN, retry_rate: 0.1, average_latency_ms: 5 * MIN,
			wal_bytes: 64 * 1024 * 1024 }), []);
	});

	it('a destination that is away explains what waits', () => {
		const away = destination('dead.example', { breaker: 'open', pending: 5000, last_error: 'refused',
			failing_since: new Date(NOW - 11 * MIN).toISOString(),
			next_probe_at: new Date(NOW + 30_000).toISOString() });
		const found = alerts({ states: { pending: 5000 }, oldest_pending_age_ms: HOUR }, [away]);
		assert.deepEqual(found.map((one) => one.id), ['breaker dead.example']);
		assert.equal(found[0].bad, true);
		assert.equal(found[0].title, 'dead.example is not reachable, for 11 min');
		assert.match(found[0].cure, /refused.*5,000 messages wait for it.*in 30 s/);
		assert.equal(alerts({}, [{ ...away, failing_since: new Date(NOW - MIN).toISOString() }])[0].bad, false);
		assert.equal(alerts({}, [{ ...away, breaker: 'half_open' }])[0].bad, false);
	});

	it('who paused what, and why; everything first', () => {
		const paused = (name) => destination(name, { paused_at: new Date(NOW - MIN).toISOString(),
			paused_by: 'ada', pause_reason: 'moving' });
		const found = alerts({ near_failure: 2 }, [paused('a.example'), paused('*'), paused('local')]);
		assert.deepEqual(found.map((one) => [one.id, one.bad]), [['paused *', true], ['paused local', true],
			['paused a.example', false], ['near', false]]);
		assert.match(found[0].cure, /By ada, 1 min ago: “moving”/);
	});

	it('dead letters that come fast, and clocks that differ', () => {
		const history = new page.History();
		history.add(at(NOW - 50_000), 2000);
		history.add(at(NOW, { dead_letters_open: 0 }), 2000);
		assert.deepEqual(ids({}, [], NOW + 61_000), ['clock']);
		const fast = new page.History();
		fast.add(at(NOW - 4000, { dead_letters_open: 0 }), 2000);
		fast.add(at(NOW, { dead_letters_open: 100 }), 2000);
		const [dead] = page.alertsOf(at(NOW, { dead_letters_open: 5 }), [], fast, NOW, NOW);
		assert.match(dead.cure, /100 more within a minute/);
		assert.equal(dead.bad, true);
	});
});

describe('the story of a message', () => {
	const names = (story) => story.points.map((one) => one.name);
	const now = Date.now();

	it('from accepted to read', () => {
		const story = page.storyOf(readStory(1), now);
		assert.deepEqual(names(story), ['Accepted', 'Attempt 1', 'Attempt 2', 'Attempt 3', 'Sent', 'Delivered',
			'Read']);
		assert.equal(story.ended, true);
		const sum = Object.fromEntries(page.spent(story).map((one) => [one.phase, one.ms]));
		assert.equal(sum.queue, 15);
		assert.equal(sum.try, 40 + 130 + 220);
		assert.equal(sum.retry, 3000);
		assert.equal(sum.device, 42_000);
		assert.equal(sum.person, 3 * MIN);
		assert.equal(Object.values(sum).reduce((a, b) => a + b), story.to - story.from, 'nothing is left out');
		const words = page.inWords(story, (ms) => new Date(ms).toISOString());
		assert.match(words[1], /^Attempt 1 at .*, 15 ms later \(refused for now \(503\), took 40 ms, the mailbox is busy\)$/);
		assert.match(words[6], /^Read at .*, 3 min later \(it was seen\)$/);
	});

	it('failed: a dead letter, until it is requeued', () => {
		const row = failedStory(1);
		const story = page.storyOf(row, now);
		assert.deepEqual(names(story).slice(-2), ['Attempt 10', 'Failed']);
		assert.equal(story.points.at(-1).detail, 'every retry used up');
		assert.equal(story.ended, true);
		const died = Date.parse(row.timeline[1].at);
		row.state = 'pending';
		row.timeline.push({ at: new Date(died + HOUR).toISOString(), event: 'requeued', detail: 'by root' });
		const again = page.storyOf(row, died + 2 * HOUR);
		assert.deepEqual(names(again).slice(-5), ['Failed', 'Requeued', 'Sent', 'Delivered', 'Read']);
		const sum = Object.fromEntries(page.spent(again).map((one) => [one.phase, one]));
		assert.equal(sum.dead.ms, HOUR);
		assert.equal(sum.queue.open, true, 'it waits again');
		assert.equal(again.points.at(-1).at, null);
	});

	it('what happens within one millisecond stands in its order', () => {
		const row = failedStory(1);
		const first = row.attempts[0];
		Object.assign(first, { finished_at: first.started_at, outcome: 'rejected' });
		const again = new Date(Date.parse(first.started_at) + HOUR).toISOString();
		row.attempts = [first, { ...first, attempt: 2, started_at: again, finished_at: again, outcome: 'accepted' }];
		row.state = 'sent';
		row.sent_at = again;
		row.timeline = [{ at: first.started_at, event: 'accepted', detail: null },
			{ at: first.started_at, event: 'failed', detail: 'rejected' },
			{ at: again, event: 'requeued', detail: null }, { at: again, event: 'sent', detail: null }];
		row.created_at = first.started_at;
		assert.deepEqual(names(page.storyOf(row, now)).slice(0, 6),
			['Accepted', 'Attempt 1', 'Failed', 'Requeued', 'Attempt 2', 'Sent']);
	});

	it('scheduled: what is to come has no time, or the one that is planned', () => {
		const due = new Date(now + HOUR).toISOString();
		const row = fullRow(1, { state: 'pending', sent_at: null, acked_at: null, labels: ['scheduled'],
			created_at: new Date(now - MIN).toISOString(), deliver_at: due });
		row.timeline = [{ at: row.created_at, event: 'accepted', detail: null },
			{ at: row.created_at, event: 'scheduled', detail: due }];
		const story = page.storyOf(row, now);
		assert.deepEqual(story.points.map((one) => [one.name, one.kind]), [['Accepted', 'good'], ['Due', 'coming'],
			['Sent', 'coming'], ['Delivered', 'coming'], ['Read', 'coming']]);
		assert.deepEqual(page.spent(story), [{ phase: 'scheduled', ms: MIN, open: true }]);
		assert.match(page.inWords(story, String)[1], /^Due: expected at/);
		assert.equal(page.inWords(story, String)[2], 'Sent: not yet');
	});

	it('an attempt under way lasts until now; a retry has its hour', () => {
		const begun = new Date(now - 3000).toISOString();
		const row = fullRow(1, { state: 'sending', sent_at: null, acked_at: null, created_at: begun });
		row.attempts = [{ attempt: 1, started_at: begun, finished_at: null, outcome: null, status: null,
			error: null, owner: 'r' }];
		const [first] = page.storyOf(row, now).stretches;
		assert.deepEqual([first.phase, first.to - first.from, first.open], ['try', 3000, true]);
		Object.assign(row, { state: 'pending', next_retry_at: new Date(now + 5000).toISOString() });
		Object.assign(row.attempts[0], { finished_at: begun, outcome: 'retryable' });
		const story = page.storyOf(row, now);
		assert.equal(story.points.find((one) => one.name === 'Next try').at, now + 5000);
		assert.deepEqual(page.spent(story), [{ phase: 'try', ms: 0, open: false },
			{ phase: 'retry', ms: 3000, open: true }]);
	});

	it('canceled before it was due never fell due', () => {
		const row = fullRow(1, { state: 'canceled', sent_at: null, acked_at: null,
			deliver_at: new Date(now + HOUR).toISOString() });
		row.timeline = [{ at: row.created_at, event: 'accepted', detail: null },
			{ at: row.last_status_at, event: 'canceled', detail: null }];
		assert.deepEqual(names(page.storyOf(row, now)), ['Accepted', 'Canceled']);
	});

	it('who had to wait for an earlier one is not to blame', () => {
		const row = failedStory(1);
		for (const attempt of row.attempts)
			attempt.outcome = 'predecessor';
		const story = page.storyOf(row, now);
		assert.ok(story.points.filter((one) => one.till).every((one) => one.kind === 'neutral'));
		assert.deepEqual(page.spent(story).map((one) => one.phase), ['queue', 'try']);
		assert.equal(page.outcomeKind('retryable'), 'bad');
		assert.equal(page.outcomeKind('duplicate'), 'good');
	});

	it('events that this page does not know are shown by their name', () => {
		const row = readStory(1);
		row.timeline.push({ at: row.acked_at, event: 'moved_house', detail: 'to <b>x</b>' });
		const point = page.storyOf(row, now).points.find((one) => one.name === 'Moved house');
		assert.equal(point.detail, 'to <b>x</b>');
	});

	it('is drawn with room for each point, and not without end', () => {
		assert.ok(page.gap(0) >= 40 && page.gap(5 * 24 * HOUR) <= 140);
		assert.ok(page.gap(1000) < page.gap(MIN) && page.gap(MIN) < page.gap(HOUR));
		const many = Array.from({ length: 300 }, (_x, i) => ({ name: String(i) }));
		const drawn = page.drawn(many);
		assert.ok(drawn.length < 40);
		assert.equal(drawn.filter((one) => typeof one === 'number')[0], 300 - (drawn.length - 1));
		assert.deepEqual(page.rowsOf('', 20), []);
		assert.deepEqual(page.rowsOf('short', 20), ['short']);
		assert.deepEqual(page.rowsOf('refused for now, took 40 ms', 20), ['refused for now,', 'took 40 ms']);
		for (const row of page.rowsOf('x'.repeat(500), 20))
			assert.ok([...row].length <= 20);
	});
});

describe('many dead letters', () => {
	const fixture = (answers) => {
		const asked = [];
		return { asked, client: { api: { post: async (path, json) => {
			asked.push({ path, json: structuredClone(json) });
			return answers(json, asked.length);
		} } } };
	};

	it('are done a hundred at a time, and never more than were counted', async () => {
		let left = 1000;
		const { asked, client: one } = fixture((json) => {
			left -= json.limit;
			return { requeued: json.limit, refused: [], remaining: left, more: true };
		});
		const end = await page.handle(one, 'requeue', { filter: { reason: 'rejected' } }, 250, () => true);
		assert.deepEqual(asked.map((ask) => ask.json), [100, 100, 50].map((limit) =>
			({ filter: { reason: 'rejected' }, limit })));
		assert.deepEqual(end, { done: 250, refused: [] });
	});

	it('what is refused is shown once and does not go round for ever', async () => {
		const refused = Array.from({ length: 30 }, (_x, i) => ({ dead_id: i, detail: 'too late' }));
		const { asked, client: one } = fixture((json, n) => ({ discarded: n < 3 ? json.limit : 0, refused,
			remaining: 30, more: true }));
		const end = await page.handle(one, 'discard', { filter: {} }, 500, () => true);
		assert.equal(asked.length, 3);
		assert.deepEqual(end, { done: 200, refused });
	});

	it('chosen ones are named, in pieces; it can be stopped', async () => {
		const ids = Array.from({ length: 230 }, (_x, i) => i + 1);
		const answer = (json) => ({ requeued: json.dead_ids.length, refused: [], remaining: 0, more: false });
		const all = fixture(answer);
		await page.handle(all.client, 'requeue', { dead_ids: ids }, 230, () => true);
		assert.deepEqual(all.asked.map((ask) => ask.json.dead_ids.length), [100, 100, 30]);
		assert.deepEqual(all.asked.flatMap((ask) => ask.json.dead_ids), ids);
		const stopped = fixture(answer);
		const end = await page.handle(stopped.client, 'requeue', { dead_ids: ids }, 230, () => false);
		assert.equal(stopped.asked.length, 1);
		assert.equal(end.done, 100);
	});
});

describe('words', () => {
	it('how long', () => {
		const said = [0, 999, 1000, 2400, 9999, 60_000, 90_000, 3_600_000, 9_000_000, 5 * 24 * HOUR + 2 * HOUR]
			.map(page.duration);
		assert.deepEqual(said, ['0 ms', '999 ms', '1 s', '2.4 s', '10 s', '1 min', '1 min 30 s', '1 h',
			'2 h 30 min', '5 d 2 h']);
		assert.equal(page.distance(1000, 1000), 'now');
		assert.equal(page.distance(0, 90_000), '1 min 30 s ago');
		assert.equal(page.distance(0, 3 * HOUR + 7 * MIN), '3.1 h ago');
		assert.equal(page.distance(30_000, 0), 'in 30 s');
		assert.equal(page.duration(-5), '0 ms', 'clocks may differ');
	});

	it('how long, at the limits of each unit', () => {
		const said = [-1, 1.4, 10_000, 10_900, 59_999, 61_000, 3_599_999, 3_660_000, 24 * HOUR - 1, 24 * HOUR, 99 * 24 * HOUR + HOUR,
			100 * 24 * HOUR + HOUR, 1000 * 24 * HOUR].map(page.duration);
		assert.deepEqual(said, ['0 ms', '1 ms', '10 s', '10 s', '59 s', '1 min 1 s', '59 min 59 s', '1 h 1 min', '23 h 59 min',
			'1 d', '99 d 1 h', '100 d', '1,000 d']);
		assert.deepEqual([0, 340, 999, 1000, 2400, 10_400, 59_000, 60_000, 150_000, 13 * MIN, HOUR, 9.5 * HOUR, 24 * HOUR,
			60 * HOUR, 240 * HOUR].map(page.brief), ['0 ms', '340 ms', '999 ms', '1 s', '2.4 s', '10 s', '59 s', '1 min', '3 min',
			'13 min', '1 h', '9.5 h', '1 d', '2.5 d', '10 d']);
	});

	it('when', () => {
		const NOW = Date.UTC(2026, 4, 20, 12);
		assert.deepEqual([-1000, -999, 0, 999, 1000].map((ms) => page.distance(NOW + ms, NOW)),
			['1 s ago', 'now', 'now', 'now', 'in 1 s']);
		assert.deepEqual([-599_000, -600_000, -601_000, 601_000].map((ms) => page.distance(NOW + ms, NOW)),
			['9 min 59 s ago', '10 min ago', '10 min ago', 'in 10 min 1 s']);
		assert.deepEqual([null, undefined, '', 'x', '1970-01-01T00:00:01Z'].map(page.ms), [null, null, null, null, 1000]);
		const noon = new Date(2026, 4, 20, 12, 3, 4, 50).getTime();
		assert.equal(page.precise(noon), '12:03:04.050');
		assert.equal(page.moment(noon, noon + 11 * HOUR), '12:03:04');
		assert.match(page.moment(noon, noon + 12 * HOUR), /20.*, 12:03:04$/);
	});

	it('why, how and whom', () => {
		assert.deepEqual(['max_retries', 'a_new_reason'].map(page.reasonWords), ['every retry used up', 'a new reason']);
		assert.deepEqual(['no_answer', 'a_new_one', null].map(page.outcomeWords), ['no answer', 'a new one', 'under way']);
		assert.deepEqual([null, 'predecessor', 'restart', 'lease_lost', 'fenced', 'accepted', 'duplicate', 'later', 'rejected',
			'a_new_one'].map(page.outcomeKind), ['open', 'open', 'open', 'open', 'open', 'good', 'good', 'good', 'bad', 'bad']);
		assert.deepEqual(['*', 'local', 'a.example'].map(page.destinationName), ['everything', 'inboxes here', 'a.example']);
		assert.deepEqual(page.ageHeads([MIN, HOUR]), ['< 1 min', '< 1 h', 'older']);
		assert.deepEqual(['x'.repeat(13), `01234567${'x'.repeat(5)}`, '0123456789abcd'].map(page.shortId),
			['x'.repeat(13), '01234567xxxxx', '01234567…abcd']);
	});

	it('who needs somebody first', () => {
		const paused = { paused_at: new Date().toISOString() };
		const list = [destination('b'), destination('a'), destination('few', { pending: 1 }), destination('many', { pending: 2 }),
			destination('half', { breaker: 'half_open' }), destination('paused', paused),
			destination('both', { ...paused, breaker: 'half_open' }), destination('open', { breaker: 'open' }), destination('*')];
		const given = [...list];
		assert.deepEqual(page.byNeed(list).map((one) => one.name),
			['*', 'open', 'both', 'paused', 'half', 'many', 'few', 'a', 'b']);
		assert.deepEqual(list, given, 'the list itself stays');
	});

	it('how much', () => {
		assert.equal(page.bytes(65 * 1024 * 1024), '65 MiB');
		assert.equal(page.bytes(1500), '1.5 KiB');
		assert.equal(page.bytes(0), '0 B');
		assert.equal(page.many(1, 'message'), '1 message');
		assert.equal(page.many(12_000, 'message'), '12,000 messages');
		assert.deepEqual([0, 1, 2, 50, 100].map((n) => page.shade(n, 100)), [0, 1, 2, 4, 5]);
		assert.deepEqual([0, 1].map((n) => page.shade(n, 1)), [0, 1]);
		assert.deepEqual([page.shade(-1, 100), page.shade(5, 0), page.shade(200, 100), page.shade(2, 2)], [0, 1, 5, 5]);
		assert.deepEqual([0.25, 9.94, 10.4, 1234].map(page.rate), ['0.3/s', '9.9/s', '10/s', '1,234/s']);
		assert.deepEqual([2.4, 1023, 1024, 10.4 * 1024, 3 * 1024 ** 4, 2000 * 1024 ** 4].map(page.bytes),
			['2 B', '1,023 B', '1 KiB', '10 KiB', '3 TiB', '2,000 TiB']);
		assert.deepEqual([0, 1, 2].map((n) => page.many(n, 'box', 'boxes')), ['0 boxes', '1 box', '2 boxes']);
		assert.equal(page.percent(0.1234), '12.3 %');
	});

	it('a route and back', () => {
		const route = page.routeOf('#dead?reason=rejected&sender=&destination=a%26b.example');
		assert.deepEqual(route, { view: 'dead', id: '', params: { reason: 'rejected', destination: 'a&b.example' } });
		assert.equal(page.hashOf('dead', route.params), '#dead?reason=rejected&destination=a%26b.example');
		assert.deepEqual(page.routeOf(''), { view: 'overview', id: '', params: {} });
		assert.deepEqual(page.routeOf('#message/x'), { view: 'message', id: 'x', params: {} });
		assert.deepEqual(page.routeOf('dead/a/b?x=1&y'), { view: 'dead', id: 'a', params: { x: '1' } });
		assert.deepEqual([page.queryOf({}), page.queryOf({ a: '' }), page.queryOf({ a: '', b: '1 2' })], ['', '', '?b=1+2']);
		assert.deepEqual([page.hashOf('dead'), page.messageHash('a/b')], ['#dead', '#message/a%2Fb']);
	});

	it('a pause grows, has a cap, and hears what the server asks for', () => {
		assert.deepEqual([1, 2, 3, 4, 5, 50].map((n) => page.pause(n, 0, () => 1)),
			[4000, 8000, 16_000, 30_000, 30_000, 30_000]);
		assert.equal(page.pause(1, 45, () => 0), 45_000);
		assert.ok(page.pause(1, 0, () => 0) >= 3000);
	});
});
