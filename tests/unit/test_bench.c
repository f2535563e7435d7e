/* SPDX-License-Identifier: MIT */
/*
 * The measuring instruments themselves: percentiles, an answer that is cut at
 * any byte, a time stamp that comes back.  A bench that reads these wrongly
 * gives wrong figures without an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clk.h"
#include "base/mem.h"
#include "base/rnd.h"

#include "bench/bench.h"
#include "bench/httpc.h"
#include "bench/peer.h"
#include "bench/resp.h"
#include "bench/util.h"

static void
test_hist_percentiles(void **state)
{
	struct hist *h = bench_zalloc(1, sizeof(*h));

	(void)state;
	assert_true(hist_us(h, 50) == 0.0);
	for (int64_t us = 1; us <= 10000; us++)
		hist_add(h, us * 1000);
	assert_int_equal(h->count, 10000);
	assert_true(hist_us(h, 50) > 4990 && hist_us(h, 50) < 5050);
	assert_true(hist_us(h, 99) > 9890 && hist_us(h, 99) < 9990);
	assert_true(hist_us(h, 100) == 10000.0);
	assert_true(hist_max_us(h) == 10000.0);
	mem_free(h);
}

/* The histogram returns each time from 0 to an hour to within a hundredth. */
static void
test_hist_every_size(void **state)
{

	(void)state;
	for (int64_t ns = 1; ns < 3600 * NS_PER_S; ns = ns * 9 / 8 + 1) {
		struct hist *h = bench_zalloc(1, sizeof(*h));
		double us = (double)ns / 1000.0, said;

		hist_add(h, ns);
		hist_add(h, ns * 2);
		hist_add(h, ns * 2);
		said = hist_us(h, 30);
		assert_true(said >= us && said <= us * 1.01);
		mem_free(h);
	}
}

static void
test_answer_cut_anywhere(void **state)
{
	static const char answer[] = "HTTP/1.1 201 Created\r\n"
				     "content-LENGTH: 17\r\n"
				     "Connection: close\r\n\r\n"
				     "{\"head\":12345678}";
	struct httpc_reply reply;
	size_t n = sizeof(answer) - 1;
	int64_t head;

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(httpc_parse(answer, i, &reply), 0);
	assert_int_equal(httpc_parse(answer, n, &reply), n);
	assert_int_equal(reply.status, 201);
	assert_true(reply.close);
	assert_int_equal(reply.body_len, 17);
	assert_true(scan_i64(reply.body, reply.body_len, "head", &head));
	assert_int_equal(head, 12345678);
}

static void
test_two_answers(void **state)
{
	static const char answers[] = "HTTP/1.1 204 No Content\r\n\r\n"
				      "HTTP/1.1 200 OK\r\n"
				      "Content-Length: 2\r\n\r\n{}";
	struct httpc_reply reply;
	size_t first = httpc_parse(answers, sizeof(answers) - 1, &reply);

	(void)state;
	assert_int_equal(reply.status, 204);
	assert_int_equal(first, 27);
	assert_int_equal(
	    httpc_parse(answers + first, sizeof(answers) - 1 - first, &reply),
	    sizeof(answers) - 1 - first);
	assert_int_equal(reply.status, 200);
	assert_false(reply.close);
}

static void
test_scan(void **state)
{
	static const char text[] = "{\"type\":\"event\",\"seq\":118,\"kind\":"
				   "\"message\",\"to\":null}";
	char word[8];
	int64_t n;

	(void)state;
	assert_true(scan_i64(text, strlen(text), "seq", &n));
	assert_int_equal(n, 118);
	assert_false(scan_i64(text, strlen(text), "kind", &n));
	assert_false(scan_i64(text, strlen(text), "eq", &n));
	assert_true(scan_text(text, strlen(text), "kind", word, sizeof(word)));
	assert_string_equal(word, "message");
	assert_false(scan_text(text, strlen(text), "kind", word, 7));
	assert_false(scan_text(text, strlen(text), "to", word, sizeof(word)));
	assert_true(scan_has(text, strlen(text), "\"event\""));
	assert_false(scan_has(text, 8, "\"event\""));
}

/* A renewed letter keeps its length.  Its id is new each time, its time stamp
 * can be read back, and its text has the bytes that the targets name. */
static void
test_letter(void **state)
{
	struct bench b = {.pairs = 1};
	struct letter l = {.text = BUF_INIT};
	char first[UUID_TEXT_LEN], body[400];
	struct uuid id;
	int64_t stamp;
	size_t len;

	(void)state;
	uuid_gen_init(&b.ids, clk_system(), rnd_system());
	letter_http(&l, "tb_token", "bob");
	len = l.text.len;
	letter_renew(&b, &l, INT64_C(0x123456789abcdef0));
	memcpy(first, letter_id(&l), UUID_TEXT_LEN);
	assert_true(uuid_parse(first, UUID_TEXT_LEN, &id));
	assert_int_equal(uuid_version(&id), 7);
	assert_true(letter_stamp(l.text.data, l.text.len, &stamp));
	assert_int_equal(stamp, INT64_C(0x123456789abcdef0));
	letter_renew(&b, &l, 1);
	assert_int_equal(l.text.len, len);
	assert_memory_not_equal(first, letter_id(&l), UUID_TEXT_LEN);
	b.id_version = 4;
	letter_renew(&b, &l, 1);
	assert_true(uuid_parse(letter_id(&l), UUID_TEXT_LEN, &id));
	assert_int_equal(uuid_version(&id), 4);
	assert_int_equal(id.b[8] & 0xc0, 0x80);
	assert_true(
	    scan_text(l.text.data, l.text.len, "body", body, sizeof(body)));
	assert_int_equal(strlen(body), BENCH_BODY_LEN);
	buf_fini(&l.text);
}

#define ID(n) "0190a0b0-0000-7000-8000-00000000000" #n

static void
see(struct peer *p, const char *line)
{

	peer_line(p, line, strlen(line));
}

/* Each line must be the next one of its lane.  A line that is repeated, left
 * out, out of order, unknown or cut is detected. */
static void
test_peer_order(void **state)
{
	static const char *const bad[] = {
	    ID(3) " p1@x u1 7 1", /* repeated */
	    ID(5) " p1@x u1 9 1", /* one is missing */
	    ID(5) " p1@x u1 6 1", /* out of order */
	    ID(1) " p1@x u1 8 1", /* the right place, but another message */
	    ID(5) " p2@x u1 8 1", /* no such sender */
	    ID(5) " x1@x u1 8 1",
	    ID(5) " p1@x u1",
	    ID(5),
	    "",
	};
	struct peer p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		peer_open(&p, "/nowhere", "x", 2);
		see(&p, ID(1) " p0@x u0 1 1");
		see(&p, ID(2) " p1@x u1 6 1");
		see(&p, ID(4) " p0@x u0 2 3");
		see(&p, ID(3) " p1@x u1 7 1");
		assert_int_equal(p.wrong, 0);
		see(&p, bad[i]);
		assert_int_equal(p.wrong, 1);
		assert_int_equal(p.taken, 5);
		assert_string_equal(p.first_wrong, bad[i]);
		peer_close(&p);
	}
}

/* A log that exists before and grows in pieces.  The lines that it had at first
 * do not count. */
static void
test_peer_log(void **state)
{
	static const char first[] = ID(1) " p0@x u0 1 1\n" ID(2) " p0@x u",
			  rest[] = "0 2 1\n";
	char dir[] = "/tmp/twinbox-peer-XXXXXX", path[64];
	struct peer p;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.log", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(ID(9) " p0@x u0 9 1\n", f);
	fflush(f);
	peer_open(&p, dir, "x", 1);
	peer_read(&p);
	assert_int_equal(p.taken, 0);
	fputs(first, f);
	fflush(f);
	peer_read(&p);
	assert_int_equal(p.taken, 1);
	fputs(rest, f);
	fclose(f);
	peer_wait(&p, 2, NS_PER_S);
	assert_int_equal(p.taken, 2);
	assert_int_equal(p.wrong, 0);
	assert_int_equal(p.lanes[0].place, 2);
	peer_wait(&p, 3, NS_PER_MS);
	assert_int_equal(p.taken, 2);

	peer_does(&p, "down 1\n");
	peer_close(&p);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/x", dir);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(dir, sizeof(dir), f));
	assert_string_equal(dir, "down 1\n");
	fclose(f);
	(void)unlink(path);
	path[strlen(path) - 2] = '\0';
	(void)rmdir(path);
}

/* A reply of redis counts only once it is complete, wherever it is cut, and its
 * strings are those that were sent. */
static void
test_resp_cut_anywhere(void **state)
{
	static const char reply[] = "*1\r\n*2\r\n$5\r\ninbox\r\n*1\r\n*2\r\n"
				    "$3\r\n1-0\r\n*2\r\n$4\r\nbody\r\n"
				    "$6\r\na\r\n$2 \r\n";
	static const char *const words[] = {"inbox", "1-0", "body", "a\r\n$2 "};
	const size_t n = sizeof(reply) - 1;
	const char *p;
	size_t at, len, i;

	(void)state;
	for (at = 0; at < n; at++)
		assert_int_equal(resp_reply(reply, at), 0);
	assert_int_equal(resp_reply(reply, n), n);
	for (at = i = 0; resp_string(reply, n, &at, &p, &len); i++) {
		assert_true(i < sizeof(words) / sizeof(words[0]));
		assert_int_equal(len, strlen(words[i]));
		assert_memory_equal(p, words[i], len);
	}
	assert_int_equal(i, sizeof(words) / sizeof(words[0]));
	assert_int_equal(resp_reply("*-1\r\n$-1\r\n", 10), 5);
	assert_int_equal(resp_reply("$-1\r\n+OK\r\n", 10), 5);
	assert_int_equal(resp_reply(":12\r\n", 5), 5);
	assert_int_equal(resp_reply("*0\r\n", 4), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_resp_cut_anywhere),
	    cmocka_unit_test(test_hist_percentiles),
	    cmocka_unit_test(test_hist_every_size),
	    cmocka_unit_test(test_answer_cut_anywhere),
	    cmocka_unit_test(test_two_answers),
	    cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_letter),
	    cmocka_unit_test(test_peer_order),
	    cmocka_unit_test(test_peer_log),
	};

	return (cmocka_run_group_tests_name("bench", tests, NULL, NULL));
}
