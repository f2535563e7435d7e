/* SPDX-License-Identifier: MIT */
/* The relay is told. */
