/* SPDX-License-Identifier: MIT */
const char *log = "the recipient is "
		  "told nothing";
const char quote = '"', *fine = "tell the operator", *name = "told";
