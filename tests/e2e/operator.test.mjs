// SPDX-License-Identifier: MIT
// tags: surface
//
// The command line of twinboxd: the whole text and the exit code of each
// command and refusal. operator-users.test.mjs has `twinboxd user`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { dataArgs, databaseUrl, onPostgres, sqliteOnly } from './backend.mjs';
import { document } from './contract.mjs';
import { TWINBOXD, Server, eventually, run, startServer, tempDir, users } from './harness.mjs';
import { operator, sendMany } from './operator.mjs';
import { SETTINGS, command, refused, user } from './operator-command.mjs';

describe('what is not a command', () => {
	it('is refused by its name', async () => {
		assert.deepEqual(await refused(['shave']), [64, 'there is no command "shave"; see --help']);
		assert.deepEqual(await refused(['']), [64, 'there is no command ""; see --help']);
		assert.deepEqual(await refused(['serve', 'all']), [64, 'there is no command "all"; see --help']);
		assert.deepEqual(await refused(['--demo', 'all']), [64, 'there is no command "all"; see --help']);
	});

	it('operands that a command does not take are refused', async () => {
		for (const name of ['check-config', 'migrate', 'fsck', 'copy'])
			assert.deepEqual(await refused([name, 'all']), [64, '"all" is not expected; see --help'], name);
		assert.deepEqual(await refused(['routes', 'all']), [64, 'routes takes nothing']);
		assert.deepEqual(await refused(['sample-config', '--demo']), [64, 'sample-config takes nothing']);
	});

	it('settings that do not exist are refused', async () => {
		for (const name of ['serve', 'check-config', 'migrate', 'fsck', 'backup', 'restore', 'copy', 'check-federation', 'user', 'keys']) {
			assert.deepEqual(await refused([name, '--reders', '3']),
				[64, '--reders: there is no setting "reders"; did you mean "readers"?'], name);
		}
	});

	it('a file of settings that is not there is a failure of another kind', async () => {
		assert.deepEqual(await refused(['check-config', '--config', '/nonexistent/x']),
			[66, 'cannot read the settings in /nonexistent/x: No such file or directory']);
	});
});

describe('the settings about other servers', () => {
	const on = ['--domain', 'a.example', '--federation', 'list'];

	it('check-config prints all, and the URL that follows from the domain', async () => {
		const [code, out, err] = await command(['check-config', ...on, '--federation-allow',
			'b.example, .example.org', '--federation-peer', 'c.example=http://127.0.0.1:8081']);

		assert.deepEqual([code, err], [0, '']);
		assert.deepEqual(out.split('\n').filter((line) => line.startsWith('federation')), [
			'federation = list ; --federation',
			'federation-url = https://a.example ; default',
			'federation-allow = b.example,.example.org ; --federation-allow',
			'federation-deny =  ; default',
			'federation-networks =  ; default',
			'federation-ca =  ; default',
			'federation-peer = c.example=http://127.0.0.1:8081 ; --federation-peer',
			'federation-new-domains = 50 ; default']);
	});

	it('what cannot work is refused with the setting and the cure, by check-config and by a start', async () => {
		for (const name of ['check-config', 'serve']) {
			assert.deepEqual(await refused([name, '--federation', 'open']), [78,
				'domain: other servers have no way to reach "localhost"; set it to the name behind the @ of ' +
				'your users\' addresses, with a dot (chat.example), or set federation to off']);
			assert.deepEqual(await refused([name, ...on, '--federation-url', 'https://a.example:8443']), [78,
				'federation-url: other servers refuse a.example:8443, because it is not on port 443 of ' +
				'a.example or of a name below it; leave the setting out, or name such a host']);
			assert.deepEqual(await refused([name, ...on, '--behind-proxy', '127.0.0.1',
				'--federation-peer', 'b.example=https://10.0.0.5']), [78,
				'federation-peer: fixed URLs are for tests and closed networks, so they are refused ' +
				'together with behind-proxy; leave one of them out']);
			for (const [file, why] of [
				['/nonexistent/ca.pem', 'cannot open /nonexistent/ca.pem: No such file or directory'],
				['/', '/ is a directory: name a regular file'],
				['/dev/null', '/dev/null is a device: name a regular file'],
				['/etc/passwd', '/etc/passwd has no certificate; name a file of certificates in PEM (-----BEGIN CERTIFICATE-----)'],
				['/proc/self/exe', '/proc/self/exe is larger than 1024 KiB: a file of authorities is not'],
			]) {
				assert.deepEqual(await refused([name, ...on, '--federation-ca', file]), [78, `federation-ca: ${why}`]);
			}
			assert.deepEqual(await refused([name, '--federation-deny', 'b.example,B.example']), [78,
				'--federation-deny: "B.example" is not a valid domain (b.example) or suffix (.example.org)']);
		}
	});

	it('one without effect is a warning', async () => {
		const [code, out, err] = await command(['check-config', '--federation-allow', 'b.example']);

		assert.equal(code, 0);
		assert.match(out, /^federation = off ; default\nfederation-url = {2}; default$/m);
		assert.equal(err, 'twinboxd: warning: federation-allow: it has no effect while federation is off; ' +
			'set federation to list or open, or leave it out\n');
	});
});

describe('what the program says of itself', () => {
	it('help is the same for each command that has settings', async () => {
		const [code, help, err] = await command(['--help']);

		assert.deepEqual([code, err], [0, '']);
		assert.match(help, /^usage: twinboxd \[COMMAND\] \[SETTING\.\.\.\]\n\nCommands:\n {2}serve \[SETTING/);
		assert.match(help, /\n\nSettings \(flags win/);
		for (const args of [['-h'], ['serve', '-h'], ['user', 'add', '--help'], ['keys', 'list', '--help'],
			...['check-config', 'migrate', 'fsck', 'backup', 'restore', 'copy', 'check-federation'].map((name) => [name, '--help'])])
			assert.deepEqual(await command(args), [0, help, ''], args.join(' '));
	});

	it('the version names each library once', async () => {
		const [code, out, err] = await command(['--version']);

		assert.deepEqual([code, err], [0, '']);
		assert.deepEqual(out.replace(/ [\w.+-]+$/gm, ' VERSION').split('\n'), ['twinboxd VERSION',
			'libmicrohttpd VERSION', 'libwebsockets VERSION', 'libuv VERSION', 'libcurl VERSION',
			'SQLite VERSION', 'libpq VERSION', 'jansson VERSION', 'libsodium VERSION', '']);
	});

	it('the routes are those of openapi.yaml and the frames of asyncapi.yaml', async () => {
		const [code, out, err] = await command(['routes']);
		const said = out.trimEnd().split('\n');
		const frames = said.filter((line) => line.startsWith('WS '));
		const documented = Object.entries(document('openapi.yaml').paths).flatMap(([where, item]) =>
			['get', 'put', 'post', 'delete', 'patch'].filter((method) => item[method])
				.map((method) => `${method.toUpperCase()} ${where}`));

		assert.deepEqual([code, err], [0, '']);
		const plain = (line) => line.replace(/ \w+$/, '').replaceAll(/\{\w+\}/g, '{}');
		const routes = new Set(said.filter((line) => !line.startsWith('WS ')).map(plain));
		assert.deepEqual(documented.map((line) => line.replaceAll(/\{\w+\}/g, '{}'))
			.filter((line) => !routes.has(line)), []);
		// hello carries the token; every later frame needs it.
		assert.deepEqual(frames.map((line) => line.split(' ')[2]),
			frames.map((_, i) => (i === 0 ? 'public' : 'token')));
		assert.equal(frames[0], 'WS hello public');
		assert.ok(said.includes('GET /v1/ws public'));
		assert.ok(said.includes('GET /v1/inbox token'));
		assert.ok(said.includes('GET /v1/admin/stats admin'));
		assert.equal(new Set(said).size, said.length);
	});

	it('a full disk for what is printed is an error', async () => {
		for (const name of ['routes', 'check-config', 'sample-config', '--help', '--version']) {
			const child = run('sh', ['-c', `exec "$0" ${name} >/dev/full`, TWINBOXD]);
			assert.equal((await child.exited).code, 74, name);
		}
	});

	it('a closed standard output is an error', async () => {
		const child = run('sh', ['-c', 'exec "$0" routes >&-', TWINBOXD]);
		assert.equal((await child.exited).code, 74);
	});

	it('a server started without standard input and error opens no file or socket in their place', async () => {
		const server = new Server({ wrapper: ['sh', '-c', 'exec "$0" "$@" <&- 2>&-'] });
		const target = (fd) => fs.readlinkSync(`/proc/${server.pid}/fd/${fd}`);

		await server.start();
		assert.deepEqual([target(0), target(2)], ['/dev/null', '/dev/null']);
		assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
		assert.equal((await server.stop()).code, 0);
	});
});

describe('migrate', () => {
	it('makes a database, and says where', async () => {
		const data = path.join(tempDir(), 'a', 'b');
		const url = databaseUrl(data) ?? `sqlite:${data}/twinbox.db`;

		for (let i = 0; i < 2; i++) {
			const [code, out] = await command(['migrate', ...dataArgs(data)]);
			assert.deepEqual([code, out], [0, `${url} is up to date\n`]);
		}
	});

	it('what cannot be a directory is named', async () => {
		const dir = tempDir();
		const file = path.join(dir, 'file');

		fs.writeFileSync(file, '');
		assert.deepEqual(await refused(['migrate', '--data', file]),
			[78, `data: cannot open ${file}: Not a directory`]);
		assert.deepEqual(await refused(['migrate', '--data', path.join(file, 'x')]),
			[78, `data: cannot make ${file}/x: Not a directory`]);
	});
});

describe('backup and restore', { skip: sqliteOnly }, () => {
	const data = path.join(tempDir(), 'data');

	before(async () => {
		await user(data, ['add', 'ann', '--password-stdin']);
	});

	it('take one file', async () => {
		const backup = [64, `usage: twinboxd backup FILE ${SETTINGS}`];
		const restore = [64, `usage: twinboxd restore FILE [--replace] ${SETTINGS}`];

		assert.deepEqual(await refused(['backup', '--data', data]), backup);
		assert.deepEqual(await refused(['backup', 'a', 'b', '--data', data]), backup);
		assert.deepEqual(await refused(['restore', '--data', data]), restore);
		assert.deepEqual(await refused(['restore', 'a', 'b', '--data', data]), restore);
	});

	it('report what is in the copy', async () => {
		const folder = tempDir();
		const file = path.join(folder, 'copy.db');
		const counts = '1 users, 0 messages, 0 inbox events; fsck found nothing wrong';

		// A file of that name may belong to another program, so backup
		// must not touch it.
		fs.writeFileSync(`${file}.part`, 'half');
		assert.deepEqual(await command(['backup', file, '--data', data]),
			[0, `backed up to ${file}: ${counts}\n`, '']);
		assert.deepEqual(fs.readdirSync(folder), ['copy.db', 'copy.db.part']);
		assert.equal(fs.statSync(file).mode & 0o777, 0o600);
		assert.deepEqual(await refused(['backup', file, '--data', data]),
			[73, `${file} is there already: a back-up replaces nothing`]);
		const to = path.join(folder, 'data');
		assert.deepEqual(await command(['restore', file, '--data', to]),
			[0, `restored from ${file}: ${counts}\n`, '']);
		assert.deepEqual(fs.readdirSync(to).sort(), ['lock', 'mark', 'twinbox.db', 'twinbox.db-lock']);
		assert.deepEqual(await refused(['restore', file, '--data', to]),
			[73, `${to}/twinbox.db is there already: --replace keeps it as ${to}/twinbox.db.replaced`]);
		for (let i = 0; i < 2; i++) {
			assert.deepEqual(await command(['restore', file, '--replace', '--data', to]),
				[0, `restored from ${file}: ${counts}\n`, '']);
			assert.deepEqual(fs.readdirSync(to).sort(),
				['lock', 'mark', 'twinbox.db', 'twinbox.db-lock', 'twinbox.db.replaced']);
		}
	});

	it('the log of a restore that was interrupted is not taken for that of the next one', async () => {
		const folder = tempDir();
		const file = path.join(folder, 'copy.db');
		const server = await startServer({ data: path.join(folder, 'other') });

		await server.kill();
		assert.ok(fs.statSync(path.join(server.data, 'twinbox.db-wal')).size > 0);
		await command(['backup', file, '--data', data]);
		const to = path.join(folder, 'data');
		fs.mkdirSync(to);
		for (const tail of ['-wal', '-shm']) {
			fs.copyFileSync(path.join(server.data, `twinbox.db${tail}`),
				path.join(to, `twinbox.db.restoring${tail}`));
		}
		const [code, out] = await command(['restore', file, '--data', to]);
		assert.equal(code, 0);
		assert.match(out, /: 1 users, 0 messages, /);
		assert.deepEqual(fs.readdirSync(to).sort(), ['lock', 'mark', 'twinbox.db', 'twinbox.db-lock']);
	});

	it('name what they cannot have', async () => {
		const folder = tempDir();
		const none = path.join(folder, 'none');

		assert.deepEqual(await refused(['restore', none, '--data', path.join(folder, 'd')]),
			[66, `cannot open ${none}: No such file or directory`]);
		assert.deepEqual(await refused(['backup', 'x'.repeat(5000), '--data', data]),
			[64, 'the name of the file is too long']);
		const [code, text] = await refused(['restore', folder, '--data', path.join(folder, 'd')]);
		assert.deepEqual([code, text], [65, `${folder} is a directory: name a regular file`]);
		assert.equal(fs.existsSync(path.join(folder, 'd')), false);
	});

	it('a PostgreSQL database is not restored', async () => {
		const file = path.join(data, 'twinbox.db');

		assert.deepEqual(await refused(['restore', file, '--data', path.join(tempDir(), 'd'),
			'--db', 'postgresql://127.0.0.1:1/none']),
		[65, 'a PostgreSQL database is restored by its own tools']);
	});
});

describe('serve', () => {
	let server;

	before(async () => {
		server = await startServer();
	});

	after(() => server.kill());

	it('prints lines to copy', () => {
		const { url } = server;
		const where = databaseUrl(server.data) ?? `sqlite:${server.data}/twinbox.db`;

		assert.equal(server.child.out.replace(/^twinboxd \S+$/m, 'twinboxd VERSION'), `twinboxd VERSION
listening: ${url}
database: ${where}
config file: none
demo users: alice, bob, carol (password: twinbox-demo)

With curl, in another terminal:
  export TOKEN="$(curl -sS '${url}/v1/tokens' -H 'Content-Type: application/json' \\
    -d '{"name":"alice","password":"twinbox-demo","device":"curl"}' \\
    | sed -e 's/.*"token":"\\([^"]*\\).*/\\1/' -e t -e 'w /dev/stderr' -e d)"
  curl -sS '${url}/v1/to/bob' -H "Authorization: Bearer $TOKEN" --data-binary 'Hello, Bob.'
  curl -sS '${url}/v1/inbox?after=0' -H "Authorization: Bearer $TOKEN"

With the client:
  echo twinbox-demo | build/twinbox login bob --server '${url}' --password-stdin
  build/twinbox tail

`);
	});

	it('with the log as JSON, all that it prints is one JSON object a line', async (t) => {
		const conf = path.join(tempDir(), 'conf');

		fs.writeFileSync(conf, 'log-format = json\nlog-level = error\n');
		const json = new Server({ args: ['--config', conf] });
		t.after(() => json.running && json.kill());
		await json.start();
		const { url, pid } = json;
		const { child } = json;
		assert.equal((await json.stop()).code, 0);
		// Standard output has this one line whatever the log level is,
		// and no lines to copy.
		const { time, version, thread, ...line } = JSON.parse(child.out);
		assert.equal(child.out.split('\n').length, 2, child.out);
		assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
		assert.match(version, /^\d/);
		assert.equal(thread, 'main');
		assert.deepEqual(line, { level: 'info', event: 'server.listening', url,
			database: databaseUrl(json.data) ?? `sqlite:${json.data}/twinbox.db`, config_file: conf,
			demo_users: 'alice,bob,carol', pid });
		assert.equal(child.err, '');
		const loud = await startServer({ args: ['--log-format', 'json', '--log-level', 'debug'] });
		const said = loud.child;
		await loud.stop();
		for (const one of (said.out + said.err).trimEnd().split('\n'))
			assert.equal(typeof JSON.parse(one).event, 'string', one);
	});

	it('the users that it names are there', async () => {
		for (const name of ['alice', 'bob', 'carol']) {
			const { status } = await server.rest().post('/v1/tokens',
				{ name, password: 'twinbox-demo', device: 'curl' });
			assert.equal(status, 201, name);
		}
	});

	it('commands of users go to the server that runs', { skip: sqliteOnly }, async () => {
		assert.deepEqual(await user(server.data, ['add', 'ann', '--password-stdin']), [0, 'user ann added\n', '']);
		assert.deepEqual(await user(server.data, ['disable', 'ann']), [0, 'user ann disabled\n', '']);
		assert.deepEqual(await user(server.data, ['disable', 'cid']),
			[68, '', 'twinboxd: there is no user "cid"\n']);
		assert.deepEqual(await refused(['migrate', '--data', server.data]),
			[75, `data: ${server.data} is in use: another twinboxd holds its lock`]);
	});

	it('reads its settings again on SIGHUP, and goes on with the old ones if they are wrong', async (t) => {
		const conf = path.join(tempDir(), 'conf');

		fs.writeFileSync(conf, 'log-level = error\n');
		const quiet = new Server({ args: ['--config', conf] });
		await quiet.start();
		t.after(() => quiet.kill());
		assert.match(quiet.child.out, new RegExp(`^config file: ${conf}$`, 'm'));
		assert.equal(quiet.child.err, '');
		const hear = (wanted) => new Promise((resolve) => {
			const look = () => wanted.test(quiet.child.err) && resolve();
			quiet.child.on('twinbox-output', look);
			look();
		});
		fs.writeFileSync(conf, 'log-level = loud\n');
		quiet.child.kill('SIGHUP');
		await hear(/ error server\.fail .*reload=refused/);
		fs.writeFileSync(conf, 'log-level = info\n');
		quiet.child.kill('SIGHUP');
		// The server reads its settings before it handles the next
		// signal.
		const { child } = quiet;
		assert.equal((await quiet.stop('SIGINT')).code, 0);
		assert.match(child.err, / info server\.stop signal=INT/);
		assert.match(child.err, / info server\.stopped/);
	});

	it('says which signal has ended it', async () => {
		const one = await startServer();
		const { child } = one;

		assert.equal((await one.stop()).code, 0);
		assert.match(child.err, / info server\.stop signal=TERM/);
	});

	it('a start that cannot be is one line for people, and in JSON none', { skip: onPostgres && sqliteOnly }, async () => {
		const data = path.join(tempDir(), 'd');

		fs.mkdirSync(data);
		fs.writeFileSync(path.join(data, 'twinbox.db'), 'this is not a database, however long it is'.repeat(200));
		const serve = ['serve', '--data', data, '--listen', '127.0.0.1:0'];
		const [code, out, err] = await command(serve);
		assert.deepEqual([code, out], [74, '']);
		assert.match(err, /^twinboxd: .*not a database.*$/m);
		const json = await command([...serve, '--log-format', 'json']);
		assert.deepEqual(json.slice(0, 2), [74, '']);
		for (const line of json[2].trimEnd().split('\n'))
			assert.ok(JSON.parse(line).event, line);
	});
});

describe('the log', () => {
	it('shows its alerts to the pattern of operations.md, as text and as JSON', async (t) => {
		const manual = fs.readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
		const [, pattern] = manual.match(/`journalctl -u twinboxd \| grep -E '([^']+)'`/);

		for (const format of ['text', 'json']) {
			const server = await startServer({ args: ['--log-format', format, '--alert-interval', '1s',
				'--rate-limit', 'off'] });
			t.after(() => server.kill());
			const root = await operator(server);
			const [bob] = await users(server, 'bob');

			await root.do('POST', 'destinations/local/pause', {});
			await sendMany(root, bob.name, 101);
			const lines = await eventually(() => {
				const all = server.output().split('\n');
				return all.some((line) => line.includes('outbox_depth_high')) && all;
			}, 'the alert', 30_000);
			const shown = execFileSync('grep', ['-E', pattern], { input: lines.join('\n'), encoding: 'utf8' });
			assert.match(shown, /^.*alert\.warning.*outbox_depth_high.*\n$/, format);
		}
	});
});
