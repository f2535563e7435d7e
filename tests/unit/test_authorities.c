/* SPDX-License-Identifier: MIT */
/*
 * Files with authorities: texts around the certificates, each form of a length,
 * and each kind of damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crypt/sign.h"
#include "federation/authorities.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define DER_MAX 70000
/* A complete SEQUENCE of three bytes. */
#define ONE BEGIN "\nMAMBAgM=\n" END "\n"

/* ${text} is accepted if ${why} is NULL; otherwise it is refused, with ${why}
 * in the error. */
static void
check(const char *text, size_t n, const char *why)
{
	struct buf pem = BUF_INIT;
	struct err err = ERR_INIT;
	enum rc rc;

	/* A memory block of its own lets a sanitizer detect reads beyond its
	 * end. */
	buf_add(&pem, text, n);
	rc = authorities_check(&pem, &err);
	buf_fini(&pem);
	if (rc != (why == NULL ? RC_OK : RC_INVALID))
		fail_msg("%.200s: %d %s", text, (int)rc, err.text);
	if (why != NULL && strstr(err.text, why) == NULL)
		fail_msg("%.200s: %s", text, err.text);
}

/* The same for a certificate with ${n} bytes of content.  Its length has
 * ${nlen} further bytes (0: the short form), and is wrong by ${off}. */
static void
check_length(size_t n, size_t nlen, long off, const char *why)
{
	static uint8_t der[DER_MAX];
	static char text[2 * DER_MAX];
	const size_t len = (size_t)((long)n + off);
	size_t i, at;

	der[0] = 0x30;
	der[1] = nlen == 0 ? (uint8_t)len : (uint8_t)(0x80 | nlen);
	for (i = 0; i < nlen; i++)
		der[2 + i] = (uint8_t)(len >> 8 * (nlen - 1 - i));
	memset(der + 2 + nlen, 1, n);
	memcpy(text, BEGIN "\n", sizeof(BEGIN));
	at = sizeof(BEGIN);
	sign_base64_write(der, 2 + nlen + n, text + at, sizeof(text) - at);
	at += strlen(text + at);
	memcpy(text + at, "\n" END, sizeof(END));
	check(text, at + sizeof(END), why);
}

static void
test_texts(void **state)
{
	static const struct {
		const char *text, *why; /* NULL: accepted */
	} rows[] = {
	    {ONE, NULL},
	    {"# An authority\r\nsubject=CN = x\r\n" BEGIN
	     "\r\nMAMB\r\nAgM=\r\n" END "\r\n",
		NULL},
	    {ONE "between\n" ONE "behind", NULL},
	    {BEGIN "MAMBAgM=" END, NULL},
	    {"", "has no certificate"},
	    {"\n", "has no certificate"},
	    {"-----BEGIN CERTIFICATE----", "has no certificate"},
	    {"-----BEGIN PRIVATE KEY-----\nMAMBAgM=\n"
	     "-----END PRIVATE KEY-----\n",
		"in PEM (" BEGIN ")"},
	    {END BEGIN, "damaged, its number 1"},
	    {BEGIN, "damaged, its number 1"},
	    {BEGIN "\n" END, "damaged, its number 1"},
	    {BEGIN "\n=\n" END, "damaged, its number 1"},
	    {BEGIN "\n==\n" END, "damaged, its number 1"},
	    {BEGIN "\n====\n" END, "damaged, its number 1"},
	    {BEGIN "\nMAMBAgM=\n", "damaged, its number 1"},
	    {ONE BEGIN "\nMAMBAgM\n" END, "damaged, its number 2"},
	    {ONE BEGIN "\nMAMBAg*=\n" END, "damaged, its number 2"},
	    {ONE BEGIN "\nMAMBAgN=\n" END, "damaged, its number 2"},
	    /* cut, too long, another tag, one byte */
	    {BEGIN "\nMAMBAg==\n" END ONE, "damaged, its number 1"},
	    {BEGIN "\nMAMBAgME\n" END ONE, "damaged, its number 1"},
	    {BEGIN "\nMQMBAgM=\n" END ONE, "damaged, its number 1"},
	    {BEGIN "\nMA==\n" END ONE, "damaged, its number 1"},
	    /* the first block has no end of its own */
	    {BEGIN "\nMAMBAgM=\n" BEGIN "\nMAMBAgM=\n" END,
		"damaged, its number 1"},
	};
	static const char nul[] = BEGIN "\nMAMB\0AgM=\n" END;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		check(rows[i].text, strlen(rows[i].text), rows[i].why);
	check(nul, sizeof(nul) - 1, "damaged, its number 1");
}

static void
test_lengths(void **state)
{
	const char *damaged = "damaged";
	long off;

	(void)state;
	check_length(0, 0, 0, NULL);
	check_length(127, 0, 0, NULL);
	check_length(128, 1, 0, NULL);
	check_length(255, 1, 0, NULL);
	check_length(256, 2, 0, NULL);
	check_length(65535, 2, 0, NULL);
	check_length(65536, 3, 0, NULL);
	check_length(128, 4, 0, damaged);
	for (off = -1; off <= 1; off += 2) {
		check_length(100, 0, off, damaged);
		check_length(200, 1, off, damaged);
		check_length(300, 2, off, damaged);
		check_length(65600, 3, off, damaged);
	}
	/* The indefinite form, which DER does not allow. */
	check(BEGIN "\nMIABAgMA\n" END, strlen(BEGIN END) + 10, damaged);
	/* A length whose bytes would lie beyond the end. */
	check(BEGIN "\nMIIB\n" END, strlen(BEGIN END) + 6, damaged);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_lengths),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
