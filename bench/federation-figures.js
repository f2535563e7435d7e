// SPDX-License-Identifier: MIT
//
// The rows of the table of bench-federation.js.
'use strict';

// Bytes to MB.
const MB = 1 / (1024 * 1024);

// name of the reports, member, text, target, scale
function figures({ outage, bad, round_trips_ms }) {
	const many = outage.toLocaleString('en');

	return [
		['oneway', 'rate', 'one way, 64 pairs: arrivals/s', '>= 5000'],
		['oneway', 'late_rate', '  their second half', ''],
		['oneway', 'send_rate', '  sends/s meanwhile', ''],
		['oneway', 'cpu_a_us', '  processor time of the sending ' +
		    'server a message, us', ''],
		['oneway', 'cpu_b_us', '  of the receiving one, us', ''],
		['greet', 'ms', '  first 64 messages after both have ' +
		    'started, ms', ''],
		...round_trips_ms.flatMap((ms) => [
			[`rtt${ms}`, 'rate', 'through a proxy with a round ' +
			    `trip of ${ms} ms: arrivals/s`, ''],
			[`rtt${ms}-to-oneway`, 'rate', '  to one way',
				ms === 0 ? '' : '>= 0.7'],
			[`rtt${ms}-to-oneway`, 'late_rate',
				'  second half to second half', ''],
			[`rtt${ms}-proxy`, 'ms',
				'  round trip as it was, ms', ''],
		]),
		['outage', 'first_after_ms', `${many} waiting, the server is ` +
		    'back: probe to first message, ms', '<= 5000'],
		['outage', 'tried_after_ms',
			'  ready, until it is probed, ms', ''],
		['outage', 'drain_rate', '  first to last message: arrivals/s',
			''],
		['outage', 'back_rate', '  ready to last message: arrivals/s',
			''],
		['outage', 'local', '  while it is away: deliveries/s here', ''],
		['outage-to-none', 'local', '    to the same without an outage',
			'>= 0.9'],
		['outage', 'away', '  while it is away: arrivals/s at a third ' +
		    'server', ''],
		['outage-to-none', 'away', '    to the same without an outage',
			'>= 0.9'],
		['bad-peers', 'rate', `${bad} silent and ${bad} garbled ` +
		    'servers to send to: arrivals/s at the good one', ''],
		['bad-peers-to-oneway', 'rate', '  to one way', '>= 0.8'],
		['bad-peers-to-oneway', 'late_rate',
			'  second half to second half', ''],
		['bad-peers', 'held', '  requests without an answer when it ' +
		    'began', ''],
		['bad-peers', 'requests', '  requests to them meanwhile', ''],
		['strangers', 'rate', `${bad} silent and ${bad} garbled ` +
		    'clients of the receiver: arrivals/s', ''],
		['strangers-to-oneway', 'rate', '  to one way', '>= 0.8'],
		['memory-off', 'bytes', 'idle resident memory, federation ' +
		    'off, MB', '', MB],
		['memory-open', 'bytes', '  federation open, MB', '', MB],
		['memory-open-to-off', 'bytes', '  open less off, MB', '',
			MB],
		['memory-against', 'bytes', '  the other server, MB', '',
			MB],
		['memory-off-to-against', 'bytes', '  off less the other ' +
		    'server, MB', '<= 1', MB],
		['memory-open-to-against', 'bytes', '  open less the other ' +
		    'server, MB', '<= 3', MB],
		['load', 'average', 'load average before each run', ''],
	];
}

module.exports = { figures };
