// SPDX-License-Identifier: MIT
import { it } from 'node:test';

it('a test', () => {
	console.log('it shows R7');
});
