// SPDX-License-Identifier: MIT
// tags: surface
//
// All commands that are printed or documented can be pasted into bash, zsh and
// fish.  The shells are interactive, in a terminal, as a person has them: there
// comments, patterns and history work differently from scripts.
//
// The quickstart of the README and the lines that --demo prints are typed line
// by line, with the real curl and the real client.  All other blocks of shell
// commands in the documents, and the examples of the manual pages, are pasted
// whole.  Their commands are stubs that record their arguments, and the
// recorded calls must be those that sh makes.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { TWINBOX } from './cli-client.mjs';
import { Terminal } from './cli-terminal.mjs';
import { eventually, killAll, startServer, tempDir, within } from './harness.mjs';
import { blocksOf, newcomer } from './readme-shell.mjs';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SHELLS = ['bash', 'zsh', 'fish'];

after(killAll);

// ---- a place whose commands record their calls
// -----------------------------------

/** Returns the calls recorded in file ${name}: [{name, args, at}]. */
function callsIn(name)
{
	return fs.readFileSync(name, 'utf8').split('\x1e').slice(0, -1).map((text) => {
		const [command, at, ...args] = text.split('\x1f');
		return { name: command, at, args };
	});
}

/**
 * Returns the lines of sh that record a call of ${name}, whose output is in
 * file $at.
 */
const note = (name) => `unit=$(printf '\\037'); said="${name}$unit$at"
for word; do said="$said$unit$word"; done
printf '%s\\036' "$said" >>"$NOTED"
`;

class Place {
	constructor()
	{
		this.dir = fs.realpathSync(tempDir('twinbox-paste-'));
		this.noted = path.join(this.dir, 'noted');
		this.env = { ...newcomer(this.dir), NOTED: this.noted };
		fs.mkdirSync(path.join(this.dir, 'bin'));
		fs.writeFileSync(this.noted, '');
		/* Without a .zshrc, zsh asks a new user for settings. */
		fs.writeFileSync(path.join(this.dir, '.zshrc'), '');
		/*
		 * fish calls commands to suggest arguments (it asks for their
		 * version).  That would add calls.
		 */
		fs.mkdirSync(path.join(this.dir, '.config/fish'), { recursive: true });
		fs.writeFileSync(path.join(this.dir, '.config/fish/config.fish'),
			'set -g fish_autosuggestion_enabled 0\n');
		this.command('finished');
	}

	write(name, text)
	{
		const file = path.join(this.dir, name.includes('/') ? name : `bin/${name}`);

		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(file, `#!/bin/sh\n${text}`, { mode: 0o755 });
	}

	/**
	 * Makes command ${name}, which only records its call and prints
	 * ${said}.
	 */
	command(name, said = '')
	{
		this.write(name, `at=\n${note(name)}printf %s '${said}'\n`);
	}

	/**
	 * Makes command ${name}, which runs ${program} and records its call and
	 * its output after its end.
	 */
	real(name, program, extra = '')
	{
		this.write(name, `at=$(mktemp "$HOME/said.XXXXXX")
'${program}' ${extra} "$@" >"$at" 2>"$at.err"; code=$?
cat "$at"; cat "$at.err" >&2
${note(name)}exit "$code"
`);
	}

	calls()
	{
		return callsIn(this.noted);
	}
}

/** Returns the path of ${command}. */
const programOf = (command) =>
	execFileSync('sh', ['-c', `command -v ${command}`], { encoding: 'utf8' }).trim();

/** An interactive shell in a terminal. */
class Person {
	constructor(t, shell, place, dirs)
	{
		this.place = place;
		this.finishes = 0;
		this.terminal = new Terminal('env', [`PATH=${dirs.join(':')}`, programOf(shell), '-i'],
			{ columns: 200, rows: 50, env: place.env });
		t.after(() => this.terminal.kill());
	}

	async starts()
	{
		await this.terminal.shows(/[$%#>] ?$/m, 'the prompt');
		return this.types(`cd ${this.place.dir}`);
	}

	/**
	 * Types ${text} and waits until it is done.  Returns the calls that it
	 * made, and the values of ${values}.
	 */
	async types(text, values = '')
	{
		return this.#does(text.replaceAll('\n', '\r'), values);
	}

	/**
	 * Does the same as types(), but as a terminal pastes the text
	 * (bracketed paste).
	 */
	async pastes(text)
	{
		return this.#does(`\x1b[200~${text}\x1b[201~`, '');
	}

	async #does(keys, values)
	{
		const before = this.place.calls().length;
		const mark = String(++this.finishes);

		this.terminal.type(`${keys}\r`);
		this.terminal.type(`finished ${mark} ${values}\r`);
		const calls = await eventually(() => {
			const all = this.place.calls().slice(before);
			return all.at(-1)?.name === 'finished' && all.at(-1).args[0] === mark && all;
		}, `the end of: ${keys}\n`, 20_000).catch((error) => {
			throw new Error(`${error.message}\n${this.terminal.raw}`, { cause: error });
		});
		return { values: calls.pop().args.slice(1), calls };
	}

	/**
	 * Types ${line}, which must call ${name} once and, if given, get an
	 * answer with ${status}.  Returns the output.
	 */
	async works(line, name, status)
	{
		const { calls, values } = await this.types(line, '"$ALICE" "$BOB" "$TOKEN"');
		const [call, ...more] = calls.filter((one) => one.name === name);
		const told = () => `${line}\n${JSON.stringify(calls)}\n${this.terminal.raw.slice(-3000)}`;

		assert.ok(call && more.length === 0, told());
		const out = fs.readFileSync(call.at, 'utf8');
		if (status)
			assert.match(fs.readFileSync(`${call.at}.err`, 'utf8'),
				new RegExp(`^status ${status}$`, 'm'), told());
		return { out, values };
	}
}

const realPath = process.env.PATH.split(':');

/** A person at ${shell} with the real curl and the real client. */
async function newcomerWith(t, shell)
{
	const place = new Place();

	place.real('curl', programOf('curl'), "-w '%{stderr}status %{http_code}\\n'");
	place.real('build/twinbox', TWINBOX);
	const person = new Person(t, shell, place, [path.join(place.dir, 'bin'), ...realPath]);
	await person.starts();
	return person;
}

// ---- commands that really run
// ----------------------------------------------------

const readme = blocksOf(fs.readFileSync(path.join(top, 'README.md'), 'utf8'));
const linesOf = (name) => readme.filter((one) => one.name === name).flatMap((one) => one.lines);
const TOKEN = /^tb_[A-Za-z0-9_-]{43}$/;

/** Types ${line} again until ${look} accepts its output. */
const until = (person, line, name, look) => eventually(async () => {
	const { out } = await person.works(line, name);
	return look(out) && out;
}, `what is promised of: ${line}`, 20_000);

for (const shell of SHELLS) {
	describe(`everything printed or documented can be pasted into ${shell}`, () => {
		it('the quickstart of the README, line by line', async (t) => {
			const server = await startServer();
			t.after(() => server.stop());
			const person = await newcomerWith(t, shell);
			const [address, alice, bob, send, inbox, ack, read, receipts, outbox] = linesOf('quickstart');

			await person.types(address.replace('http://127.0.0.1:8080', server.url));
			assert.match((await person.works(alice, 'curl', 201)).values[0], TOKEN);
			const { values } = await person.works(bob, 'curl', 201);
			assert.match(values[1], TOKEN);
			assert.notEqual(values[0], values[1]);
			const entry = JSON.parse((await person.works(send, 'curl', 201)).out);
			await until(person, inbox, 'curl', (out) => JSON.parse(out).events[0]?.id === entry.id);
			assert.deepEqual(JSON.parse((await person.works(ack, 'curl', 200)).out), { acked: 1, head: 1 });
			assert.equal(JSON.parse((await person.works(read, 'curl', 200)).out).unread, 0);
			await until(person, receipts, 'curl', (out) => JSON.parse(out).events.length === 2);
			assert.equal(JSON.parse((await person.works(outbox, 'curl', 200)).out).entries[0].state, 'acked');

			const [where, ...client] = linesOf('client');
			await person.types(where.replace('http://127.0.0.1:8080', server.url));
			for (const line of client.slice(0, 3))
				await person.works(line, 'build/twinbox');
			await until(person, client[3], 'build/twinbox', (out) => /alice +Are you there\?$/m.test(out));
			assert.match((await person.works(client[4], 'build/twinbox')).out, /alice +Hello Bob$/m);
		});

		it("README's login helper fails visibly: the answer is shown, the variable is empty", async (t) => {
			const server = await startServer();
			t.after(() => server.stop());
			const person = await newcomerWith(t, shell);
			const [address, alice, bob] = linesOf('quickstart');
			const wrong = (line) => line.replace('"password":"twinbox-demo"', '"password":"not the password"');

			await person.types(address.replace('http://127.0.0.1:8080', server.url));
			const { values } = await person.works(wrong(alice), 'curl', 401);
			assert.deepEqual(values.slice(0, 1), ['']);
			await person.terminal.shows(() => person.terminal.raw.includes('"title":"Wrong name or password"'),
				'the answer');
			/* A correct log-in still sets its variable. */
			assert.match((await person.works(bob, 'curl', 201)).values[1], TOKEN);
			/* No server listens on this port. */
			await person.types('export URL=http://127.0.0.1:1');
			const { values: none } = await person.works(bob, 'curl');
			assert.equal(none[1], '');
			await person.terminal.shows(() => /curl: \(7\)/.test(person.terminal.raw), "curl's reason");
		});

		it('the lines that --demo prints', async (t) => {
			const server = await startServer();
			t.after(() => server.stop());
			const person = await newcomerWith(t, shell);
			const told = server.child.out.slice(server.child.out.indexOf('With curl'));
			const lines = told.split(/(?<!\\)\n/).filter((line) => line.startsWith('  '));
			const [token, send, inbox, login, tail] = lines;

			assert.equal(lines.length, 5, told);
			assert.match((await person.works(token, 'curl', 201)).values[2], TOKEN);
			const { id } = JSON.parse((await person.works(send, 'curl', 201)).out);
			assert.equal(JSON.parse((await person.works(inbox, 'curl', 200)).out).events[0].id, id);
			await person.works(login, 'build/twinbox');
			await until(person, `${tail} --once`, 'build/twinbox', (out) => /alice +Hello, Bob\.$/m.test(out));
			const wrong = token.replace('"password":"twinbox-demo"', '"password":"not the password"');
			assert.equal((await person.works(wrong, 'curl', 401)).values[2], '');
			await person.terminal.shows(() => person.terminal.raw.includes('"title":"Wrong name or password"'),
				'the answer');
		});
	});
}

// ---- documented commands
// -----------------------------------------------------------

/** Returns the examples of manual page ${name}.  Each has a prompt in front. */
function examplesOf(name)
{
	const text = fs.readFileSync(path.join(top, 'docs/man', name), 'utf8');

	return [...text.matchAll(/^\.Dl [$#] (.*)$/gm)].map(([, line]) => ({
		name: `docs/man/${name}: ${line}`,
		text: line.replaceAll('\\-', '-').replaceAll('\\(aq', "'").replaceAll('@sysconfdir@', '/etc'),
	}));
}

/** Returns all text that is documented for a shell: [{name, text}]. */
function documented()
{
	const files = ['README.md', 'CONTRIBUTING.md', 'bench/README.md',
		...fs.readdirSync(path.join(top, 'docs')).filter((name) => name.endsWith('.md'))
			.map((name) => `docs/${name}`),
		...fs.readdirSync(path.join(top, 'tests')).map((name) => `tests/${name}/README.md`)
			.filter((name) => fs.existsSync(path.join(top, name)))];
	const blocks = new Map();

	/*
	 * Blocks with the same name belong together: later ones use variables
	 * of earlier ones.
	 */
	for (const file of files) {
		for (const { name, language, text } of blocksOf(fs.readFileSync(path.join(top, file), 'utf8'))) {
			const key = `${file}: ${name}`;
			if (/^(sh|bash|shell|console)$/.test(language))
				blocks.set(key, [...blocks.get(key) ?? [], ...text]);
		}
	}
	return [...[...blocks].map(([name, text]) => ({ name, text: text.join('\n') })),
		...['twinbox.1.in', 'twinboxd.8.in'].flatMap(examplesOf)];
}

/**
 * Returns the names of the commands in ${text}, without those that are built
 * into a shell.
 */
function commandsIn(text)
{
	const words = text.replace(/\\\n/g, ' ').split(/\n|&&|\||\$\(|;/)
		.map((part) => part.trim().replace(/^(export )?(\w+=\S* +)+/, '').split(/[\s)"]/)[0]);

	return words.filter((word) => /^[\w./-]+$/.test(word) && !['cd', 'echo', 'export'].includes(word));
}

describe('everything printed or documented can be pasted', () => {
	const snippets = documented();
	const place = new Place();
	const dirs = [path.join(place.dir, 'bin')];

	for (const { text } of snippets) {
		for (const name of commandsIn(text))
			place.command(name.replace(/^\.\.?\//, './'), name === 'date' ? '2026-11-21' : '');
	}
	/*
	 * Files that the documents name by a pattern, or that commands read.
	 */
	for (const name of ['../twinbox-server_1_amd64.deb', '../twinbox-client_1_amd64.deb'])
		fs.writeFileSync(path.join(place.dir, 'build', name), '');
	fs.writeFileSync(path.join(place.dir, 'letter.txt'), 'Dear Bob\n');

	/**
	 * Returns the calls in sorted order, because the commands of a pipe run
	 * at the same time.
	 */
	const sorted = (calls) => calls.map((one) => JSON.stringify([one.name, ...one.args])).sort();
	const prepared = (text) => text.replaceAll('../twinbox', './twinbox');

	function bySh(text)
	{
		const before = place.calls().length;
		const told = spawnSync('/bin/sh', ['-ec', prepared(text)],
			{ cwd: place.dir, env: { ...place.env, PATH: dirs.join(':') }, encoding: 'utf8' });

		assert.equal(told.status, 0, `${text}\n${told.stdout}${told.stderr}`);
		return sorted(place.calls().slice(before));
	}

	it('finds the blocks and the examples', () => {
		assert.ok(snippets.length > 30, String(snippets.length));
		assert.ok(snippets.some(({ name }) => name.startsWith('docs/operations.md')));
		assert.ok(snippets.some(({ name }) => name.startsWith('docs/man/twinbox.1')));
	});

	it('no block has a comment, a function or a plain assignment', () => {
		for (const { name, text } of snippets) {
			assert.doesNotMatch(text, /(^|\s)#/m, name);
			assert.doesNotMatch(text, /\(\)\s*\{|^\w+=[^ ]*$/m, name);
		}
	});

	for (const shell of SHELLS) {
		it(`${shell} makes the calls of sh, block by block`, async (t) => {
			const person = new Person(t, shell, place, dirs);

			await person.starts();
			for (const { name, text } of snippets) {
				const wanted = bySh(text);
				assert.ok(wanted.length > 0, name);
				await person.types(`cd ${place.dir}`);
				const { calls } = await person.pastes(prepared(text));
				assert.deepEqual({ name, calls: sorted(calls) }, { name, calls: wanted });
			}
			person.terminal.type('exit\r');
			await within(person.terminal.ended(), 20_000, 'the end of the shell');
		});

		it(`${shell}: what cannot be pasted would be seen`, async (t) => {
			const person = new Person(t, shell, place, dirs);
			const bad = { bash: 'twinbox send bob "Hello!!"', zsh: 'twinbox inbox # all of it',
				fish: 'twinbox send bob {a,b}' }[shell];

			await person.starts();
			const { calls } = await person.pastes(bad);
			assert.notDeepEqual(sorted(calls), bySh(bad));
		});
	}
});
