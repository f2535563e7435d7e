/* SPDX-License-Identifier: MIT */
double f(float x); double f(float x) { return (x * 2.0); }
