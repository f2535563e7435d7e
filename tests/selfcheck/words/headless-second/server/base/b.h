/* SPDX-License-Identifier: MIT */
/* The rows.  Who needs one waits for it. */
