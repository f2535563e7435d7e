// SPDX-License-Identifier: MIT
// The alerts of the admin page: what an operator should deal with first, in words, the most urgent
// first.

import type { History } from './history.ts';
import type { Destination, Stats } from './types.ts';
import { bytes, count, distance, duration, many, ms, percent } from './words.ts';

export interface Alert {
	id: string;
	bad: boolean;  // true: messages are stuck or refused; false: look soon
	title: string;
	cure: string;
	href?: string; // the view where an operator can act
}

const RELAY_SILENT_MS = 10_000;
const OLD_MS = 15 * 60_000;
const BREAKER_MS = 10 * 60_000;
const LATENCY_MS = 5 * 60_000;
const WAL_BYTES = 64 * 1024 * 1024;
const SKEW_MS = 60_000;
const GROWTH = 100; // dead letters in a minute

/** Alerts that only the server can raise: [title, cure]. */
const OWN: Record<string, [string, string]> = {
	peer_keys_changed: ['The keys of another server have changed',
		'Ask its operator whether that was meant, by another way than these messages; then pin the key, or block it.'],
	peer_restored: ['Another server may have lost what was sent to it',
		'Afterwards compare both databases (twinboxd fsck --with-peer).'],
	peer_clock_off: ['The clock of another server is off',
		'One of the two clocks is wrong: both operators compare theirs with the time.'],
};

/** Returns all alerts, computed from the last answers of the server. */
export function alertsOf(stats: Stats, destinations: Destination[], history: History,
	now = Date.parse(stats.at), here = now): Alert[]
{
	const found = [...fromDestinations(destinations, now), ...fromPeers(stats),
		...fromStats(stats, destinations, history)];

	if (Math.abs(here - now) > SKEW_MS)
		found.push({ id: 'clock', bad: false,
			title: `The server’s clock and this computer’s differ by ${duration(Math.abs(here - now))}`,
			cure: 'Find out which one is wrong; the server times retries and expiry by its own.' });
	// The sort is stable, so alerts of equal urgency stay in the order above, by importance.
	return found.sort((a, b) => Number(b.bad) - Number(a.bad));
}

function fromDestinations(destinations: Destination[], now: number): Alert[]
{
	const found: Alert[] = [];

	for (const d of destinations) {
		const paused = ms(d.paused_at);
		if (paused !== null && d.name === '*')
			found.push({ id: 'paused *', bad: true, title: 'Everything is paused',
				cure: `${pausedBy(d, now)} Messages are accepted and wait. Resume when the reason is gone.`,
				href: '#destinations' });
		else if (paused !== null)
			found.push({ id: `paused ${d.name}`, bad: d.name === 'local',
				title: `${d.name === 'local' ? 'Delivery to the inboxes here' : d.name} is paused`,
				cure: `${pausedBy(d, now)} ${waiting(d)} Resume when the reason is gone.`,
				href: '#destinations' });
		if (d.breaker === 'closed')
			continue;
		const since = ms(d.failing_since);
		const probe = ms(d.next_probe_at);
		found.push({ id: `breaker ${d.name}`, href: '#destinations',
			bad: d.breaker === 'open' && (since === null || now - since > BREAKER_MS),
			title: d.breaker === 'half_open' ? `${d.name} is being tried again` :
				`${d.name} is not reachable${since === null ? '' : `, for ${duration(now - since)}`}`,
			cure: `${d.last_error ? `It says: ${d.last_error}. ` : ''}${waiting(d)} ${
				probe === null ? '' : probe <= now ? 'The next try is due. ' :
					`The next try is ${distance(probe, now)}. `}Nothing is lost meanwhile.` });
	}
	return found;
}

function pausedBy(d: Destination, now: number): string
{
	const reason = d.pause_reason ? `: “${d.pause_reason}”` : '';
	return `By ${d.paused_by ?? 'somebody'}, ${distance(ms(d.paused_at)!, now)}${reason}.`;
}

const waiting = (d: Destination) => d.pending === 0 ? 'No message waits for it.' :
	d.pending === 1 ? 'One message waits for it.' : `${count(d.pending)} messages wait for it.`;

function fromPeers(stats: Stats): Alert[]
{
	return stats.alerts.flatMap(({ name, severity, text }) => {
		const [title, cure] = Object.prototype.hasOwnProperty.call(OWN, name) ? OWN[name]! : [];
		return title && cure ? [{ id: name, bad: severity !== 'warning', title, cure: `${text}. ${cure}` }] : [];
	});
}

function fromStats(stats: Stats, destinations: Destination[], history: History): Alert[]
{
	const found: Alert[] = [];
	const { states, limits, relay } = stats;
	const explained = destinations.some((d) => d.breaker !== 'closed' || d.paused_at !== null);
	const add = (id: string, bad: boolean, title: string, cure: string, href?: string) =>
		found.push({ id, bad, title, cure, ...(href ? { href } : {}) });

	if (relay.last_turn_age_ms === null || relay.last_turn_age_ms > RELAY_SILENT_MS)
		add('relay', true, relay.last_turn_age_ms === null ? 'The relay has not turned yet' :
			`The relay has been silent for ${duration(relay.last_turn_age_ms)}`,
		'It delivers everything. Look at the server’s log; if nothing explains it, restart the server: ' +
			'what was accepted is kept.');
	const full = limits.max_pending_total > 0 ? states.pending / limits.max_pending_total : 0;
	if (full >= 0.8)
		add('full', full >= 1, full >= 1 ? 'The outbox is full: new messages are refused' :
			`The outbox is ${percent(full)} full`,
		`${count(states.pending)} of ${count(limits.max_pending_total)} messages wait. See which ` +
			'destination they wait for.', '#destinations');
	else if (states.pending > 100 && !explained) // unless an alert above explains it
		add('pending', states.pending > 1000, `${many(states.pending, 'message')} wait`,
			'See which destination they wait for, and how long they have.', '#destinations');
	if (stats.oldest_pending_age_ms !== null && stats.oldest_pending_age_ms > OLD_MS && !explained)
		add('old', true, `The oldest message waits for ${duration(stats.oldest_pending_age_ms)}`,
			'No destination is away or paused: look at what is stuck and at the lanes.', '#lanes');
	if (stats.stuck_sending > 0)
		add('stuck', true, `${many(stats.stuck_sending, 'message or receipt is',
			'messages or receipts are')} stuck in sending`,
			'The relay should have taken them up again. Open one and see its attempts; it may make the relay fail.',
			'#outbox?state=sending&stuck=30m');
	const growth = history.growth((one) => one.dead_letters_open, 60_000);
	if (stats.dead_letters_open > 0)
		add('dead', stats.dead_letters_open > 10 || growth >= GROWTH,
			`${many(stats.dead_letters_open, 'dead letter')} to decide about`,
			`${growth >= GROWTH ? `${count(growth)} more within a minute. ` : ''}` +
				'Find the reason they share; then requeue or discard them.', '#dead');
	if (stats.near_failure > 0)
		add('near', false, `${many(stats.near_failure, 'message or receipt has',
			'messages or receipts have')} few retries left`,
			'If the refusals go on, they soon become dead letters.', '#outbox?near_failure=3');
	const retries = history.recentRetryRate() ?? stats.retry_rate;
	if (retries > 0.1)
		add('retries', false, `${percent(retries)} of attempts had to be repeated`,
			'See which destination refuses, and with which words.', '#destinations');
	if (stats.average_latency_ms !== null && stats.average_latency_ms > LATENCY_MS)
		add('latency', false, `A message takes ${duration(stats.average_latency_ms)} on average`,
			'Over the last hour, from acceptance to the inbox. See where they wait.', '#destinations');
	if (stats.wal_bytes > WAL_BYTES)
		add('wal', stats.wal_bytes > 16 * WAL_BYTES, `The write-ahead log has ${bytes(stats.wal_bytes)}`,
			'A reader or a back-up holds it. Look for a back-up that does not end, and for free space.');
	return found;
}
