/* SPDX-License-Identifier: MIT */
/*
 * Ed25519 against RFC 8032 and RFC 9421, and the signatures that a verifier
 * must refuse: with keys and points of low order, or changed into another valid
 * one.  SHA-256 and base64 against known answers and in each wrong form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "crypt/sign.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static size_t
from_hex(const char *hex, uint8_t *ret, size_t size)
{
	size_t n;

	assert_int_equal(
	    0, sodium_hex2bin(ret, size, hex, strlen(hex), NULL, &n, NULL));
	return (n);
}

/* RFC 8032, section 7.1. */
static const struct {
	const char *seed, *public, *message, *signature;
} rfc8032[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
	"5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	"72",
	"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
	"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
	"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
	"af82",
	"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
	"18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
	"ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
	/* SHA-512 of "abc" */
	"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	"dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
	"09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"},
};

static void
test_rfc8032(void **state)
{
	uint8_t seed[SIGN_SEED_SIZE], public[SIGN_PUBLIC_SIZE];
	uint8_t want_public[SIGN_PUBLIC_SIZE], want[SIGN_SIZE];
	uint8_t message[64], signature[SIGN_SIZE];
	size_t i, bit, n;

	(void)state;
	for (i = 0; i < COUNT(rfc8032); i++) {
		from_hex(rfc8032[i].seed, seed, sizeof(seed));
		from_hex(rfc8032[i].public, want_public, sizeof(want_public));
		from_hex(rfc8032[i].signature, want, sizeof(want));
		n = from_hex(rfc8032[i].message, message, sizeof(message));
		sign_public(seed, public);
		assert_memory_equal(want_public, public, sizeof(public));
		sign_make(seed, message, n, signature);
		assert_memory_equal(want, signature, sizeof(signature));
		assert_true(sign_verify(public, message, n, signature));
		for (bit = 0; bit < 8 * sizeof(signature); bit++) {
			signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(
			    sign_verify(public, message, n, signature));
			signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		for (bit = 0; bit < 8 * n; bit++) {
			message[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(
			    sign_verify(public, message, n, signature));
			message[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_true(sign_verify(public, message, n, signature));
		if (n > 0)
			assert_false(
			    sign_verify(public, message, n - 1, signature));
	}
}

/* RFC 9421, appendices B.1.4 and B.2.6. */
static const char rfc9421_base[] =
    "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n"
    "\"@method\": POST\n"
    "\"@path\": /foo\n"
    "\"@authority\": example.com\n"
    "\"content-type\": application/json\n"
    "\"content-length\": 18\n"
    "\"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" "
    "\"content-type\" \"content-length\");created=1618884473"
    ";keyid=\"test-key-ed25519\"";
static const char rfc9421_seed[] =
    "n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=";
static const char rfc9421_public[] =
    "JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=";
static const char rfc9421_signature[] =
    "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQ"
    "v5lIp5WPpBKRCw==";

static void
test_rfc9421(void **state)
{
	uint8_t seed[SIGN_SEED_SIZE], public[SIGN_PUBLIC_SIZE];
	uint8_t again[SIGN_PUBLIC_SIZE], made[SIGN_SIZE];
	uint8_t signature[SIGN_SIZE];
	char base[sizeof(rfc9421_base)];
	size_t i;

	(void)state;
	assert_true(sign_base64_read(
	    rfc9421_seed, strlen(rfc9421_seed), seed, sizeof(seed)));
	assert_true(sign_base64_read(
	    rfc9421_public, strlen(rfc9421_public), public, sizeof(public)));
	assert_true(sign_base64_read(rfc9421_signature,
	    strlen(rfc9421_signature), signature, sizeof(signature)));
	sign_public(seed, again);
	assert_memory_equal(public, again, sizeof(again));
	assert_true(
	    sign_verify(public, rfc9421_base, strlen(rfc9421_base), signature));
	sign_make(seed, rfc9421_base, strlen(rfc9421_base), made);
	assert_memory_equal(signature, made, sizeof(made));
	memcpy(base, rfc9421_base, sizeof(base));
	for (i = 0; i < strlen(rfc9421_base); i++) {
		base[i] ^= 1;
		assert_false(
		    sign_verify(public, base, strlen(rfc9421_base), signature));
		base[i] ^= 1;
	}
	/* A newline at the end, which some implementations add. */
	base[sizeof(base) - 1] = '\n';
	assert_false(sign_verify(public, base, sizeof(base), signature));
}

/* The points of order 1, 2, 4 and 8, and their encodings that are not
 * canonical.  The sign bit of each may be set as well. */
static const char *const low_order[] = {
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

/* Returns whether (2B, 2) is a signature of ${message} for a verifier that does
 * not check the order of ${public}: the factor of the key is a multiple of
 * 8. */
static bool
holds_for_low_order(const uint8_t r[32], const uint8_t public[SIGN_PUBLIC_SIZE],
    uint8_t message)
{
	uint8_t hash[crypto_hash_sha512_BYTES], scalar[32];
	crypto_hash_sha512_state h;

	crypto_hash_sha512_init(&h);
	crypto_hash_sha512_update(&h, r, 32);
	crypto_hash_sha512_update(&h, public, SIGN_PUBLIC_SIZE);
	crypto_hash_sha512_update(&h, &message, 1);
	crypto_hash_sha512_final(&h, hash);
	crypto_core_ed25519_scalar_reduce(scalar, hash);
	return (scalar[0] % 8 == 0);
}

/* Anybody can sign for a key A of low order: R = S B is valid for each message
 * whose factor of A is a multiple of that order. */
static void
test_low_order_key(void **state)
{
	static const uint8_t s[32] = {2};
	uint8_t public[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
	uint8_t message;
	size_t forged, i, sign;

	(void)state;
	assert_int_equal(
	    0, crypto_scalarmult_ed25519_base_noclamp(signature, s));
	memcpy(signature + 32, s, sizeof(s));
	for (i = 0; i < COUNT(low_order); i++) {
		from_hex(low_order[i], public, sizeof(public));
		for (sign = 0; sign < 2; sign++) {
			public[31] ^= 0x80;
			forged = 0;
			for (message = 0; message < 64; message++) {
				assert_false(sign_verify(
				    public, &message, 1, signature));
				forged += holds_for_low_order(
				    signature, public, message);
			}
			assert_true(forged > 0);
		}
	}
}

/* R of low order and S = 0 are valid for a key of low order alone, which is
 * refused before.  Here they are tried with an honest key. */
static void
test_low_order_point(void **state)
{
	uint8_t seed[SIGN_SEED_SIZE] = {7}, public[SIGN_PUBLIC_SIZE];
	uint8_t signature[SIGN_SIZE];
	size_t i;

	(void)state;
	sign_public(seed, public);
	for (i = 0; i < COUNT(low_order); i++) {
		sign_make(seed, "x", 1, signature);
		from_hex(low_order[i], signature, 32);
		assert_false(sign_verify(public, "x", 1, signature));
		memset(signature + 32, 0, 32);
		assert_false(sign_verify(public, "x", 1, signature));
	}
}

/* Keys that are not a point of the curve or not canonical, and the negative of
 * the right key. */
static void
test_other_keys(void **state)
{
	static const char *const keys[] = {
	    "0200000000000000000000000000000000000000000000000000000000000000",
	    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	    "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707519a",
	};
	uint8_t public[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
	size_t i;

	(void)state;
	from_hex(rfc8032[0].signature, signature, sizeof(signature));
	for (i = 0; i < COUNT(keys); i++) {
		from_hex(keys[i], public, sizeof(public));
		assert_false(sign_verify(public, "", 0, signature));
	}
}

/* Adds the order of the group to the S of ${signature}.  Returns false on
 * overflow. */
static bool
add_order(uint8_t signature[SIGN_SIZE])
{
	static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63,
	    0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
	    0x14, [31] = 0x10};
	unsigned carry = 0;
	size_t i;

	for (i = 0; i < sizeof(order); i++) {
		carry += (unsigned)signature[32 + i] + order[i];
		signature[32 + i] = (uint8_t)(carry & 0xff);
		carry >>= 8;
	}
	return (carry == 0);
}

/* S + L, S + 2L … have the same meaning to a verifier that does not check the
 * range of S. */
static void
test_malleated(void **state)
{
	uint8_t public[SIGN_PUBLIC_SIZE], signature[SIGN_SIZE];
	uint8_t message[64];
	size_t i, n, times;

	(void)state;
	for (i = 0; i < COUNT(rfc8032); i++) {
		from_hex(rfc8032[i].public, public, sizeof(public));
		from_hex(rfc8032[i].signature, signature, sizeof(signature));
		n = from_hex(rfc8032[i].message, message, sizeof(message));
		assert_true(sign_verify(public, message, n, signature));
		for (times = 0; add_order(signature); times++)
			assert_false(
			    sign_verify(public, message, n, signature));
		assert_true(times >= 14);
	}
}

static void
test_sha256(void **state)
{
	static const struct {
		const char *text, *hash;
	} rows[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852"
		 "b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
		    "0015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06"
		"c1"},
	};
	uint8_t want[SIGN_SHA256_SIZE], hash[SIGN_SHA256_SIZE];
	struct sign_sha256 h;
	size_t i, k;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		from_hex(rows[i].hash, want, sizeof(want));
		sign_sha256_init(&h);
		sign_sha256_update(&h, rows[i].text, strlen(rows[i].text));
		sign_sha256_final(&h, hash);
		assert_memory_equal(want, hash, sizeof(hash));
		sign_sha256_init(&h);
		for (k = 0; k < strlen(rows[i].text); k++) {
			sign_sha256_update(&h, rows[i].text + k, 1);
			sign_sha256_update(&h, NULL, 0);
		}
		sign_sha256_final(&h, hash);
		assert_memory_equal(want, hash, sizeof(hash));
	}
}

/* RFC 4648, section 10, and bytes that need "+" and "/". */
static const struct {
	const char *text;
	size_t n;
	const char *bytes;
} base64[] = {
    {"", 0, ""},
    {"Zg==", 1, "f"},
    {"Zm8=", 2, "fo"},
    {"Zm9v", 3, "foo"},
    {"Zm9vYg==", 4, "foob"},
    {"Zm9vYmE=", 5, "fooba"},
    {"Zm9vYmFy", 6, "foobar"},
    {"+/+/", 3, "\xfb\xff\xbf"},
    {"AAA=", 2, "\0"},
};

static void
test_base64(void **state)
{
	char text[16];
	uint8_t bytes[8];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(base64); i++) {
		assert_int_equal(
		    strlen(base64[i].text) + 1, SIGN_BASE64_SIZE(base64[i].n));
		sign_base64_write(
		    base64[i].bytes, base64[i].n, text, sizeof(text));
		assert_string_equal(base64[i].text, text);
		memset(bytes, 'x', sizeof(bytes));
		assert_true(sign_base64_read(base64[i].text,
		    strlen(base64[i].text), bytes, base64[i].n));
		assert_memory_equal(base64[i].bytes, bytes, base64[i].n);
		assert_int_equal('x', bytes[base64[i].n]);
	}
}

static void
test_base64_wrong(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} rows[] = {
	    /* bits left over that are not 0 */
	    {"Zh==", 1},
	    {"Zm9=", 2},
	    {"ZmC=", 2},
	    /* padding: none, too little, too much, in the middle */
	    {"Zg", 1},
	    {"Zg=", 1},
	    {"Zg===", 1},
	    {"Z===", 1},
	    {"====", 1},
	    {"Zg==Zg==", 4},
	    {"Zm9v====", 4},
	    {"Z=m=", 2},
	    /* other lengths */
	    {"Zm9v", 2},
	    {"Zm9v", 4},
	    {"Zm8=", 1},
	    {"Zm8=", 3},
	    {"Zm9vYmFy", 3},
	    {"", 1},
	    /* characters: the alphabet of URLs, blanks, line ends, others */
	    {"-_-_", 3},
	    {"+/-_", 3},
	    {" m9v", 3},
	    {"Zm9 ", 3},
	    {"Zm\n9", 3},
	    {"Zm9v\n", 3},
	    {"Zm.v", 3},
	    {"Zm\xc3\xa9", 3},
	    {"Z\x80m9", 3},
	    {"\xff\xff\xff\xff", 3},
	};
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz"
				       "0123456789+/";
	char text[] = "?m9v";
	uint8_t bytes[16];
	unsigned c;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		if (sign_base64_read(
			rows[i].text, strlen(rows[i].text), bytes, rows[i].n))
			fail_msg(
			    "\"%s\" as %zu bytes", rows[i].text, rows[i].n);
	/* Each byte outside of the alphabet, including NUL. */
	for (c = 0; c < 256; c++) {
		if (c != 0 && strchr(alphabet, (int)c) != NULL)
			continue;
		text[0] = (char)c;
		assert_false(sign_base64_read(text, 4, bytes, 3));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rfc8032),
	    cmocka_unit_test(test_rfc9421),
	    cmocka_unit_test(test_low_order_key),
	    cmocka_unit_test(test_low_order_point),
	    cmocka_unit_test(test_other_keys),
	    cmocka_unit_test(test_malleated),
	    cmocka_unit_test(test_sha256),
	    cmocka_unit_test(test_base64),
	    cmocka_unit_test(test_base64_wrong),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
