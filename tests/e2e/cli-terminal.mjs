// SPDX-License-Identifier: MIT
//
// A program in a pseudo-terminal, seen as a person sees it: script(1) of
// util-linux makes the terminal, and a small emulation of what a VT100 does
// with the bytes keeps the screen, so that tests can look at its lines.

import { eventually, run } from './harness.mjs';

/** What is on a terminal of ${columns} x ${rows}. */
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
	}

	/** The lines, those that have scrolled away first, without what is empty. */
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
		if (this.x === this.columns) {
			this.x = 0;
			this.newline();
		}
		this.grid[this.y][this.x++] = c;
	}

	/** ESC [ ${numbers} ${final} */
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
			this.y = (y || 1) - 1;
			this.x = (x || 1) - 1;
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
		case 'm': case 'h': case 'l': break;
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
				const found = /^\x1b(?:\[([?>\d;]*)([@-~])|[()][A-Z0-9]|[=>78M])/
					.exec(all.slice(at));
				if (!found) {
					if (all.length - at < 12) {
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

/** ${program} with ${args} in a terminal; type() and shows() are its person. */
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

	/** Waits until ${wanted} (a text, an expression or a function) is there. */
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

	/** Waits for the end; the exit code. */
	async ended()
	{
		return (await this.child.exited).code;
	}

	/** Takes the terminal away: the program in it is hung up. */
	kill()
	{
		this.child.kill('SIGKILL');
	}
}
