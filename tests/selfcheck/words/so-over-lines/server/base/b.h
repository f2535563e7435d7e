/* SPDX-License-Identifier: MIT */
/*
 * The row is read again so
 * often.
 */
