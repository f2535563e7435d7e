// SPDX-License-Identifier: MIT
//
// Reads a data directory while its server runs.  A listed file may be gone a
// moment later (DATA/mark is written under another name and then renamed).
// That is not an error.
import fs from 'node:fs';
import path from 'node:path';

/** Returns the result of ${act}, or null if the file is gone. */
export function unlessGone(act)
{
	try {
		return act();
	} catch (err) {
		if (err.code === 'ENOENT')
			return null;
		throw err;
	}
}

/** Returns the current content of ${dir}: {name, file, stat} for each entry. */
export function entriesIn(dir)
{
	return fs.readdirSync(dir).flatMap((name) => {
		const file = path.join(dir, name);
		const stat = fs.lstatSync(file, { throwIfNoEntry: false });
		return stat ? [{ name, file, stat }] : [];
	});
}

/**
 * Copies the regular files and folders in ${from} into the new folder ${to},
 * which only its owner may access.
 */
export function copyFiles(from, to)
{
	fs.mkdirSync(to, { mode: 0o700 });
	for (const { name, file, stat } of entriesIn(from)) {
		if (stat.isDirectory())
			copyFiles(file, path.join(to, name));
		else if (stat.isFile())
			unlessGone(() => fs.copyFileSync(file, path.join(to, name)));
	}
}
