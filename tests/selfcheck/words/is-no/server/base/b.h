/* SPDX-License-Identifier: MIT */
/* The text is no name. */
