// SPDX-License-Identifier: MIT
//
// node tests/mutants/draw.mjs SEED N FOLDER
//
// Draws N places in the C sources and in the logic of the page, and writes for
// each a patch FOLDER/drawn-NNN.patch that plants one defect there.  The kinds
// take turns:
//
//	condition	the condition of an if, a loop or ?: is negated, or && and
//			|| are exchanged
//	boundary	< becomes <=, > becomes >=, and the other way round
//	statement	a call or an assignment is deleted
//
// The same SEED draws the same places of the same sources.  Left out are calls that
// only write to the log (no test is expected to see each of them), what stands in
// assert() (a caller's mistake, which no test makes), and carrier_fault.c, a
// part of the tests.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { Language, Parser, Query } from 'web-tree-sitter';

const [seed, count, folder] = process.argv.slice(2);
if (!folder || !(Number(count) > 0)) {
	console.error('usage: node tests/mutants/draw.mjs SEED N FOLDER');
	process.exit(64);
}

// One query for both languages: their grammars use the same names for these.
const PLACES = `
(if_statement condition: (parenthesized_expression) @condition)
(while_statement condition: (parenthesized_expression) @condition)
(do_statement condition: (parenthesized_expression) @condition)
(for_statement condition: (_) @loop)
(binary_expression operator: ["&&" "||"] @joint)
(binary_expression operator: ["<" "<=" ">" ">="] @boundary)
(expression_statement [(call_expression) (assignment_expression)
    (update_expression)] @effect) @statement`;

// The condition of ?: has different names in the two grammars.
const CHOICES = {
	c: '(conditional_expression condition: (_) @choice)',
	ts: '(ternary_expression condition: (_) @choice)',
};

const EXCHANGED = {
	'&&': '||',
	'||': '&&',
	'<': '<=',
	'<=': '<',
	'>': '>=',
	'>=': '>',
};

// Each capture of the query: the kind of the defect, and the text that replaces
// the place, or undefined where there is nothing to plant.
const DEFECTS = {
	condition: (text) => ['condition', `(!${text})`],
	loop: (text) => ['condition', `!(${text.replace(/;$/, '')})${text.endsWith(';') ? ';' : ''}`],
	choice: (text) => ['condition', `(!(${text}))`],
	joint: (text) => ['condition', EXCHANGED[text]],
	boundary: (text) => ['boundary', EXCHANGED[text]],
	statement: (text) => (/^log_[a-z]+\(/.test(text) ? undefined : ['statement', '(void)0;']),
};

await Parser.init();
const require = createRequire(import.meta.url);
const grammars = {
	c: await Language.load(require.resolve('tree-sitter-c/tree-sitter-c.wasm')),
	ts: await Language.load(require.resolve('tree-sitter-typescript/tree-sitter-typescript.wasm')),
};

function list(top, wanted) {
	return readdirSync(top)
		.sort()
		.flatMap((name) => {
			const path = join(top, name);
			return statSync(path).isDirectory() ? list(path, wanted) : wanted.test(name) ? [path] : [];
		});
}

function isAsserted(node) {
	for (let above = node; above; above = above.parent)
		if (above.type === 'call_expression' &&
		    /^(static_)?assert$/.test(above.childForFieldName('function')?.text ?? '')) return true;
	return false;
}

// The places of a file: { file, line, kind, from, to, text }, in bytes.
function placesOf(file) {
	const source = readFileSync(file, 'utf8');
	const language = file.endsWith('.c') ? 'c' : 'ts';
	const parser = new Parser();
	parser.setLanguage(grammars[language]);
	const query = new Query(grammars[language], PLACES + CHOICES[language]);
	const places = [];
	for (const { name, node } of query.captures(parser.parse(source).rootNode)) {
		const defect = DEFECTS[name]?.(node.text);
		if (defect === undefined || isAsserted(node)) continue;
		let text = defect[1];
		if (language === 'ts') text = text.replace('(void)0;', 'void 0;');
		places.push({
			file,
			line: node.startPosition.row + 1,
			kind: defect[0],
			from: node.startIndex,
			to: node.endIndex,
			was: node.text,
			text,
		});
	}
	return places;
}

// A number below n that depends on the seed and on what is drawn.
function draw(what, n) {
	const digest = createHash('sha256').update(`${seed} ${what}`).digest();
	return Number(digest.readBigUInt64BE() % BigInt(n));
}

function patchOf(place) {
	const source = readFileSync(place.file, 'utf8');
	const { status, stdout } = spawnSync(
		'diff',
		['-u', '--label', `a/${place.file}`, '--label', `b/${place.file}`, place.file, '-'],
		{ input: source.slice(0, place.from) + place.text + source.slice(place.to), encoding: 'utf8' },
	);
	if (status !== 1) throw new Error(`diff of ${place.file} ended with ${status}`);
	const short = (text) => text.replace(/\s+/g, ' ').slice(0, 60);
	return (
		`What: ${place.file}:${place.line}: ${place.kind}: ${short(place.was)}` +
		` becomes ${short(place.text)}\n\ndiff --git a/${place.file} b/${place.file}\n${stdout}`
	);
}

const files = [...list('server', /^(?!carrier_fault).*\.c$/), ...list('client', /\.c$/), ...list('web/src', /\.ts$/)];
const left = { condition: [], boundary: [], statement: [] };
for (const place of files.flatMap(placesOf)) left[place.kind].push(place);
const kinds = Object.keys(left);
for (let i = 0; i < Number(count); i++) {
	const places = left[kinds[i % kinds.length]];
	if (places.length === 0) throw new Error(`no more places for a ${kinds[i % kinds.length]}`);
	const [place] = places.splice(draw(i, places.length), 1);
	writeFileSync(join(folder, `drawn-${String(i + 1).padStart(3, '0')}.patch`), patchOf(place));
}
