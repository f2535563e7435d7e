// SPDX-License-Identifier: MIT
//
// Makes allocations of a server fail at random, by failmalloc.c, which is
// compiled here and preloaded.  The test sets the rate in a file that both
// processes map.  There it also reads how many calls have failed, and in which
// library.
//
//	const memory = new Memory(seed);
//	const server = new Server({ env: memory.env });
//	memory.rate(0.01);               // one call in a hundred fails
//	memory.figures();                // {calls, failures, checked, modules}

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { tempDir } from '../e2e/harness.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CC_FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Wconversion', '-Werror',
	'-O2', '-g', '-fPIC', '-fno-builtin', '-fvisibility=hidden', '-shared'];

/* The layout of struct control in failmalloc.h. */
const PAGE = 4096;
const AT = { rate: 0, seed: 4, calls: 8, failures: 16, checked: 24, guarded: 32, modules: 40 };
const MODULE = { size: 48, failures: 8, name: 16, n: 24 };

/** Compiles the library into ${dir}.  Returns its path. */
function compile(dir)
{
	const file = path.join(dir, 'failmalloc.so');

	execFileSync(process.env.CC ?? 'cc', [...CC_FLAGS, '-o', file,
		path.join(HERE, 'failmalloc.c'), path.join(HERE, 'failmalloc_guard.c')],
	{ stdio: ['ignore', 'inherit', 'inherit'] });
	return file;
}

export class Memory {
	/**
	 * ${guards}: puts canaries around each block, where no sanitizer checks
	 * accesses.
	 */
	constructor(seed, guards = true)
	{
		const dir = tempDir('twinbox-memory-');
		const page = Buffer.alloc(PAGE);

		page.writeUInt32LE(seed >>> 0, AT.seed);
		this.file = path.join(dir, 'control');
		fs.writeFileSync(this.file, page);
		this.fd = fs.openSync(this.file, 'r+');
		/** The environment of the server. */
		this.env = {
			LD_PRELOAD: compile(dir),
			FAILMALLOC: this.file,
			FAILMALLOC_GUARDS: guards ? '1' : '0',
			/* The sanitizer's library is loaded after this one. */
			ASAN_OPTIONS: [process.env.ASAN_OPTIONS, 'verify_asan_link_order=0',
				'handle_abort=1']
				.filter(Boolean).join(':'),
			LSAN_OPTIONS: [process.env.LSAN_OPTIONS,
				`suppressions=${path.join(HERE, 'memory.supp')}`]
				.filter(Boolean).join(':'),
		};
	}

	/** From now on the fraction ${part} (0 to 1) of all calls fails. */
	rate(part)
	{
		const word = Buffer.alloc(4);

		word.writeUInt32LE(Math.floor(part * 0xffffffff));
		fs.writeSync(this.fd, word, 0, 4, AT.rate);
	}

	/**
	 * Returns the library's counters.  `modules` is a Map from the name of
	 * a library to the number of its failed calls.
	 */
	figures()
	{
		const page = Buffer.alloc(PAGE);
		const number = (at) => Number(page.readBigUInt64LE(at));
		const modules = new Map();

		fs.readSync(this.fd, page, 0, PAGE, 0);
		for (let i = 0; i < MODULE.n; i++) {
			const at = AT.modules + i * MODULE.size;
			const name = page.toString('latin1', at + MODULE.name, at + MODULE.size)
				.replace(/\0.*$/s, '');
			const short = name.replace(/\.so.*$/, '');
			if (short !== '')
				modules.set(short, (modules.get(short) ?? 0) + number(at + MODULE.failures));
		}
		return { calls: number(AT.calls), failures: number(AT.failures),
			checked: number(AT.checked), guarded: number(AT.guarded) === 1, modules };
	}

	end()
	{
		fs.closeSync(this.fd);
	}
}
