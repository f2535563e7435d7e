// SPDX-License-Identifier: MIT
// tags: store surface
