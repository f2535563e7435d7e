// SPDX-License-Identifier: MIT
// tags: surface
//
// twinbox send in a terminal: the line that says to whom the message went, and
// the question that is asked if the second word is a person whom the sender
// knows.  Without a terminal the command never asks.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { EX, TWINBOX, people } from './cli-client.mjs';
import { Terminal } from './cli-terminal.mjs';
import { eventually, serverForFile } from './harness.mjs';

const server = serverForFile({ before, after, afterEach });

/** Runs twinbox send in a terminal as ${person}. */
function send(t, person, ...args)
{
	const terminal = new Terminal(TWINBOX, ['send', ...args], { env: person.env });
	t.after(() => terminal.kill());
	return terminal;
}

/** The bodies of the messages that ${person} has received. */
const bodies = async (person) => (await person.events()).map((event) => event.body);

describe('send in a terminal', () => {
	it('prints to whom what went, in one line', async (t) => {
		const [ann, bob] = await people(server.url, 'ann', 'bob');
		const screen = send(t, ann, bob.name, 'a text that is much longer than what can be shown of it here');
		assert.equal(await screen.ended(), 0);
		const lines = screen.screen.lines();
		assert.equal(lines.length, 1, lines.join('\n'));
		assert.match(lines[0], new RegExp(`^✓ accepted  to ${bob.name}: a text.*…  [0-9a-f-]{36}$`));
	});

	it('asks once when the second word is a known person', async (t) => {
		const [ann, bob, carol] = await people(server.url, 'ann', 'bob', 'carol');
		assert.equal(await send(t, ann, bob.name, carol.name, 'one').ended(), 0, 'nobody is known yet');
		await ann.run('send', carol.name, 'hello');
		const no = send(t, ann, bob.name, carol.name, 'hi');
		await no.shows(`Send "${carol.name} hi" to ${bob.name} alone? [y/N]`);
		no.type('\r');
		assert.equal(await no.ended(), EX.USAGE);
		await no.shows(/nothing was sent; a message has one recipient/);
		const yes = send(t, ann, bob.name, carol.name, 'two');
		await yes.shows('[y/N]');
		yes.type('y\r');
		assert.equal(await yes.ended(), 0);
		await yes.shows(`✓ accepted  to ${bob.name}: ${carol.name} two`.slice(0, 40));
		// No question: the name is inside a quoted argument, or it is
		// the whole message.
		assert.equal(await send(t, ann, bob.name, `${carol.name} three`).ended(), 0);
		assert.equal(await send(t, ann, bob.name, carol.name).ended(), 0);
		// Without a terminal there is no question.
		await ann.run('send', bob.name, carol.name, 'four');
		await eventually(async () => (await bodies(bob)).length >= 5, 'all came');
		assert.deepEqual(await bodies(bob), [`${carol.name} one`, `${carol.name} two`,
			`${carol.name} three`, carol.name, `${carol.name} four`]);
	});
});
