/* SPDX-License-Identifier: MIT */
/*
 * See authorities.h.
 */
#include <string.h>

#include "crypt/sign.h"
#include "federation/authorities.h"

#define BEGIN_LINE "-----BEGIN CERTIFICATE-----"
#define END_LINE "-----END CERTIFICATE-----"
/* The tag byte of a SEQUENCE in DER.  Each certificate is a SEQUENCE (RFC 5280,
 * section 4.1). */
#define DER_SEQUENCE 0x30

/* Returns true if the ${n} bytes are one DER SEQUENCE, by tag and length. */
static bool
is_sequence(const uint8_t *p, size_t n)
{
	size_t i, nlen, len = 0;

	if (n < 2 || p[0] != DER_SEQUENCE)
		return (false);
	if (p[1] < 0x80)
		return (p[1] == n - 2);
	nlen = p[1] & 0x7fU;
	if (nlen > 3 || n < 2 + nlen)
		return (false);
	for (i = 0; i < nlen; i++)
		len = len << 8 | p[2 + i];
	return (len == n - 2 - nlen);
}

/* Appends the ${n} bytes at ${p} without white space. */
static void
add_joined(struct buf *out, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strchr("\r\n\t ", p[i]) == NULL || p[i] == '\0')
			buf_addc(out, p[i]);
}

/* Checks the text between the two lines of a certificate.  RC_INVALID: it is
 * damaged. */
static enum rc
check_one(const char *p, size_t n, struct err *err)
{
	struct buf text = BUF_INIT, der = BUF_INIT;
	size_t size, padding = 0;
	enum rc rc = RC_OK;
	char *room;

	add_joined(&text, p, n);
	while (padding < 2 && text.len > padding &&
	       text.data[text.len - 1 - padding] == '=')
		padding++;
	size = text.len / 4 * 3;
	size = size > padding ? size - padding : 0;
	room = buf_reserve(&der, size + 1);
	if (!buf_ok(&text) || room == NULL)
		rc = err_set(err, RC_NO_MEMORY, "certificates");
	else if (text.len == 0 ||
		 !sign_base64_read(text.data, text.len, room, size) ||
		 !is_sequence((const uint8_t *)room, size))
		rc = RC_INVALID;
	buf_fini(&text);
	buf_fini(&der);
	return (rc);
}

enum rc
authorities_check(const struct buf *pem, struct err *err)
{
	const char *at = pem->data, *end = pem->data + pem->len, *stop;
	enum rc rc = RC_OK;
	int n;

	for (n = 0; rc == RC_OK && at != NULL; n++) {
		at = memmem(
		    at, (size_t)(end - at), BEGIN_LINE, strlen(BEGIN_LINE));
		if (at == NULL)
			break;
		at += strlen(BEGIN_LINE);
		stop =
		    memmem(at, (size_t)(end - at), END_LINE, strlen(END_LINE));
		rc = stop == NULL ? RC_INVALID
				  : check_one(at, (size_t)(stop - at), err);
	}
	if (rc == RC_INVALID)
		return (err_set(err, rc,
		    "has a certificate that is damaged, its number %d", n));
	if (rc == RC_OK && n == 0)
		return (err_set(err, RC_INVALID,
		    "has no certificate; name a file of certificates in PEM "
		    "(" BEGIN_LINE ")"));
	return (rc);
}
