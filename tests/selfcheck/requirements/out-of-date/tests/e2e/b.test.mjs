// SPDX-License-Identifier: MIT
import { it } from 'node:test';

it('R7 a test that the page does not know', () => {});
