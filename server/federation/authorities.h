/* SPDX-License-Identifier: MIT */
/*
 * Checks the file of certificate authorities with which certificates of other
 * servers are verified, if an operator sets one (federation-ca).
 *
 * libcurl treats a file that it cannot parse like an empty one, and reports it
 * only at the first request.  This check makes the start fail instead.
 */
#ifndef FEDERATION_AUTHORITIES_H
#define FEDERATION_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"

/* The longest file that is accepted.  Debian's, with 140 authorities, has 220
 * KiB. */
#define AUTHORITIES_LEN ((size_t)1024 * 1024)

/* Checks that ${pem} has at least one certificate, and that each one is
 * complete: its base64 is one DER object of the length that it states.  TLS
 * checks the contents of the object.  Text around certificates is allowed, as
 * openssl writes it.  RC_INVALID: ${err} says what is wrong, as a sentence with
 * the file as its subject.  RC_NO_MEMORY.  Thread: any. */
enum rc authorities_check(const struct buf *pem, struct err *err) MUST_USE;

#endif
