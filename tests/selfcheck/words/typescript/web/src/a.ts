// SPDX-License-Identifier: MIT
// Nobody is told.
export const a = 1;
