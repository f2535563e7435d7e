/* SPDX-License-Identifier: MIT */
/*
 * Checks the file that an operator names in the setting federation-ca: the
 * certificate authorities that verify the TLS certificates of other servers.
 *
 * libcurl treats a file that it cannot parse like an empty file, and reports
 * this only at the first request.  With this check the server refuses to start
 * instead if the file has no certificate or an incomplete one.
 */
#ifndef FEDERATION_AUTHORITIES_H
#define FEDERATION_AUTHORITIES_H

#include "base/buf.h"
#include "base/err.h"

/* Maximum size of the file of certificate authorities, 1 MiB, in bytes.  The
 * caller of authorities_check() refuses a larger file; the function itself does
 * not.  The file of Debian, with 140 authorities, has 220 KiB. */
#define AUTHORITIES_LEN ((size_t)1024 * 1024)

/* Checks that ${pem} has at least one certificate, and that each certificate is
 * complete: its base64 is one DER SEQUENCE of the length that the SEQUENCE
 * states.  Everything inside the SEQUENCE is left to TLS.  Text around
 * certificates is allowed, because openssl writes such text.  RC_INVALID:
 * ${err} says what is wrong, without a subject ("has no certificate"); the
 * caller puts the name of the file in front.  RC_NO_MEMORY.  Thread: any. */
enum rc authorities_check(const struct buf *pem, struct err *err) MUST_USE;

#endif
