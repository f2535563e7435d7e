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

/* The longest file that an operator may set, in bytes; the caller checks it.
 * Debian's, with 140 authorities, has 220 KiB. */
#define AUTHORITIES_LEN ((size_t)1024 * 1024)

/* Checks that ${pem} has at least one certificate, and that each certificate is
 * complete: its base64 is one DER SEQUENCE of the length that the SEQUENCE
 * states.  TLS checks the contents.  Text around certificates is allowed, as
 * openssl writes it.  RC_INVALID: ${err} says what is wrong, without a subject
 * ("has no certificate"); the caller puts the name of the file in front.
 * RC_NO_MEMORY.  Thread: any. */
enum rc authorities_check(const struct buf *pem, struct err *err) MUST_USE;

#endif
