// SPDX-License-Identifier: MIT
// tags: unit
//
// A history in blocks (web/src/blocks.ts).  Each message appears once and in
// order.  A block becomes a new object only if something in it has changed, so
// that the page does not draw the others again.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import { modules } from './modules.mjs';

let page;

before(async () => {
	page = await modules('blocks.ts');
});

const message = (seq, more = {}) => ({ id: `m${seq}`, conversation: 'c', seq, from: 'bob', own: false,
	body: `text ${seq}`, at: 1000 * seq, ...more });
const history = (from, upto) => Array.from({ length: upto - from + 1 }, (_, n) => message(from + n));
const keys = (blocks) => blocks.map((one) => one.key);
const texts = (blocks) => blocks.flatMap((one) => one.messages.map((m) => m.id));

describe('blocks', () => {
	it('hold each message once, in its order, at most fifty numbers each', () => {
		const shown = history(1, 2000);
		const blocks = page.blocksOf(shown, []);
		assert.deepEqual(texts(blocks), shown.map((m) => m.id));
		assert.ok(blocks.every((one) => one.messages.length <= 50));
		assert.equal(blocks.length, 41);
		assert.deepEqual(page.blocksOf([], blocks), []);
	});

	it('are the same objects when nothing in them has changed', () => {
		const shown = history(101, 300);
		const was = page.blocksOf(shown, []);
		const more = page.blocksOf([...history(51, 100), ...shown, message(301)], was);
		assert.deepEqual(was.map((one) => more.includes(one)), [false, true, true, true, false],
			'but the first, which has another message above it, and the last');
		assert.deepEqual(keys(more), ['1', '2', '3', '4', '5', '6']);
		const changed = shown.map((m) => m.seq === 160 ? { ...m, end: 'failed' } : m);
		assert.deepEqual(page.blocksOf(changed, was).map((one) => was.includes(one)), [true, false, true, true, true]);
	});

	it('have a message without a number behind the one before it', () => {
		const fresh = (id) => message(null, { id });
		assert.deepEqual(keys(page.blocksOf([fresh('a'), fresh('b')], [])), ['new']);
		const [one] = page.blocksOf([message(7), fresh('a')], []);
		assert.deepEqual([one.key, one.messages.length, one.from, one.upto], ['0', 2, 7, 7]);
	});

	it('have keys of their own when messages of before a restore stand between those of today', () => {
		const old = (seq) => message(seq, { id: `old ${seq}`, stale: true });
		const shown = [old(1), message(1), old(2), message(2), old(99), message(3), message(60), old(3)];
		const blocks = page.blocksOf(shown, []);
		assert.equal(new Set(keys(blocks)).size, blocks.length);
		assert.deepEqual(texts(blocks), shown.map((m) => m.id));
	});

	it('are drawn again by a mark only when it says something about them', () => {
		const [, block] = page.blocksOf(history(1, 120), []);
		assert.deepEqual([block.from, block.upto], [50, 99]);
		for (const [mark, is] of [[0, 49], [49, 49], [50, 50], [75, 75], [99, 99], [100, 99], [Infinity, 99]])
			assert.equal(page.markIn(block, mark), is, `mark ${mark}`);
		const [stale] = page.blocksOf([message(9, { stale: true })], []);
		assert.equal(page.markIn(stale, 3), page.markIn(stale, 30));
	});
});
