/* SPDX-License-Identifier: MIT */
/*
 * The authorities that certificates of other servers are verified with, where
 * an operator names a file of them (federation-ca).  libcurl takes a file that
 * it cannot read for one that trusts nobody, and says so at the first request;
 * a start shall say it instead.
 */
#ifndef FEDERATION_AUTHORITIES_H
#define FEDERATION_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"

/* The longest file.  That of Debian, with 140 authorities, has 220 KiB. */
#define AUTHORITIES_LEN ((size_t)1024 * 1024)

/* Whether ${pem} has one certificate at least, and each of them is whole: its
 * base64 is an object of DER with the length that it says.  What is in the
 * object is for TLS to judge.  Text around certificates is allowed, as openssl
 * writes it.  RC_INVALID: ${err} says what is wrong, as a sentence that has the
 * file as its subject; RC_NO_MEMORY.  Thread: any. */
enum rc authorities_check(const struct buf *pem, struct err *err) MUST_USE;

#endif
