// SPDX-License-Identifier: MIT
//
// Looking into a data directory whose server is at work: a file that was listed
// may be gone a moment later (DATA/mark is written under another name and then
// renamed), and that is not a failure.
import fs from 'node:fs';
import path from 'node:path';

/** What ${act} gives; null: the file is gone. */
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

/** What is in ${dir} now: {name, file, stat} of each. */
export function entriesIn(dir)
{
	return fs.readdirSync(dir).flatMap((name) => {
		const file = path.join(dir, name);
		const stat = fs.lstatSync(file, { throwIfNoEntry: false });
		return stat ? [{ name, file, stat }] : [];
	});
}

/** Copies the plain files and folders in ${from} into the fresh folder ${to},
 * which is its owner's alone. */
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
