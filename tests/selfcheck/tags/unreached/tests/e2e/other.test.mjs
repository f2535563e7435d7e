// SPDX-License-Identifier: MIT
// tags: surface
// Asks /v1/others/1.
