// SPDX-License-Identifier: MIT
// tags: store slow
