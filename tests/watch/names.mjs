// SPDX-License-Identifier: MIT
//
// Compares what the documents for operators say about metrics and alerts with
// the server.  The functions judge…() return a list of complaints.
// watch.test.mjs shows that each of them complains about a wrong example.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const YAML = createRequire(new URL('../e2e/package.json', import.meta.url))('yaml');

export const SOURCE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const read = (name) => fs.readFileSync(path.resolve(SOURCE, name), 'utf8');

// ---- the server's page -----------------------------------------------------

/**
 * Parses a Prometheus page strictly by the format 0.0.4.  Returns a Map from
 * names to {type, help, samples: [{name, labels, value}]}.  Throws on any
 * deviation from the format.
 */
export function parsePage(text)
{
	const families = new Map();
	const seen = new Set();
	let family;

	if (!text.endsWith('\n'))
		throw new Error('the last line has no end');
	for (const line of text.slice(0, -1).split('\n')) {
		const head = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
		if (head) {
			const [, what, name, rest] = head;
			if (what === 'HELP') {
				if (families.has(name))
					throw new Error(`twice: ${name}`);
				family = { name, help: rest, samples: [] };
				families.set(name, family);
			} else {
				if (family?.name !== name || family.type)
					throw new Error(`TYPE without its HELP: ${line}`);
				if (!/^(counter|gauge|histogram)$/.test(rest))
					throw new Error(`no type: ${line}`);
				family.type = rest;
			}
			continue;
		}
		const sample = parseSample(line);
		const bare = family?.type === 'histogram' ?
			sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name;
		if (!family || family.name !== bare)
			throw new Error(`a sample outside its family: ${line}`);
		const key = `${sample.name}${JSON.stringify(sample.labels)}`;
		if (seen.has(key))
			throw new Error(`twice: ${line}`);
		seen.add(key);
		family.samples.push(sample);
	}
	return families;
}

function parseSample(line)
{
	const head = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{)?/.exec(line);
	const labels = {};
	let rest;

	if (!head)
		throw new Error(`no sample: ${line}`);
	rest = line.slice(head[0].length);
	while (head[2]) {
		const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"([,}])/.exec(rest);
		if (!label || Object.hasOwn(labels, label[1]))
			throw new Error(`bad labels: ${line}`);
		labels[label[1]] = label[2].replace(/\\(.)/g, (_all, c) => (c === 'n' ? '\n' : c));
		rest = rest.slice(label[0].length);
		if (label[3] === '}')
			break;
	}
	if (!/^ (-?[0-9.e+-]+|[+-]Inf|NaN)$/.test(rest))
		throw new Error(`no value: ${line}`);
	return { name: head[1], labels, value: Number(rest.trim().replace('Inf', 'Infinity')) };
}

/** Returns the names that may appear in an expression about ${families}. */
export function sampleNames(families)
{
	return new Set([...families.values()].flatMap((f) => f.samples.map((s) => s.name)));
}

// ---- expressions -----------------------------------------------------------

/** Returns the metrics of twinbox and of the process that ${text} names. */
export function namesIn(text)
{
	return [...new Set(text.match(/\b(twinbox|process)_[a-z0-9_]+\b/g) ?? [])];
}

/**
 * Returns the conditions label="value" in the selectors of ${expr}: [{name,
 * label, value}].
 */
function selectorsIn(expr)
{
	return [...expr.matchAll(/\b((?:twinbox|process)_[a-z0-9_]+)\{([^}]*)\}/g)].flatMap(
		([, name, inside]) => [...inside.matchAll(/([a-z_]+)\s*=\s*"([^"]*)"/g)].map(
			([, label, value]) => ({ name, label, value })));
}

/** The labels that Prometheus adds to each series by itself. */
const TARGET_LABELS = ['job', 'instance'];
/** Labels whose values are known only when they occur. */
const OPEN_LABELS = ['destination', 'version'];

/**
 * Returns complaints about ${expr}, which is from ${where}, compared with what
 * the server shows.
 */
export function judgeExpression(expr, where, families)
{
	const names = sampleNames(families);
	const complaints = namesIn(expr).filter((name) => !names.has(name)).map(
		(name) => `${where}: the server has no metric ${name}`);

	for (const { name, label, value } of selectorsIn(expr)) {
		if (!names.has(name) || TARGET_LABELS.includes(label))
			continue;
		const values = [...families.values()].flatMap((f) => f.samples)
			.filter((s) => s.name === name).map((s) => s.labels[label]);
		if (!values.some((v) => v !== undefined))
			complaints.push(`${where}: ${name} has no label ${label}`);
		else if (!OPEN_LABELS.includes(label) && !values.includes(value))
			complaints.push(`${where}: ${name} has no ${label}="${value}"`);
	}
	return complaints;
}

// ---- alerts ----------------------------------------------------------------

export function alertsOf(text)
{
	return YAML.parse(text).groups.flatMap((group) => group.rules);
}

/** Returns the anchor of a heading in a Markdown page. */
const anchor = (heading) => heading.toLowerCase().replace(/[^a-z0-9 -]/g, '').replace(/ /g, '-');

/**
 * Returns complaints about the alerts themselves: severity, words, run-book,
 * tests.
 */
export function judgeAlerts({ rules, tests, operations })
{
	const complaints = [];
	const sections = new Map();
	let at;

	for (const line of operations.split('\n')) {
		const heading = /^### (.+)$/.exec(line);
		if (heading)
			sections.set(at = heading[1], '');
		else if (/^## /.test(line))
			at = undefined;
		else if (at)
			sections.set(at, sections.get(at) + line + '\n');
	}
	const alerts = alertsOf(rules);
	const names = alerts.map((a) => a.alert);
	for (const a of alerts) {
		const say = (text) => complaints.push(`${a.alert}: ${text}`);
		if (names.filter((n) => n === a.alert).length > 1)
			say('twice');
		if (!['warning', 'error', 'critical'].includes(a.labels?.severity))
			say('no severity');
		if (!a.annotations?.summary?.includes('$labels.'))
			say('its summary does not say where');
		if (!a.annotations?.description)
			say('no description');
		if (a.annotations?.runbook_url !== `docs/operations.md#${anchor(a.alert)}`)
			say('no run-book');
		const section = sections.get(a.alert) ?? '';
		for (const part of ['**You see:**', '**Do:**', '**Clears**']) {
			if (!section.replace('**Look and do:**', '**Do:**').includes(part))
				say(`no ${part} in its section of operations.md`);
		}
		if (!new RegExp(`^\\| \\[${a.alert}\\]\\(#${anchor(a.alert)}\\) \\| ${a.labels?.severity} \\|`,
			'm').test(operations))
			say('not in the table of operations.md with its severity');
	}
	for (const section of sections.keys()) {
		if (/^Twinbox/.test(section) && !names.includes(section))
			complaints.push(`operations.md: there is no alert ${section}`);
	}
	complaints.push(...judgeTests(names, YAML.parse(tests).tests));
	return complaints;
}

/**
 * Checks that each alert has a case in which it fires, one in which it is
 * silent, and a series just below its threshold.
 */
function judgeTests(names, tests)
{
	const complaints = [];

	for (const name of names) {
		const cases = tests.filter((t) => t.name === name)
			.flatMap((t) => t.promql_expr_test.map((c) => ({ ...c, series: t.input_series })))
			.filter((c) => c.expr.includes(`alertname="${name}"`));
		const fires = cases.filter((c) => c.exp_samples.length > 0);
		const silent = cases.filter((c) => c.exp_samples.length === 0);
		if (fires.length === 0)
			complaints.push(`${name}: no test in which it fires`);
		if (silent.length === 0)
			complaints.push(`${name}: no test in which it is silent`);
		if (!cases.some((c) => c.series.some((s) => s.series.includes('instance="under"'))))
			complaints.push(`${name}: no test just below`);
	}
	return complaints;
}

/**
 * Checks that each of the server's own alerts has a rule with the same
 * severity.
 */
export function judgeOwnAlerts(families, rules)
{
	const alerts = alertsOf(rules);
	const own = families.get('twinbox_alert')?.samples ?? [];
	const complaints = own.length === 0 ? ['the server has no alerts of its own'] : [];

	for (const { labels } of own) {
		const name = 'Twinbox' + labels.alert.split('_').map(
			(word) => word[0].toUpperCase() + word.slice(1)).join('');
		const rule = alerts.find((a) => a.alert === name);
		if (!rule)
			complaints.push(`${labels.alert}: there is no alert ${name}`);
		else if (rule.labels.severity !== labels.severity)
			complaints.push(`${labels.alert}: ${labels.severity}, but ${name} is ${rule.labels.severity}`);
	}
	return complaints;
}

// ---- the dashboard ---------------------------------------------------------

/**
 * Returns everything that the dashboard evaluates: [{where, expr}], including
 * the queries of variables.
 */
export function expressionsOf(dashboard)
{
	return [
		...dashboard.panels.flatMap((p) => (p.targets ?? []).map(
			(t) => ({ where: `panel "${p.title}"`, expr: t.expr }))),
		...dashboard.annotations.list.filter((a) => a.expr).map(
			(a) => ({ where: `annotation "${a.name}"`, expr: a.expr })),
	];
}

/** Replaces Grafana's variables by values as a person would choose them. */
export const filled = (expr) => expr.replaceAll('$__rate_interval', '5m')
	.replaceAll('$instance', '.*').replaceAll('$destination', '.*');

const PANELS = { stat: ['reduceOptions'], timeseries: ['legend', 'tooltip'],
	'state-timeline': ['mergeValues', 'tooltip'] };

function overlap(a, b)
{
	return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/**
 * Returns complaints about the dashboard, by what Grafana (schema 39) reads.
 */
export function judgeDashboard(d)
{
	const complaints = [];
	const variables = d.templating.list.map((v) => v.name);
	const ids = new Set();

	if (d.schemaVersion < 36 || !d.title || !d.uid || d.id !== null)
		complaints.push('the dashboard: no title, uid, or a schema of old');
	for (const p of d.panels) {
		const say = (text) => complaints.push(`panel "${p.title}": ${text}`);
		const g = p.gridPos;
		if (ids.has(p.id))
			say('its id is not its own');
		ids.add(p.id);
		if (!(g.x >= 0 && g.w > 0 && g.h > 0 && g.x + g.w <= 24))
			say('outside the grid');
		if (d.panels.some((o) => o !== p && overlap(o.gridPos, g)))
			say('lies over another');
		if (p.type === 'row')
			continue;
		if (!PANELS[p.type]?.every((option) => p.options[option] !== undefined))
			say(`type ${p.type} is unknown, or lacks an option`);
		if (p.datasource?.uid !== '${datasource}' || !p.fieldConfig?.defaults)
			say('no data source or field configuration');
		if (!p.description)
			say('says nothing of itself');
		if (!p.targets?.length || new Set(p.targets.map((t) => t.refId)).size !== p.targets.length)
			say('no targets, or two of one name');
	}
	for (const { where, expr } of expressionsOf(d)) {
		for (const [, name] of expr.matchAll(/\$([a-zA-Z_]+)/g)) {
			if (!variables.includes(name) && name !== '__rate_interval')
				complaints.push(`${where}: no variable $${name}`);
		}
	}
	return complaints;
}

// ---- promtool --------------------------------------------------------------

/** Runs promtool.  Returns {status, out}.  ${input} is its standard input. */
export function promtool(args, input)
{
	const done = spawnSync('promtool', args, { input, encoding: 'utf8', cwd: SOURCE });

	if (done.error)
		throw done.error;
	return { status: done.status, out: done.stdout + done.stderr };
}

/** Lets promtool parse ${expressions}, each as a recording rule. */
export function checkExpressions(expressions)
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'twinbox-watch-'));
	const file = path.join(dir, 'rules.yaml');

	try {
		fs.writeFileSync(file, YAML.stringify({ groups: [{
			name: 'dashboard',
			rules: expressions.map(({ expr }, i) => ({ record: `expression_${i}`, expr: filled(expr) })),
		}] }));
		return promtool(['check', 'rules', file]);
	} finally {
		fs.rmSync(dir, { recursive: true });
	}
}
