/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
/* Has one. */
int c_close(void);

int *c_open(int a,
    int b);
