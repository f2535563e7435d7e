// SPDX-License-Identifier: MIT
// tags: plain
//
// The samples in contrib/compose are what their comments say: they have
// settings that twinboxd and PostgreSQL know, the nginx that the tests of the
// proxies run, a trusted network that is that of the proxy, and an image with
// all libraries that the programs load.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { TWINBOXD, tempDir } from '../e2e/harness.mjs';
import { freePort } from '../e2e/harness/port.mjs';
import { Cluster } from './cluster.mjs';

const YAML = createRequire(new URL('../e2e/package.json', import.meta.url))('yaml');
const contrib = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../contrib');
const read = (name) => fs.readFileSync(path.join(contrib, name), 'utf8');
const parse = (name) => YAML.parse(read(`compose/${name}`), { merge: true });
const compose = parse('compose.yaml');
const replica = parse('replica.yaml');
const NODES = ['node1', 'node2', 'node3'];

/** Returns the settings "-c name=value" of a command as an object. */
function settingsOf(words)
{
	return Object.fromEntries(words.filter((_word, i) => words[i - 1] === '-c')
		.map((word) => word.split('=')));
}

/**
 * Returns the server settings that docs/scaling.md lists, one for each name:
 * {name, where, value, standard}. standard: whether the value is PostgreSQL's
 * default.
 */
function documented()
{
	const text = fs.readFileSync(path.join(contrib, '../docs/scaling.md'), 'utf8');
	const [section] = text.split('\n## Settings that matter\n')[1].split('\n## ');

	return section.split('\n').filter((line) => /^\| `/.test(line)).flatMap((line) => {
		const [, first, where, said] = line.split('|').map((cell) => cell.trim());
		const names = [...first.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
		const values = said.replace(/ \(defaults?\)$/, '').split(', ');

		if (!['server', 'replica'].includes(where))
			return [];
		assert.ok(values.length === names.length || values.length === 1, line);
		return names.map((name, i) => ({
			name, where, value: values[i] ?? values[0], standard: / \(defaults?\)$/.test(said),
		}));
	});
}

/**
 * Converts a number with a unit into the smallest unit: bytes or milliseconds.
 */
function measure(text)
{
	const units = { B: 1, kB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, ms: 1, s: 1000, min: 60_000 };
	const [, number, unit] = /^([0-9.]+) ?([A-Za-z]*)$/.exec(text) ?? [];

	assert.ok(unit === '' || unit in units, text);
	return Number(number) * (units[unit] ?? 1);
}

/**
 * Returns true if the value ${is} agrees with the text ${said} of the document.
 */
function follows(is, said, connections)
{
	if (said === '3 × (all nodes\' connections) + 20')
		return Number(is) >= 3 * connections + 20;
	if (said === 'a quarter of the memory')
		return measure(is) > 0;
	if (said.endsWith(' or more'))
		return measure(is) >= measure(said.replace(' or more', ''));
	return is === said || measure(is) === measure(said);
}

describe('contrib/compose', () => {
	it('has three nodes that differ in nothing', () => {
		assert.deepEqual(Object.keys(compose.services), ['postgres', ...NODES, 'nginx']);
		for (const name of NODES) {
			assert.deepEqual(compose.services[name], compose.services.node1);
			assert.deepEqual(replica.services[name], replica.services.node1);
		}
	});

	it('names networks, volumes and services that are there', () => {
		const services = { ...compose.services, ...replica.services };
		const volumes = { ...compose.volumes, ...replica.volumes };
		let mounts = 0;

		for (const [name, service] of Object.entries({ ...compose.services, replica: replica.services.replica })) {
			for (const network of service.networks)
				assert.ok(network in compose.networks, `${name}: ${network}`);
			for (const other of [service.depends_on ?? []].flat()
				.flatMap((one) => (typeof one === 'string' ? one : Object.keys(one))))
				assert.ok(other in services, `${name}: ${other}`);
			for (const volume of service.volumes ?? []) {
				const [from] = volume.split(':');
				mounts++;
				/* The operator creates ./tls. */
				assert.ok(from in volumes || from === './tls' ||
					fs.existsSync(path.join(contrib, 'compose', from)), `${name}: ${volume}`);
			}
		}
		assert.equal(mounts, 5);
		/* Nodes have no data that outlives them; PostgreSQL has. */
		assert.equal(compose.services.node1.volumes, undefined);
		assert.deepEqual(compose.services.postgres.networks, ['back']);
		assert.equal(compose.networks.back.internal, true);
	});

	it('ends a node that needs as much memory as the unit allows', () => {
		const unit = read('systemd/twinboxd.service.in');
		const [, max] = /^MemoryMax=(\w+)$/m.exec(unit);

		assert.equal(compose.services.node1.mem_limit.toUpperCase(), max);
	});

	it('sets what twinboxd knows', () => {
		const help = execFileSync(TWINBOXD, ['--help'], { encoding: 'utf8' });
		const known = [...help.matchAll(/\[(TWINBOX_[A-Z_]+)\]/g)].map((m) => m[1]);
		let seen = 0;

		for (const { environment } of [compose.services.node1, replica.services.node1]) {
			for (const name of Object.keys(environment).filter((one) => one !== 'PGPASSWORD')) {
				assert.ok(known.includes(name), name);
				seen++;
			}
		}
		assert.ok(seen > 5);
		/* The settings are also accepted together. */
		const values = Object.fromEntries(Object.entries({
			...compose.services.node1.environment, ...replica.services.node1.environment,
		}).map(([name, value]) => [name, value.replace(/\$\{\w+:[-?](.*)\}/, '$1')]));
		const { status, stderr, stdout } = spawnSync(TWINBOXD, ['check-config'],
			{ env: { PATH: process.env.PATH, ...values }, encoding: 'utf8' });
		assert.equal(status, 0, stderr);
		assert.match(stdout, /172\.31\.85\.0\/24/);
		assert.equal(compose.networks.front.ipam.config[0].subnet, '172.31.85.0/24');
	});

	it('sets what PostgreSQL knows, and leaves its promises alone', async () => {
		const own = settingsOf(compose.services.postgres.command);
		const [script] = replica.services.replica.command;
		const others = settingsOf(script.split(/[\s\\]+/));

		for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
			assert.ok(!(name in own), name);
			assert.ok(!(name in others), name);
		}
		/*
		 * A replica refuses to start if its max_connections is lower
		 * than that of the primary.
		 */
		assert.ok(Number(others.max_connections) >= Number(own.max_connections));
		const cluster = await new Cluster({ settings: own }).start();
		try {
			for (const [name, value] of Object.entries({ ...own, ...others })) {
				const shown = await cluster.sql(`SELECT name FROM pg_settings WHERE name = '${name}'`);
				assert.equal(shown, name, `${name}=${value}`);
			}
			assert.equal(await cluster.sql('SHOW max_connections'), own.max_connections);
			/*
			 * Each value that the document calls a default is
			 * PostgreSQL's default.
			 */
			for (const { name, value } of documented().filter((one) => one.standard)) {
				const shown = await cluster.sql(`SELECT current_setting(name)
					FROM pg_settings WHERE name = '${name}' AND setting = boot_val`);
				assert.ok(shown && follows(shown, value), `${name}: ${shown}`);
			}
		} finally {
			await cluster.remove();
		}
		assert.equal(spawnSync('bash', ['-n', '-c', script.replaceAll('$$', '$')]).status, 0);
	});

	it('sets what docs/scaling.md says, and that says what it sets', () => {
		const own = settingsOf(compose.services.postgres.command);
		const others = settingsOf(replica.services.replica.command[0].split(/[\s\\]+/));
		const said = documented();
		const { stdout } = spawnSync(TWINBOXD, ['check-config'],
			{ env: { PATH: process.env.PATH }, encoding: 'utf8' });
		const readers = Number(/^readers = (\d+) ;/m.exec(stdout)[1]);
		const connections = NODES.length * (readers + 5);

		assert.ok(said.length > 15);
		for (const { name, where, value, standard } of said) {
			const leader = where === 'server' && !standard;
			assert.equal(name in own, leader, `${name} in compose.yaml`);
			assert.equal(name in others, !standard, `${name} in replica.yaml`);
			if (leader)
				assert.ok(follows(own[name], value, connections), `${name}=${own[name]}: ${value}`);
			if (!standard)
				assert.ok(follows(others[name], value, connections), `${name}=${others[name]}: ${value}`);
		}
		for (const name of Object.keys({ ...own, ...others }))
			assert.ok(said.some((one) => one.name === name), `${name} in docs/scaling.md`);
		/*
		 * The replica may become the primary, so it needs the same
		 * settings.
		 */
		for (const [name, value] of Object.entries(own))
			assert.equal(others[name], value, `${name} in replica.yaml`);
	});

	it('has the nginx that is tested, with three nodes', () => {
		const body = (text) => text.slice(text.indexOf('\n# Requests go over kept-alive'));
		const servers = NODES.map((name) => `\tserver ${name}:8080 max_fails=1 fail_timeout=5s;`)
			.join('\n');
		const sample = body(read('nginx/twinbox.conf'))
			.replaceAll('\tserver 127.0.0.1:8080;', servers)
			.replace('upstream twinbox_ws {\n', 'upstream twinbox_ws {\n\tleast_conn;\n')
			.replaceAll('/etc/ssl/twinbox', '/etc/nginx/tls/twinbox')
			.replaceAll('server_name chat.example;', 'server_name _;')
			.replace('https://chat.example$', 'https://$host$');

		assert.ok(sample.length > 2000);
		assert.equal(body(read('compose/nginx.conf')), sample);
	});

	it('nginx takes it', async () => {
		const dir = tempDir();
		const at = (name) => path.join(dir, name);
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
			'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
			'-keyout', at('twinbox.key'), '-out', at('twinbox.pem')], { stdio: 'pipe' });
		fs.writeFileSync(at('site.conf'), read('compose/nginx.conf')
			.replaceAll('/etc/nginx/tls/', `${dir}/`)
			/* These names exist only in the network of compose. */
			.replaceAll(/server node([123]):/g, 'server 127.0.0.$1:')
			/*
			 * nginx opens these sockets even for a check, and only
			 * root may.
			 */
			.replaceAll(/listen \[::\]:.*;/g, '')
			.replace('listen 80;', `listen 127.0.0.1:${await freePort()};`)
			.replace('listen 443 ', `listen 127.0.0.1:${await freePort()} `));
		fs.writeFileSync(at('nginx.conf'), `pid ${dir}/pid;\nevents {}\nhttp {\n` +
			['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
				.map((name) => `${name}_temp_path ${dir}/${name};\n`).join('') +
			`access_log off;\ninclude ${dir}/site.conf;\n}\n`);
		const { status, stderr } = spawnSync('nginx', ['-t', '-e', 'stderr', '-p', dir, '-c', at('nginx.conf')],
			{ encoding: 'utf8', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
		assert.equal(status, 0, stderr);
	});

	it('has an image with every library that the programs ask for', () => {
		const programs = [TWINBOXD, path.join(path.dirname(TWINBOXD), 'twinbox')];
		const image = read('compose/Dockerfile');
		const seen = new Set();

		for (const program of programs) {
			const needed = [...execFileSync('readelf', ['-d', program], { encoding: 'utf8' })
				.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((m) => m[1]);
			const found = new Map(execFileSync('ldd', [program], { encoding: 'utf8' }).split('\n')
				.map((line) => /^\s*(\S+) => (\/\S+)/.exec(line)).filter(Boolean)
				.map((m) => [m[1], m[2]]));
			for (const name of needed.filter((one) => found.has(one))) {
				const file = fs.realpathSync(found.get(name));
				/*
				 * dpkg knows some of them by their path from
				 * before /usr was merged.
				 */
				const { stdout } = spawnSync('dpkg', ['-S', file, file.replace(/^\/usr/, '')],
					{ encoding: 'utf8' });
				const [owner] = stdout.split(':');
				/*
				 * The base image has the C library.  The
				 * sanitizers are not part of the image.
				 */
				if (/^(libc6|libgcc-s1|lib(a|ub|t)san\d)$/.test(owner))
					continue;
				assert.match(image, new RegExp(`\\s${owner}\\s`), `${owner} for ${name}`);
				seen.add(owner);
			}
		}
		assert.ok(seen.size >= 8, [...seen].join());
	});
});

describe('contrib/patroni', () => {
	const patroni = YAML.parse(read('patroni/patroni.yml'));

	it('sets what docs/scaling.md says of a server', () => {
		const { parameters } = patroni.bootstrap.dcs.postgresql;
		let seen = 0;

		for (const { name, value, standard } of documented()) {
			if (standard && !(name in parameters))
				continue;
			const is = String(parameters[name]);
			assert.ok(follows(is, value, 21), `${name}: ${is}, not ${value}`);
			seen++;
		}
		assert.ok(seen > 10, `${seen}`);
	});

	it('waits for a standby, and promotes no other', () => {
		const { dcs } = patroni.bootstrap;

		assert.equal(dcs.synchronous_mode, true);
		assert.equal(dcs.synchronous_mode_strict, true);
		assert.equal(patroni.watchdog.mode, 'required');
		for (const name of ['fsync', 'full_page_writes', 'synchronous_commit'])
			assert.ok(!(name in dcs.postgresql.parameters), name);
	});

	it('says to twinboxd what it knows', () => {
		const { status, stdout, stderr } = spawnSync(TWINBOXD, ['check-config', '--config',
			path.join(contrib, 'patroni/twinboxd.conf')],
		{ env: { PATH: process.env.PATH }, encoding: 'utf8' });

		assert.equal(status, 0, stderr);
		assert.match(stdout, /^db = postgresql:\/\/twinbox@10\.0\.0\.21,10\.0\.0\.22,10\.0\.0\.23\//m);
		assert.match(stdout, /^database-wait = 15m ;/m);
	});
});
