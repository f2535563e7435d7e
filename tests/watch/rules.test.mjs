// SPDX-License-Identifier: MIT
//
// The alerts checked by promtool: their syntax and their unit tests.  The tests
// must also notice a different threshold or waiting time.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { alertsOf, promtool, read } from './names.mjs';

const YAML = createRequire(new URL('../e2e/package.json', import.meta.url))('yaml');
const rules = read('contrib/prometheus/alerts.yaml');
const tests = YAML.parse(read('contrib/prometheus/alerts.test.yaml'));
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'twinbox-rules-'));

after(() => fs.rmSync(dir, { recursive: true }));

let written = 0;

/** Writes ${alert} alone, with the alert's own tests.  Returns the name of the file. */
function write(alert)
{
	const name = path.join(dir, `${written++}`);

	fs.writeFileSync(`${name}-rules.yaml`,
		YAML.stringify({ groups: [{ name: 'one', rules: [alert] }] }));
	fs.writeFileSync(`${name}.yaml`, YAML.stringify({
		...tests,
		rule_files: [`${name}-rules.yaml`],
		tests: tests.tests.filter((t) => t.name === alert.alert),
	}));
	return `${name}.yaml`;
}

/** Lets promtool run ${files} at once.  Returns those whose tests pass. */
function passing(files)
{
	const { out } = promtool(['test', 'rules', ...files]);

	assert.equal(out.match(/^Unit Testing: /gm).length, files.length, out);
	return new Set(Array.from(out.matchAll(/^Unit Testing: +(\S+)\n +SUCCESS$/gm), ([, file]) => file));
}

/**
 * Returns wrong versions of ${alert}, whose expression ends with a comparison:
 * [what is wrong, the alert].
 */
function mutants(alert)
{
	const list = [];
	const comparison = / (>|==) ([0-9.]+)$/.exec(alert.expr);

	assert.ok(comparison, `${alert.alert} compares with a number at its end, or the mutants must learn it`);
	const [whole, operator, number] = comparison;
	const become = (text) => ({ ...alert, expr: alert.expr.slice(0, -whole.length) + text });
	if (operator === '>') {
		// A value that is computed from counters over time is not
		// exact, so the exact threshold cannot be tested.
		if (Number(number) === 0 || !/\b(rate|increase)\(/.test(alert.expr))
			list.push(['at its threshold, not beyond', become(` >= ${number}`)]);
		else
			list.push(['a lower threshold', become(` > ${Number(number) * 0.97}`)]);
		list.push(['a higher threshold', become(` > ${Number(number) * 1.1 + 1}`)]);
	} else {
		list.push(['the other way round', become(` != ${number}`)]);
	}
	if (alert.for) {
		list.push(['no hold', { ...alert, for: undefined }]);
		list.push(['a longer hold', { ...alert, for: '36h' }]);
	}
	return list;
}

/** Returns all versions of ${alert} that its tests must notice. */
function wrong(alert)
{
	// In these expressions "unless" and "and" come after the comparison.
	const expr = alert.expr.replace(/ (unless|and) on [^]*$/, '');
	const rest = alert.expr.slice(expr.length);

	return [...mutants({ ...alert, expr })
		.map(([what, mutant]) => [what, { ...mutant, expr: mutant.expr + rest }]),
	...rest ? [[`without ${rest}`, { ...alert, expr }]] : []];
}

describe('contrib/prometheus', () => {
	const files = new Map();
	let passed;

	before(() => {
		for (const alert of alertsOf(rules)) {
			files.set(alert.alert, { right: write(alert),
				wrong: wrong(alert).map(([what, mutant]) => [what, write(mutant)]) });
		}
		passed = passing([...files.values()].flatMap((one) =>
			[one.right, ...one.wrong.map(([, file]) => file)]));
	});

	it('is what promtool takes', () => {
		const config = promtool(['check', 'config', 'contrib/prometheus/prometheus.yml']);
		assert.equal(config.status, 0, config.out);
		assert.match(config.out, new RegExp(`SUCCESS: ${alertsOf(rules).length} rules found`));
	});

	for (const { alert } of alertsOf(rules)) {
		it(`${alert} fires beyond its threshold, after its hold, and not before`, () => {
			const { right } = files.get(alert);
			if (!passed.has(right))
				assert.fail(promtool(['test', 'rules', right]).out);
		});

		it(`${alert} otherwise would be noticed`, () => {
			for (const [what, file] of files.get(alert).wrong)
				assert.ok(!passed.has(file), `${what} is not noticed`);
		});
	}
});
