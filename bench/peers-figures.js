// SPDX-License-Identifier: MIT
//
// The table of bench-peers.js: medians, and the ratios of each run, because the
// speed of the disk changes from minute to minute.
'use strict';

const lib = require('./bench-lib.js');

const round = (v) => v >= 100 ? Math.round(v).toLocaleString('en') :
    v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3);

const SECONDS_EACH_1000 = (report) => report.cpu_server / report.rate * 1000;

// Text, figure, value of a report, and { side: target of the ratio to it }.
const ROWS = [
	['durable sends/s, 1 connection', 'send1', (r) => r.rate, { postgres: '>= 0.65' }],
	['durable sends/s, 64 connections', 'send64', (r) => r.rate, { postgres: '>= 1.2' }],
	['send to frame, 64 pairs, frames/s', 'flow', (r) => r.rate, { redis: '>= 0.42' }],
	['circles with durable receipt/s, 64 pairs', 'circle', (r) => r.rate, { redis: '>= 0.8' }],
	['send to frame at 500/s: p50, ms', 'latency', (r) => r.latency_p50_us / 1000,
		{ redis: '<= 1.3' }],
	['  p99, ms', 'latency', (r) => r.latency_p99_us / 1000, {}],
	['CPU s for 1,000: sends of 1 connection', 'send1', SECONDS_EACH_1000, {}],
	['  sends of 64', 'send64', SECONDS_EACH_1000, {}],
	['  send to frame', 'flow', SECONDS_EACH_1000, {}],
	['  circles', 'circle', SECONDS_EACH_1000, {}],
	['KB written for each: sends of 1', 'send1', (r) => r.written_bytes_per_message / 1000, {}],
	['  sends of 64', 'send64', (r) => r.written_bytes_per_message / 1000, {}],
	['  send to frame', 'flow', (r) => r.written_bytes_per_message / 1000, {}],
	['  circles', 'circle', (r) => r.written_bytes_per_message / 1000, {}],
	['syncs for each: sends of 1', 'syncs send1', (r) => r.each, {}],
	['  sends of 64', 'syncs send64', (r) => r.each, {}],
	['  send to frame', 'syncs flow', (r) => r.each, {}],
	['  circles', 'syncs circle', (r) => r.each, {}],
	['memory after the circles, MB', 'circle', (r) => r.memory_bytes / 1e6, {}],
];

// Returns the median of ${values}; if there are several, with the least and most.
function cell(values) {
	if (values.length === 0)
		return '';
	const median = round(lib.median(values));
	return values.length === 1 ? median :
		`${median} [${round(Math.min(...values))}-${round(Math.max(...values))}]`;
}

// ${reports} maps "figure side" to the reports of that side, one for each run.
function tableOf(reports) {
	const rows = [['figure', 'twinbox', 'redis', 'PostgreSQL', 'to redis', 'to PostgreSQL',
		'asked']];

	for (const [text, figure, of, asked] of ROWS) {
		const values = (side) => (reports.get(`${figure} ${side}`) ?? []).map(of);
		const ours = values('twinbox');
		const ratio = (side) => cell(values(side).map((v, i) => ours[i] / v));
		if (ours.length > 0)
			rows.push([text, cell(ours), cell(values('redis')), cell(values('postgres')),
				ratio('redis'), ratio('postgres'), Object.entries(asked)
				.map(([side, what]) => `${what} (${side})`).join(' ')]);
	}
	const load = (reports.get('load') ?? []).map((r) => r.average);
	rows.push(['load average before each run', cell(load), '', '', '', '', '']);
	return lib.table(rows);
}

module.exports = { tableOf };
