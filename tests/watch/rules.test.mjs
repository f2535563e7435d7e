// SPDX-License-Identifier: MIT
//
// The alerts checked by promtool: their syntax and their unit tests.  The tests
// must also notice a different threshold or waiting time.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';

import { alertsOf, promtool, read } from './names.mjs';

const YAML = createRequire(new URL('../e2e/package.json', import.meta.url))('yaml');
const rules = read('contrib/prometheus/alerts.yaml');
const tests = YAML.parse(read('contrib/prometheus/alerts.test.yaml'));
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'twinbox-rules-'));

after(() => fs.rmSync(dir, { recursive: true }));

/** Returns promtool's result for ${alert} alone, with the alert's own tests. */
function verdict(alert)
{
	const file = path.join(dir, 'test.yaml');

	fs.writeFileSync(path.join(dir, 'rules.yaml'),
		YAML.stringify({ groups: [{ name: 'one', rules: [alert] }] }));
	fs.writeFileSync(file, YAML.stringify({
		...tests,
		rule_files: ['rules.yaml'],
		tests: tests.tests.filter((t) => t.name === alert.alert),
	}));
	return promtool(['test', 'rules', file]);
}

/** Returns wrong versions of ${alert}: [what is wrong, the alert]. */
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

describe('contrib/prometheus', () => {
	it('is what promtool takes', () => {
		const config = promtool(['check', 'config', 'contrib/prometheus/prometheus.yml']);
		assert.equal(config.status, 0, config.out);
		assert.match(config.out, new RegExp(`SUCCESS: ${alertsOf(rules).length} rules found`));
	});

	for (const alert of alertsOf(rules)) {
		it(`${alert.alert} fires beyond its threshold, after its hold, and not before`, () => {
			const { status, out } = verdict(alert);
			assert.equal(status, 0, out);
		});

		it(`${alert.alert} otherwise would be noticed`, () => {
			// In these expressions "unless" and "and" come after
			// the comparison.
			const expr = alert.expr.replace(/ (unless|and) on [^]*$/, '');
			const rest = alert.expr.slice(expr.length);
			for (const [what, mutant] of mutants({ ...alert, expr })) {
				const { status, out } = verdict({ ...mutant, expr: mutant.expr + rest });
				assert.notEqual(status, 0, `${what} is not noticed: ${out}`);
			}
			if (rest)
				assert.notEqual(verdict({ ...alert, expr }).status, 0, `without ${rest}`);
		});
	}
});
