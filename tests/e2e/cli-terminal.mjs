// SPDX-License-Identifier: MIT
//
// A program in a pseudo-terminal, as a person sees it. script(1) of util-linux
// makes the terminal.  A small emulation of a VT100 turns the bytes into a
// screen, so that tests can read its lines.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

import { eventually, run } from './harness.mjs';

/** The number of columns that the character ${c} takes: 0, 1 or 2. */
function width(c)
{
	if (/\p{Mn}/u.test(c))
		return 0;
	return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
		.test(c) ? 2 : 1;
}

/** The screen of a terminal of ${columns} x ${rows}. */
export class Screen {
	constructor(columns = 80, rows = 24)
	{
		this.columns = columns;
		this.rows = rows;
		this.grid = Array.from({ length: rows }, () => []);
		this.history = [];
		this.x = 0;
		this.y = 0;
		this.rest = '';
		this.unknown = [];
		this.wraps = true;
		this.cursor = true; /* whether the cursor is shown */
		this.other = null;  /* the screen behind the alternate screen, or null */
	}

	/**
	 * Changes the size of the terminal.  Content outside the new size is
	 * cut.
	 */
	resize(columns, rows)
	{
		this.columns = columns;
		this.rows = rows;
		this.grid = Array.from({ length: rows }, (_, y) => (this.grid[y] ?? []).slice(0, columns));
		this.x = Math.min(this.x, columns - 1);
		this.y = Math.min(this.y, rows - 1);
	}

	/** Executes ESC [ ? ${mode} h (${on}) or l. */
	mode(mode, on)
	{
		if (mode === '7') {
			this.wraps = on;
		} else if (mode === '25') {
			this.cursor = on;
		} else if (mode === '1049' && on && !this.other) {
			this.other = { grid: this.grid, x: this.x, y: this.y, history: this.history };
			this.grid = Array.from({ length: this.rows }, () => []);
			this.history = [];
		} else if (mode === '1049' && !on && this.other) {
			Object.assign(this, this.other);
			this.other = null;
		}
	}

	/**
	 * Returns the lines without the empty ones, those that have scrolled
	 * away first.
	 */
	lines()
	{
		return [...this.history, ...this.grid].map((row) =>
			Array.from(row, (c) => c ?? ' ').join('').trimEnd()).filter((line) => line);
	}

	text()
	{
		return this.lines().join('\n');
	}

	newline()
	{
		if (this.y < this.rows - 1) {
			this.y++;
			return;
		}
		this.history.push(this.grid.shift());
		this.grid.push([]);
	}

	put(c)
	{
		const columns = width(c);

		if (columns === 0) {
			this.grid[this.y][Math.max(0, this.x - 1)] += c;
			return;
		}
		if (this.x + columns > this.columns && !this.wraps)
			this.x = this.columns - columns;
		if (this.x + columns > this.columns) {
			this.x = 0;
			this.newline();
		}
		this.grid[this.y][this.x++] = c;
		if (columns === 2)
			this.grid[this.y][this.x++] = '';
	}

	/** Executes ESC [ ${numbers} ${final}. */
	control(numbers, final)
	{
		const n = Number(numbers.split(';')[0] || 0);
		const row = this.grid[this.y];

		switch (final) {
		case 'A': this.y = Math.max(0, this.y - (n || 1)); break;
		case 'B': this.y = Math.min(this.rows - 1, this.y + (n || 1)); break;
		case 'C': this.x = Math.min(this.columns - 1, this.x + (n || 1)); break;
		case 'D': this.x = Math.max(0, this.x - (n || 1)); break;
		case 'G': this.x = (n || 1) - 1; break;
		case 'H': {
			const [y, x] = numbers.split(';').map(Number);
			this.y = Math.min(y || 1, this.rows) - 1;
			this.x = Math.min(x || 1, this.columns) - 1;
			break;
		}
		case 'J':
			if (n === 2) {
				this.grid = Array.from({ length: this.rows }, () => []);
			} else {
				row.length = Math.min(row.length, this.x);
				for (let y = this.y + 1; y < this.rows; y++)
					this.grid[y] = [];
			}
			break;
		case 'K': row.length = Math.min(row.length, this.x); break;
		case 'P': row.splice(this.x, n || 1); break;
		case '@': row.splice(this.x, 0, ...Array(n || 1).fill(' ')); break;
		case 'h': case 'l': this.mode(numbers.slice(1), final === 'h'); break;
		case 'm': break;
		default: this.unknown.push(`${numbers}${final}`);
		}
	}

	write(text)
	{
		let at = 0;
		const all = this.rest + text;

		this.rest = '';
		while (at < all.length) {
			const c = String.fromCodePoint(all.codePointAt(at));
			if (c === '\x1b') {
				const found = /^\x1b(?:\[([?>\d;]*)([@-~])|[()][A-Z0-9]|[=>78M]|\][^\x07\x1b]*(?:\x07|\x1b\\))/
					.exec(all.slice(at));
				if (!found) {
					if (all.length - at < 12 || all[at + 1] === ']') {
						this.rest = all.slice(at);
						return;
					}
					this.unknown.push(JSON.stringify(all.slice(at, at + 8)));
					at++;
					continue;
				}
				if (found[2])
					this.control(found[1], found[2]);
				at += found[0].length;
				continue;
			}
			at += c.length;
			if (c === '\r')
				this.x = 0;
			else if (c === '\n')
				this.newline();
			else if (c === '\b')
				this.x = Math.max(0, this.x - 1);
			else if (c !== '\x07' && c >= ' ')
				this.put(c);
		}
	}
}

const quote = (word) => `'${String(word).replaceAll("'", "'\\''")}'`;

/**
 * Runs ${program} with ${args} in a terminal. type() and shows() stand for the
 * person at it.
 */
export class Terminal {
	constructor(program, args, { env = process.env, columns = 80, rows = 24 } = {})
	{
		const command = [program, ...args].map(quote).join(' ');

		this.screen = new Screen(columns, rows);
		this.raw = '';
		this.child = run('script', ['-qefc',
			`stty cols ${columns} rows ${rows}; exec ${command}`, '/dev/null'],
		{ stdio: ['pipe', 'pipe', 'pipe'], env: { TERM: 'xterm', ...env } });
		this.child.stdout.on('data', (text) => {
			this.raw += text;
			this.screen.write(text);
		});
	}

	type(text)
	{
		this.child.stdin.write(text);
	}

	/**
	 * Waits until ${wanted} (a text, a regular expression or a function) is
	 * on the screen.
	 */
	async shows(wanted, what = String(wanted))
	{
		const look = typeof wanted === 'function' ? wanted :
			typeof wanted === 'string' ? (text) => text.includes(wanted) :
				(text) => wanted.test(text);
		try {
			await eventually(() => look(this.screen.text()), what);
		} catch (error) {
			throw new Error(`the screen does not show ${what}:\n${this.screen.text()}`,
				{ cause: error });
		}
		return this.screen.lines();
	}

	/** Waits until the program has ended.  Returns its exit code. */
	async ended()
	{
		return (await this.child.exited).code;
	}

	/** Returns the process id of the program. */
	program()
	{
		const { pid } = this.child;

		return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
	}

	/**
	 * Changes the size of the terminal; the system notifies the program
	 * (SIGWINCH).
	 */
	resize(columns, rows)
	{
		this.screen.resize(columns, rows);
		execFileSync('stty', ['-F', fs.readlinkSync(`/proc/${this.program()}/fd/0`),
			'cols', String(columns), 'rows', String(rows)]);
	}

	/** Removes the terminal, which hangs up the program in it. */
	kill()
	{
		this.child.kill('SIGKILL');
	}
}
