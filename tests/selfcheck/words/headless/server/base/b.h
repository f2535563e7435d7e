/* SPDX-License-Identifier: MIT */
/*
 * What waits is looked at later.
 */
