/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { switch (n) { case 1: n = 2; /* falls through */ case 2: n++; } return (n); }
