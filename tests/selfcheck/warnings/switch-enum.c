/* SPDX-License-Identifier: MIT */
enum e { A, B }; int f(enum e e); int f(enum e e) { switch (e) { case A: return (1); default: return (2); } }
