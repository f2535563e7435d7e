// SPDX-License-Identifier: MIT
import { it } from 'node:test';

it('R1 R999 a row that there is not', () => {});
