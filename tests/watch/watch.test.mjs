// SPDX-License-Identifier: MIT
//
// The means by which an operator watches a server.  Every metric that the
// alerts, the dashboard or the documents name is shown by a running server,
// every alert has a run-book and tests, and Grafana and Prometheus can read the
// dashboard.  Each check is also tested with an example that it must catch.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { expectStatus, serverForFile, users } from '../e2e/harness.mjs';
import {
	alertsOf, checkExpressions, expressionsOf, judgeAlerts, judgeDashboard, judgeExpression,
	judgeOwnAlerts, namesIn, parsePage, promtool, read, sampleNames,
} from './names.mjs';

const server = serverForFile({ before, after, afterEach });

const rules = read('contrib/prometheus/alerts.yaml');
const tests = read('contrib/prometheus/alerts.test.yaml');
const operations = read('docs/operations.md');
const dashboard = JSON.parse(read('contrib/grafana/twinbox.json'));
/** Files that name metrics outside of expressions. */
const DOCUMENTS = ['docs/operations.md', 'docs/proxies.md', 'contrib/prometheus/alerts.yaml',
	'contrib/prometheus/alerts.test.yaml', 'README.md', 'ARCHITECTURE.md'];

async function page()
{
	return expectStatus(await server.rest().get('/metrics'), 200).text;
}

/**
 * Asserts that there are complaints, and that all of them are about ${what}.
 */
function caught(complaints, what)
{
	assert.ok(complaints.length > 0, `not caught: ${what}`);
	assert.ok(complaints.every((c) => what.test(c)), JSON.stringify(complaints));
}

describe('the alerts about other servers', () => {
	it('are named where the alerts begin, so that a server without federation can skip them', () => {
		const about = alertsOf(rules)
			.filter((rule) => /_destination_breaker\{state="closed"\}\) == 0|alert="peer_/.test(rule.expr)).map((rule) => rule.alert);
		const said = operations.match(/\. ((?:Twinbox\w+(?:, | and )?)+) are about \[other servers\]/)[1];

		assert.ok(about.length >= 4, about.join());
		assert.deepEqual(said.split(/, | and /), about);
	});
});

describe('the page of metrics', () => {
	it('R424 is of the format, strictly, and promtool finds nothing in it', async () => {
		const [ann, bob] = await users(server, 'ann', 'bob');
		const { id } = await ann.send(bob.name, 'x');
		await bob.received(id);
		const text = await page();
		const families = parsePage(text);
		assert.ok(families.size > 60, `${families.size} families`);
		for (const family of families.values()) {
			assert.ok(family.type && family.help.length > 3, family.name);
			assert.ok(family.samples.length > 0, `${family.name} shows nothing`);
		}
		assert.deepEqual(promtool(['check', 'metrics'], text), { status: 0, out: '' });
	});

	it('has few label values, all of them known beforehand but for names', async () => {
		const families = parsePage(await page());
		const labels = new Map();
		for (const { name, samples } of families.values()) {
			assert.ok(samples.length <= 3 * 100, `${name}: ${samples.length} samples`);
			for (const sample of samples) {
				for (const label of Object.keys(sample.labels))
					labels.set(label, name);
			}
		}
		assert.deepEqual([...labels.keys()].sort(), ['alert', 'destination', 'direction', 'event', 'le', 'outcome',
			'reason', 'severity', 'state', 'table', 'version']);
		const breakers = families.get('twinbox_destination_breaker').samples;
		assert.deepEqual(breakers.map((s) => [s.labels.destination, s.labels.state, s.value]), [
			['local', 'closed', 1], ['local', 'open', 0], ['local', 'half_open', 0]]);
		assert.equal(families.get('twinbox_ready').samples[0].value, 1);
	});

	it('what is not of the format is caught', async () => {
		const good = '# HELP a A\n# TYPE a gauge\na{b="c"} 1\n';
		parsePage(good);
		for (const bad of [
			good.trim(), good.replace('"c"', '"c"d"'), good.replace('"c"', '"\\x"'),
			good.replace(' 1\n', ' one\n'), good + 'a{b="c"} 2\n', good + 'other 1\n',
			good.replace('gauge', 'meter'), good.replace('# HELP a A\n', ''), good + '\n',
			good.replace('b="c"', 'b="c",b="c"'), good.replace('{b="c"}', '{b="c"')])
			assert.throws(() => parsePage(bad), Error, bad);
	});
});

describe('the names', () => {
	it('are those of the server: in the alerts', async () => {
		const families = parsePage(await page());
		const alerts = alertsOf(rules);
		assert.ok(alerts.length > 20);
		assert.deepEqual(alerts.flatMap((a) => judgeExpression(a.expr, a.alert, families)), []);
	});

	it('in the dashboard', async () => {
		const families = parsePage(await page());
		const expressions = expressionsOf(dashboard);
		assert.ok(expressions.length > 60);
		for (const v of dashboard.templating.list.filter((one) => one.type === 'query'))
			expressions.push({ where: `variable ${v.name}`, expr: v.query.query });
		assert.deepEqual(
			expressions.flatMap(({ where, expr }) => judgeExpression(expr, where, families)), []);
	});

	it('in the documents', async () => {
		const names = sampleNames(parsePage(await page()));
		let seen = 0;
		for (const document of DOCUMENTS) {
			for (const name of namesIn(read(document))) {
				seen++;
				// The name may also be that of a whole family.
				assert.ok(names.has(name) || names.has(`${name}_count`),
					`${document}: the server has no metric ${name}`);
			}
		}
		assert.ok(seen > 40, `${seen} names`);
	});

	it('a name, a label, a label\'s value that the server does not have is caught', async () => {
		const families = parsePage(await page());
		const judge = (expr) => judgeExpression(expr, 'sample', families);
		assert.deepEqual(judge('twinbox_wal_bytes > 1'), []);
		assert.deepEqual(judge('twinbox_destination_breaker{state="open",instance="x"}'), []);
		caught(judge('rate(twinbox_wal_octets[5m])'), /no metric twinbox_wal_octets/);
		caught(judge('twinbox_delivery_seconds > 1'), /no metric twinbox_delivery_seconds/);
		caught(judge('process_cpu_seconds > 1'), /no metric process_cpu_seconds/);
		caught(judge('twinbox_wal_bytes{destination="local"}'), /no label destination/);
		caught(judge('twinbox_destination_breaker{state="ajar"}'), /no state="ajar"/);
	});
});

describe('the alerts', () => {
	it('R96 R97 R374 R375 R376 R377 R378 have run-books, words and tests', () => {
		assert.deepEqual(judgeAlerts({ rules, tests, operations }), []);
	});

	it('R95 and the server\'s own are among them', async () => {
		assert.deepEqual(judgeOwnAlerts(parsePage(await page()), rules), []);
	});

	it('one without any of these is caught', async () => {
		const judge = (what) => judgeAlerts({ rules, tests, operations, ...what });
		const without = (text, piece) => {
			assert.ok(text.includes(piece), piece);
			return text.replace(piece, '');
		};
		caught(judge({ rules: rules.replace('docs/operations.md#twinboxdown', 'docs/x.md') }),
			/^TwinboxDown: no run-book/);
		caught(judge({ rules: rules.replace('severity: error', 'severity: grave') }),
			/no severity|not in the table/);
		caught(judge({ rules: rules.replace('alert: TwinboxFenced', 'alert: TwinboxFenced2') }),
			/TwinboxFenced/);
		caught(judge({ operations: without(operations, '### TwinboxFenced\n') }), /TwinboxFenced: no \*\*/);
		caught(judge({ operations: operations + '\n### TwinboxGone\nx\n' }), /no alert TwinboxGone/);
		caught(judge({ operations: without(operations, '| [TwinboxFenced]') }), /not in the table/);
		caught(judge({ operations: without(operations, '**Clears** at 10.') }), /FailedMany: no \*\*Clears/);
		caught(judge({ tests: tests.replace(/ {2}- name: TwinboxFenced\n[^]*?\n\n/, '') }),
			/TwinboxFenced: no test/);
		const families = parsePage((await page()).replace('alert="relay_silent",severity="critical"',
			'alert="relay_mute",severity="critical"'));
		caught(judgeOwnAlerts(families, rules), /no alert TwinboxRelayMute/);
		caught(judgeOwnAlerts(parsePage(await page()), rules.replace(
			'severity: error', 'severity: warning')), /outbox_failed_many: error, but/);
		caught(judgeOwnAlerts(new Map(), rules), /no alerts of its own/);
	});
});

describe('the dashboard', () => {
	it('is one that Grafana reads', () => {
		assert.deepEqual(judgeDashboard(dashboard), []);
		assert.ok(dashboard.panels.length > 30);
	});

	it('has expressions that Prometheus reads', () => {
		const expressions = expressionsOf(dashboard);
		const { status, out } = checkExpressions(expressions);
		assert.equal(status, 0, out);
		assert.match(out, new RegExp(`SUCCESS: ${expressions.length} rules found`));
	});

	it('one with faults is caught', () => {
		const judge = (change) => {
			const copy = JSON.parse(JSON.stringify(dashboard));
			change(copy, copy.panels.find((p) => p.title === 'Rates'));
			return judgeDashboard(copy);
		};
		caught(judge((_d, p) => { p.gridPos.x = 20; }), /outside the grid|lies over/);
		caught(judge((_d, p) => { p.gridPos.x = 0; }), /lies over another/);
		caught(judge((_d, p) => { p.id = 1; }), /its id is not its own/);
		caught(judge((_d, p) => { p.type = 'graph'; }), /type graph/);
		caught(judge((_d, p) => { p.targets[1].refId = 'A'; }), /two of one name/);
		caught(judge((_d, p) => { p.datasource = null; }), /no data source/);
		caught(judge((_d, p) => { p.targets[0].expr += ' + $node'; }), /no variable \$node/);
		caught(judge((d) => { d.schemaVersion = 16; }), /schema of old/);
		assert.notEqual(checkExpressions([{ expr: 'sum(rate(twinbox_wal_bytes[5m])' }]).status, 0);
	});
});
