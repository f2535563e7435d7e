/* SPDX-License-Identifier: MIT */
/*
 * The states of a lamp:
 *
 *	off     waits for the switch
 *or for the clock
 */
int lamp;
