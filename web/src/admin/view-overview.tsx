// SPDX-License-Identifier: MIT
// The overview: the alerts, the figures, and their course while the page was open.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import { alertsOf, type Alert } from './alerts.ts';
import { StatusIcon } from './parts.tsx';
import { Plot } from './plot.tsx';
import type { Destinations, Stats } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { brief, bytes, count, duration, many, percent, rate } from './words.ts';

const FIRST = 4; // number of alerts shown at first, besides the urgent ones

function AlertLine({ one }: { one: Alert }): JSX.Element
{
	return (
		<li class={one.bad ? 'bad' : 'wait'}>
			<StatusIcon tone={one.bad ? 'bad' : 'wait'} />
			<div>
				<p class="title"><span class="sr">{one.bad ? 'Urgent: ' : 'Look soon: '}</span>
					{one.href ? <a href={one.href}>{one.title}</a> : one.title}</p>
				<p class="soft">{one.cure}</p>
			</div>
		</li>
	);
}

function Alerts({ alerts }: { alerts: Alert[] }): JSX.Element
{
	if (alerts.length === 0)
		return <section class="alerts calm" aria-label="Needs attention">
			<p class="title"><StatusIcon tone="good" />Nothing needs you.</p>
			<p class="soft">Messages flow, nothing is paused, and no dead letter waits for a decision.</p>
		</section>;
	const first = alerts.filter((one, i) => one.bad || i < FIRST);
	const rest = alerts.slice(first.length);
	return (
		<section class="alerts" aria-labelledby="alerts-title">
			<h2 id="alerts-title">Look at {alerts.length === 1 ? 'this' : 'these first'}</h2>
			<ol>{first.map((one) => <AlertLine key={one.id} one={one} />)}</ol>
			{rest.length > 0 && <details>
				<summary>{rest.length} more to look at soon</summary>
				<ol>{rest.map((one) => <AlertLine key={one.id} one={one} />)}</ol>
			</details>}
		</section>
	);
}

function Tile(props: { name: string; value: string; note?: string; href?: string; bad?: boolean }): JSX.Element
{
	return (
		<div class={`tile ${props.bad ? 'bad' : ''}`}>
			<dt>{props.href ? <a href={props.href}>{props.name}</a> : props.name}</dt>
			<dd>{props.value}{props.note && <span class="soft">{props.note}</span>}</dd>
		</div>
	);
}

function Tiles({ stats }: { stats: Stats }): JSX.Element
{
	const { history } = useAdmin().client;
	const { states, totals, relay } = stats;
	const last = (column: (number | null)[]) => column[column.length - 1] ?? null;
	const perSecond = (n: number | null) => (n === null ? '' : rate(n));
	const retries = history.recentRetryRate() ?? stats.retry_rate;

	return (
		<dl class="tiles">
			<Tile name="Pending" value={count(states.pending)} href="#outbox?state=pending"
				note={stats.oldest_pending_age_ms === null ? 'none waits' :
					`oldest ${duration(stats.oldest_pending_age_ms)}`} />
			<Tile name="Scheduled" value={count(states.scheduled)} href="#outbox?state=scheduled"
				note="for later" />
			<Tile name="Sending" value={count(states.sending)} href="#outbox?state=sending"
				bad={stats.stuck_sending > 0} note={stats.stuck_sending > 0 ?
					`${count(stats.stuck_sending)} stuck` : `${count(relay.in_flight)} in flight`} />
			<Tile name="Sent" value={count(totals.sent)}
				note={perSecond(last(history.rate((one) => one.totals.sent)))} />
			<Tile name="Accepted" value={count(totals.accepted)}
				note={perSecond(last(history.rate((one) => one.totals.accepted)))} />
			<Tile name="Failed" value={count(states.failed)} href="#outbox?state=failed"
				note={`${count(states.expired)} expired`} />
			<Tile name="Dead letters" value={count(stats.dead_letters_open)} href="#dead"
				bad={stats.dead_letters_open > 0} note="to decide" />
			<Tile name="Latency" value={stats.average_latency_ms === null ? '–' :
				duration(stats.average_latency_ms)} note="average of the hour" />
			<Tile name="Retry rate" value={percent(retries)} bad={retries > 0.1}
				note={`${many(totals.retries, 'retry', 'retries')} ever`} />
			<Tile name="Last turn of the relay" value={relay.last_turn_age_ms === null ? 'never' :
				relay.last_turn_age_ms < 1000 ? 'just now' : `${duration(relay.last_turn_age_ms)} ago`}
			bad={relay.last_turn_age_ms === null || relay.last_turn_age_ms > 10_000} />
			<Tile name="Write-ahead log" value={bytes(stats.wal_bytes)}
				note={`${count(stats.queues.writer_waiting)} wait to be written`} />
			<Tile name="Near failure" value={count(stats.near_failure)} href="#outbox?near_failure=3"
				note="few retries left" />
		</dl>
	);
}

function Plots({ stats }: { stats: Stats }): JSX.Element
{
	const { history } = useAdmin().client;
	// Computed once for each answer, even if the page is drawn again for another reason.
	const made = useMemo(() => ({
		times: history.times(),
		depth: [
			{ name: 'Pending', colour: 1 as const, values: history.figure((one) => one.states.pending) },
			{ name: 'Sending', colour: 2 as const, values: history.figure((one) => one.states.sending) },
			{ name: 'Dead letters', colour: 3 as const,
				values: history.figure((one) => one.dead_letters_open) }],
		rates: [
			{ name: 'Accepted', colour: 1 as const, values: history.rate((one) => one.totals.accepted) },
			{ name: 'Sent', colour: 2 as const, values: history.rate((one) => one.totals.sent) },
			{ name: 'Failed', colour: 3 as const, values: history.rate((one) =>
				one.totals.failed + one.totals.expired) }],
		latency: [
			{ name: 'Average of the hour', colour: 1 as const,
				values: history.figure((one) => one.average_latency_ms) }],
		retries: [
			{ name: 'Last minute', colour: 1 as const, values: history.retryRate() },
			{ name: 'Ever', colour: 2 as const, values: history.figure((one) => one.retry_rate) }],
	}), [stats.at]);

	return (
		<section aria-labelledby="plots-title">
			<h2 id="plots-title">While this page was open</h2>
			<div class="plots">
				<Plot title="Depth" times={made.times} lines={made.depth} words={count} whole />
				<Plot title="Messages a second" times={made.times} lines={made.rates} words={rate} />
				<Plot title="Latency" times={made.times} lines={made.latency} words={duration}
					axis={brief} />
				<Plot title="Retry rate" times={made.times} lines={made.retries} words={percent} />
			</div>
		</section>
	);
}

export function OverviewView(): JSX.Element
{
	const { client } = useAdmin();
	const found = useWatch<Destinations>('/v1/admin/destinations');
	const { stats } = client;

	if (!stats)
		return <p class="hint" role="status">Asking the server …</p>;
	return (
		<>
			<h1 tabIndex={-1}>Overview</h1>
			<Alerts alerts={alertsOf(stats, found.data?.destinations ?? [], client.history, Date.parse(stats.at),
				client.statsAt)} />
			<Tiles stats={stats} />
			<Plots stats={stats} />
		</>
	);
}
