// SPDX-License-Identifier: MIT
//
// The two pictures of README.md: a conversation in the chat, and the admin page
// on a day on which one destination is down.  scripts/screenshots copies what
// this file takes to docs/pictures.  The pictures that are checked in cannot be
// compared byte for byte (fonts, times); they must be of the same size, small,
// and shown in README.md.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';

import { eventually, register, serverForFile } from '../e2e/harness.mjs';
import { Operator, StandIn, ago, destination, stats } from './admin-standin.mjs';
import { Person, SHOTS, SOURCE, browserForFile } from './browser.mjs';

const holder = browserForFile({ before, after });
const server = serverForFile({ before, after, afterEach });
const SIZES = { page: { width: 1000, height: 680 }, admin: { width: 1280, height: 870 } };
const MOST = 120_000; // bytes
const MIN = 60_000;
const LAST = 37; // samples of the admin page

/** Makes ${rest} receive all, and read ${count} messages of ${from}. */
async function readsFrom(rest, from, count)
{
	const own = await eventually(async () => {
		const found = (await rest.inbox()).events.filter((one) => one.kind === 'message' && one.from === from);
		return found.length >= count && found;
	}, `${count} messages`);
	await rest.ack((await rest.inbox()).head);
	await rest.read({ conversation: own[count - 1].conversation,
		upto_conversation_seq: own[count - 1].conversation_seq });
}

/** The figures of a server at the time ${at}, ${n} samples after the first one. */
const figures = (at, n) => stats({
	at: new Date(at).toISOString(),
	states: { pending: 180 + 9 * n + Math.round(14 * Math.sin(n / 2)), scheduled: 6, sending: 9 + n % 4, sent: 310,
		failed: 12 },
	totals: { accepted: 48_400 + 336 * n + Math.round(60 * Math.sin(n / 3)),
		sent: 48_200 + 327 * n + Math.round(60 * Math.sin(n / 3)), acked: 47_900 + 320 * n, retries: 512 + 6 * n,
		failed: 12 },
	dead_letters_open: 12, oldest_pending_age_ms: 14 * MIN, average_latency_ms: 64 + Math.round(9 * Math.sin(n / 4)),
	retry_rate: 0.011, relay: { last_turn_age_ms: 140, in_flight: 12 }, wal_bytes: 3_900_000,
	queues: { writer_waiting: 3 },
});

describe('the pictures of README.md', () => {
	it('the chat: a ward and the pharmacy', async (t) => {
		const names = ['ward-4', 'pharmacy', 'kitchen', 'transport', 'laboratory'];
		const [ward, pharmacy, kitchen, transport, laboratory] =
			await Promise.all(names.map((name) => register(server, name)));
		const says = async (rest, body) => rest.send('ward-4', body);

		await says(kitchen, 'The menu for Thursday, please by noon.');
		await says(transport, 'Bed 7 is back from X-ray.');
		await says(pharmacy, 'The infusion sets for tomorrow are packed: 12 in box A, 8 in box B.');
		const person = await Person.make(holder, server, 'ward-4', { viewport: SIZES.page });
		t.after(() => person.close());
		await person.logIn('station');
		await person.talkTo('pharmacy');
		await person.say('Thank you. Could you add two of the 500 ml ones?');
		await person.tick('Thank you. Could you add two of the 500 ml ones?', 'accepted');
		await pharmacy.send('ward-4', 'Done: box A has 14 now. Transport comes for both at half past three.');
		await person.say('Good, we sign for them at the ward.');
		await person.tick('Good, we sign for them at the ward.', 'accepted');
		await readsFrom(pharmacy, 'ward-4', 2);
		await person.tick('Good, we sign for them at the ward.', 'read');
		await person.say('And the pump of room 12: can it be checked before the night?');
		await pharmacy.ack((await eventually(async () => {
			const page = await pharmacy.inbox();
			return page.events.filter((one) => one.from === 'ward-4').length === 3 && page;
		}, 'the third message')).head);
		await person.tick('And the pump of room 12: can it be checked before the night?', 'delivered');
		await person.say('It beeps every few minutes.');
		await person.tick('It beeps every few minutes.', 'accepted');
		await says(laboratory, 'The results of nine o’clock are in.');
		await says(laboratory, 'One sample has to be taken again: room 3.');
		await person.item('laboratory').locator('.badge', { hasText: '2' }).waitFor();
		assert.equal(await person.page.locator('.msg').count(), 6);
		assert.equal((await ward.inbox()).unread, 4);
		await person.page.mouse.move(700, 100); // away from the list
		await person.shot('readme-page');
		await person.unharmed();
	});

	it('the admin page: one destination is down, all others work', async (t) => {
		const standin = new StandIn({ dead: Array.from({ length: 12 }, (_x, n) => ({ dead_id: n + 1, resolution: null })) });
		const start = Date.now() - 5 * MIN;
		let polls = 0;
		let n = 0;

		standin.stats = () => {
			polls++;
			// The page goes on to poll after the last sample.
			return figures(start + 8_000 * Math.min(n, LAST), Math.min(n, LAST));
		};
		standin.destinations = [destination('*'), destination('local', { pending: 20, in_flight: 8 }),
			destination('laboratory.example', { breaker: 'open', failures: 9, window: 1, pending: 401,
				last_error: 'connection refused', failing_since: ago(14 * MIN), last_success_at: ago(14 * MIN),
				last_failure_at: ago(MIN), next_probe_at: new Date(Date.now() + 2 * MIN).toISOString(),
				oldest_pending_age_ms: 14 * MIN, ages: [80, 96, 130, 95, 0, 0, 0, 0] })];
		const operator = await Operator.at(holder, server, standin, { viewport: SIZES.admin,
			prepare: async (context) => { await context.clock.install({ time: start }); } });
		t.after(() => operator.close());
		// One sample in eight seconds of the page's clock, for five minutes.
		for (; n <= LAST; n++) {
			const before = polls;
			await operator.page.clock.runFor(8_000);
			await eventually(() => polls > before, 'a sample');
		}
		await operator.page.getByText('laboratory.example is not reachable').waitFor();
		await operator.page.locator('.tile', { hasText: figures(start, LAST).totals.accepted.toLocaleString('en') })
			.waitFor();
		await operator.shot('readme-admin');
		await operator.unharmed();
	});

	it('are checked in, small, of this size, and shown', () => {
		const readme = fs.readFileSync(path.join(SOURCE, 'README.md'), 'utf8');
		for (const [name, { width, height }] of Object.entries(SIZES)) {
			const picture = fs.readFileSync(path.join(SOURCE, `docs/pictures/${name}.png`));
			assert.equal(picture.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n', name);
			assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [width, height],
				`${name}: scripts/screenshots takes it again`);
			assert.ok(picture.length > 20_000 && picture.length <= MOST, `${name}: ${picture.length} bytes`);
			assert.match(readme, new RegExp(`!\\[[^\\]]{20,}\\]\\(docs/pictures/${name}\\.png\\)`), `${name} with a text`);
		}
		assert.deepEqual(fs.readdirSync(path.join(SOURCE, 'docs/pictures')).sort(), Object.keys(SIZES).map((name) => `${name}.png`).sort());
	});
});
