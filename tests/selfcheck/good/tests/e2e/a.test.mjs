// SPDX-License-Identifier: MIT
// tags: store
//
// A sample that every gate must let pass.
import { describe, it } from 'node:test';

const TITLE = 'R1 it\'s a constant';

describe('R1 a group', () => {
	it('in brackets (R2, R3), or with words (R2, and more) (R3)', () => {});
	it('R2-R3, a title of ' +
	   'two parts', () => {});

	// R3: a comment.
	it(`${TITLE} in a title, R2D2 is not a tag`, () => {});
});

for (const title of ['R1 a case'])
	it(title, () => {});
