/* SPDX-License-Identifier: MIT */
const char *cure =
    "Repeat later with the same id.  "
    "What it has accepted is safe."; /* as before */
