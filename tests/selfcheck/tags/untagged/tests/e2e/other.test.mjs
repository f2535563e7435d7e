// SPDX-License-Identifier: MIT
//
// Asks for nothing.
