/* SPDX-License-Identifier: MIT */
/*
 * The look of events, signs, states and tables, with and without colours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <time.h>

#include "term/render.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS 1795262400000ll

static const struct look plain = {.now_ms = NOW_MS, .me = "alice"};
static const struct look coloured = {
    .now_ms = NOW_MS, .me = "alice", .colour = true};

static int
setup(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

static void
assert_event(const char *json, const char *line)
{
	json_t *event = json_loads(json, 0, NULL);
	struct buf b = BUF_INIT;

	assert_non_null(event);
	render_event(&b, &plain, event);
	buf_addc(&b, '\0');
	assert_string_equal(b.data, line);
	buf_fini(&b);
	json_decref(event);
}

static void
test_events(void **state)
{

	(void)state;
	assert_event("{\"seq\":7,\"kind\":\"message\",\"own\":false,"
		     "\"from\":\"bob\",\"to\":\"alice\",\"body\":\"a\\nb\","
		     "\"event_time\":\"2026-11-21T09:05:00.000Z\"}",
	    "#7     09:05  bob           a\n"
	    "                            b\n");
	assert_event("{\"seq\":8,\"kind\":\"message\",\"own\":true,"
		     "\"from\":\"alice\",\"to\":\"bob\",\"body\":\"x\","
		     "\"event_time\":\"2026-11-20T09:05:00.000Z\"}",
	    "#8     20 Nov 09:05  \xe2\x86\x92 bob         x\n");
	assert_event("{\"seq\":9,\"kind\":\"message\",\"own\":false,"
		     "\"from\":\"e\\u001b[2Jve\",\"to\":null,"
		     "\"body\":null,"
		     "\"event_time\":\"2025-01-02T03:04:05.000Z\"}",
	    "#9     02 Jan 2025 03:04  e\\x1b[2Jve (group)  (deleted)\n");
	assert_event("{\"seq\":10,\"kind\":\"receipt\",\"upto\":3,"
		     "\"by\":\"bob\",\"state\":\"read\","
		     "\"at\":\"2026-11-21T09:05:00.000Z\"}",
	    "#10    09:05                \xe2\x9c\x93\xe2\x9c\x93 read by bob "
	    "up to message 3 of the conversation\n");
	assert_event("{\"seq\":11,\"kind\":\"bounce\",\"to\":\"bob\","
		     "\"state\":\"expired\",\"reason\":null,"
		     "\"at\":\"2026-11-21T09:05:00.000Z\"}",
	    "#11    09:05                \xe2\x9c\x97 expired: not delivered "
	    "to bob: no reason given\n");
	/* A kind that only a newer server has. */
	assert_event("{\"seq\":12,\"kind\":\"wave\",\"of\":\"x\"}",
	    "#12    -                    wave of x\n");
}

static void
test_colours(void **state)
{
	json_t *message =
	    json_loads("{\"from\":\"bob\",\"body\":\"x\","
		       "\"event_time\":\"2026-11-21T09:05:00.000Z\"}",
		0, NULL);
	struct buf b = BUF_INIT;

	(void)state;
	render_message(&b, &plain, message, RENDER_READ);
	assert_null(memchr(b.data, '\033', b.len));
	buf_reset(&b);
	render_message(&b, &coloured, message, RENDER_READ);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\033[36mbob\033[0m"));
	buf_fini(&b);
	json_decref(message);
}

static void
test_states(void **state)
{
	static const struct {
		const char *entry;
		const char *shown;
	} table[] = {
	    {"{\"state\":\"pending\",\"labels\":[]}", "pending"},
	    {"{\"state\":\"pending\",\"labels\":[\"scheduled\"]}", "scheduled"},
	    {"{\"state\":\"pending\",\"labels\":[\"retrying\"]}", "retrying"},
	    {"{\"state\":\"sent\"}", "sent"},
	    {"{\"state\":\"acked\",\"labels\":[]}", "delivered"},
	    {"{\"state\":\"acked\",\"labels\":[\"read\"]}", "read"},
	    {"{\"state\":\"failed\"}", "failed"},
	    {"{}", "?"},
	};
	json_t *entry;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		entry = json_loads(table[i].entry, 0, NULL);
		assert_string_equal(render_entry_state(entry), table[i].shown);
		json_decref(entry);
	}
}

static void
test_table(void **state)
{
	json_t *rows = json_loads(
	    "[[\"ID\",\"WHO\",\"\"],"
	    "[\"1\",\"gr\\u00fcn\",\"x\"],[\"22\",\"\\u65e5\\u672c\\n\",\"y\"],"
	    "[\"3\",\"0123456789012345678901234567890123456789"
	    "0123456789012345678901234567890123456789\",\"z\"]]",
	    0, NULL);
	struct buf b = BUF_INIT;
	char *line, *save;
	int column, i;

	(void)state;
	render_table(&b, &plain, rows);
	buf_addc(&b, '\0');
	line = strtok_r(b.data, "\n", &save);
	for (i = 0; line != NULL; i++, line = strtok_r(NULL, "\n", &save)) {
		/* Each third cell begins in the same column: 4 + 60 + 2. */
		if (i == 1)
			assert_int_equal(line[67], 'x');
		column = i == 2 ? (int)(strchr(line, 'y') - line) : 0;
		if (i == 2) /* six bytes in four columns, and "\n" */
			assert_int_equal(column, 66 + 2);
	}
	assert_int_equal(i, 4);
	buf_fini(&b);
	json_decref(rows);
}

static void
test_conversation_names(void **state)
{
	json_t *direct =
	    json_loads("{\"kind\":\"direct\",\"members\":["
		       "{\"address\":\"alice\"},{\"address\":\"bob\"}]}",
		0, NULL);
	json_t *note = json_loads("{\"kind\":\"direct\",\"members\":["
				  "{\"address\":\"alice\"}]}",
	    0, NULL);

	(void)state;
	assert_string_equal(render_conversation_name(direct, "alice"), "bob");
	assert_string_equal(render_conversation_name(direct, "bob"), "alice");
	assert_string_equal(render_conversation_name(note, "alice"), "alice");
	json_decref(direct);
	json_decref(note);
}

/* ${b} contains exactly ${text}; empties it. */
static void
assert_text(struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	assert_int_equal(b->len, strlen(text));
	buf_addc(b, '\0');
	assert_string_equal(b->data, text);
	buf_fini(b);
}

/* Parses ${text}, with ' for each ", as JSON. */
static json_t *
parse(const char *text)
{
	char copy[2048], *p;
	json_t *ret;

	assert_true(strlen(text) < sizeof(copy));
	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	ret = json_loads(copy, 0, NULL);
	assert_non_null(ret);
	return (ret);
}

/* The other kinds of events, and the edges of the columns. */
static void
test_more_events(void **state)
{
	static const struct {
		const char *json, *line;
	} table[] = {
	    {"{'seq':1,'kind':'receipt','upto':3,'by':'bob',"
	     "'state':'delivered','at':'2026-11-21T09:05:00.000Z'}",
		"#1     09:05                ✓✓ delivered to bob up to message "
		"3 of the conversation\n"},
	    {"{'seq':2,'kind':'receipt'}",
		"#2     -                    ✓✓ delivered to ? up to message "
		"0 of the conversation\n"},
	    {"{'seq':3,'kind':'read','upto':12,"
	     "'delivered_at':'2026-11-21T09:06:00.000Z'}",
		"#3     09:06                read on another device up to "
		"message 12 of the conversation\n"},
	    {"{'seq':4,'kind':'bounce','to':'bob','state':'failed',"
	     "'reason':'no such user'}",
		"#4     -                    ✗ failed: not delivered to bob: no "
		"such user\n"},
	    {"{'seq':5,'of':'x'}", "#5     -                    ? of x\n"},
	    {"{'seq':6,'kind':'message','own':true,'to':null,'body':'hi'}",
		"#6     -      → group       hi\n"},
	    {"{'seq':7,'kind':'message','to':'ann','body':'hi'}",
		"#7     -      ?             hi\n"},
	    /* The event's own time has precedence over the other times. */
	    {"{'seq':12345,'kind':'message','to':'a','from':'twelve-chars',"
	     "'body':'hi','delivered_at':'2026-11-21T03:00:00.000Z',"
	     "'at':'2026-11-21T02:00:00.000Z',"
	     "'event_time':'2026-11-21T01:00:00.000Z'}",
		"#12345  01:00  twelve-chars  hi\n"},
	    {"{'seq':8,'kind':'message','to':'a','from':'thirteen-char',"
	     "'body':'hi','delivered_at':'2026-11-21T03:00:00.000Z',"
	     "'at':'2026-11-21T02:00:00.000Z','event_time':'yesterday'}",
		"#8     02:00  thirteen-char  hi\n"},
	    /* The same day of another year. */
	    {"{'seq':9,'kind':'receipt','state':'read','by':'b','upto':1,"
	     "'at':'2025-11-21T09:05:00.000Z'}",
		"#9     21 Nov 2025 09:05                ✓✓ read by b up to "
		"message 1 of the conversation\n"},
	};
	struct buf b = BUF_INIT;
	json_t *event;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		event = parse(table[i].json);
		render_event(&b, &plain, event);
		assert_text(&b, table[i].line);
		json_decref(event);
	}
}

/* A sign is cyan when the message was read. */
static void
test_messages(void **state)
{
	static const struct {
		const char *json;
		const struct look *look;
		const char *sign, *line;
	} table[] = {
	    {"{'from':'alice','body':'hi'}", &plain, NULL,
		"-      you           hi\n"},
	    {"{'from':'alice','body':'hi'}", &plain, RENDER_ACCEPTED,
		"-      you           hi  ✓\n"},
	    {"{'body':null}", &plain, NULL, "-      ?             (deleted)\n"},
	    {"{'from':'alice','own':true,'body':'hi',"
	     "'at':'2026-11-21T09:05:00.000Z'}",
		&coloured, RENDER_READ,
		"\033[2m09:05\033[0m  \033[32myou\033[0m           hi  "
		"\033[36m✓✓ read\033[0m\n"},
	    {"{'from':'bob','body':'a\\nb'}", &coloured, RENDER_DELIVERED,
		"\033[2m-\033[0m      \033[36mbob\033[0m           a\n"
		"                     b  \033[2m✓✓\033[0m\n"},
	};
	struct buf b = BUF_INIT;
	json_t *message;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		message = parse(table[i].json);
		render_message(&b, table[i].look, message, table[i].sign);
		assert_text(&b, table[i].line);
		json_decref(message);
	}
}

/* A bounce is red; other events that are not messages are dim. */
static void
test_coloured_events(void **state)
{
	struct buf b = BUF_INIT;
	json_t *event;

	(void)state;
	event = parse("{'seq':1,'kind':'bounce','to':'b','state':'failed'}");
	render_event(&b, &coloured, event);
	assert_text(&b,
	    "\033[2m#1\033[0m     \033[2m-\033[0m      \033[36m\033[0m"
	    "              \033[31m✗ failed: not delivered to b: no reason "
	    "given\033[0m\n");
	json_decref(event);
	event = parse("{'seq':1,'kind':'message','own':true,'to':'b',"
		      "'body':'x'}");
	render_event(&b, &coloured, event);
	assert_text(&b,
	    "\033[2m#1\033[0m     \033[2m-\033[0m      \033[32m→ b\033[0m"
	    "           x\n");
	json_decref(event);
	event = parse("{'seq':1,'kind':'read','upto':2}");
	render_event(&b, &coloured, event);
	assert_text(&b,
	    "\033[2m#1\033[0m     \033[2m-\033[0m      \033[36m\033[0m"
	    "              \033[2mread on another device up to message 2 of the "
	    "conversation"
	    "\033[0m\n");
	json_decref(event);
}

static void
test_entry(void **state)
{
	json_t *entry = parse(
	    "{'id':'m1','to':'bob','conversation':'c1','state':'pending',"
	    "'labels':['other','retrying'],'priority':'high','attempts':2,"
	    "'created_at':'2026-11-21T09:00:00.000Z',"
	    "'deliver_at':'2026-11-21T10:00:00.000Z',"
	    "'next_retry_at':'2026-11-21T11:00:00.000Z',"
	    "'expires_at':'2026-11-22T00:00:00.000Z',"
	    "'last_error':'e\\u001bx','timeline':["
	    "{'at':'2026-11-21T09:00:00.000Z','state':'accepted'},"
	    "{'at':null,'state':'sent'},{}],"
	    "'destinations':[{'address':'bob','state':'sent'},"
	    "{'address':'eve','state':'pending'},{}]}");
	struct buf b = BUF_INIT;

	(void)state;
	render_entry(&b, &plain, entry);
	assert_text(&b, "id            m1\n"
			"to            bob\n"
			"conversation  c1\n"
			"state         retrying\n"
			"priority      high\n"
			"attempts      2\n"
			"created       09:00\n"
			"deliver at    10:00\n"
			"next try      11:00\n"
			"expires       22 Nov 00:00\n"
			"last error    e\\x1bx\n"
			"timeline      09:00  accepted\n"
			"              -      sent\n"
			"              -      ?\n"
			"destinations  bob  sent\n"
			"              eve  pending\n"
			"              ?  ?\n");
	json_decref(entry);
	/* Members that are null or missing are left out, and so is the list if
	 * there is only one destination. */
	entry = parse("{'id':'m1','to':null,'state':'acked',"
		      "'destinations':[{'address':'bob','state':'sent'}]}");
	render_entry(&b, &coloured, entry);
	assert_text(&b,
	    "\033[2mid\033[0m            m1\n"
	    "\033[2mstate         \033[0m\033[32mdelivered\033[0m\n");
	json_decref(entry);
}

static void
test_state_colours(void **state)
{
	static const struct {
		const char *name, *colour;
	} table[] = {
	    {"read", "\033[32mread\033[0m"},
	    {"acked", "\033[32mdelivered\033[0m"},
	    {"failed", "\033[31mfailed\033[0m"},
	    {"expired", "\033[31mexpired\033[0m"},
	    {"refused", "\033[31mrefused\033[0m"},
	    {"retrying", "\033[33mretrying\033[0m"},
	    {"waiting", "\033[33mwaiting\033[0m"},
	    {"sent", "sent"},
	};
	struct buf b = BUF_INIT;
	char text[80];
	json_t *entry;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		entry = json_pack("{ss}", "state", table[i].name);
		render_entry(&b, &coloured, entry);
		(void)snprintf(text, sizeof(text),
		    "\033[2mstate         \033[0m%s\n", table[i].colour);
		assert_text(&b, text);
		json_decref(entry);
	}
}

/* Cells are cut to 60 columns, and a row has at most eight cells. */
static void
test_table_edges(void **state)
{
	static const char sixty[] = "0123456789012345678901234567890123456789"
				    "01234567890123456789";
	char text[400];
	struct buf b = BUF_INIT;
	json_t *rows;

	(void)state;
	rows = json_array();
	(void)json_array_append_new(rows, json_pack("[ssn]", "A", "B"));
	(void)json_array_append_new(rows, json_pack("[ss]", sixty, "x"));
	(void)json_array_append_new(rows, json_pack("[s+s]", sixty, "+", "y"));
	(void)json_array_append_new(rows, json_array());
	(void)json_array_append_new(rows, json_pack("[sss]", "", "", "z"));
	render_table(&b, &plain, rows);
	(void)snprintf(text, sizeof(text),
	    "A%61sB  \n"
	    "%s  x\n"
	    "%.59s…  y\n"
	    "\n"
	    "%62s   z\n",
	    "", sixty, sixty, "");
	assert_text(&b, text);
	json_decref(rows);
	rows = parse("[['1','2','3','4','5','6','7','8','9','10'],"
		     "['a','b','c','d','e','f','g','hh','i','j']]");
	render_table(&b, &coloured, rows);
	assert_text(&b, "\033[2m1\033[0m  \033[2m2\033[0m  \033[2m3\033[0m  "
			"\033[2m4\033[0m  \033[2m5\033[0m  \033[2m6\033[0m  "
			"\033[2m7\033[0m  \033[2m8\033[0m   \n"
			"a  b  c  d  e  f  g  hh  \n");
	json_decref(rows);
	rows = json_array();
	render_table(&b, &plain, rows);
	assert_text(&b, "");
	json_decref(rows);
}

static int64_t
seq_of(void *arg, const char *conversation, int64_t n)
{

	assert_string_equal(arg, "arg");
	return (strcmp(conversation, "c") == 0 && n == 12 ? 20 : 0);
}

/* A receipt refers to a message by the number that the inbox shows. */
static void
test_numbers(void **state)
{
	static const struct {
		const char *json, *end;
	} cases[] = {
	    {"{'seq':30,'kind':'receipt','by':'bob','state':'read',"
	     "'conversation':'c','upto':12}",
		"✓✓ read by bob up to #20\n"},
	    {"{'seq':30,'kind':'receipt','by':'bob','state':'delivered',"
	     "'conversation':'c','upto':12}",
		"✓✓ delivered to bob up to #20\n"},
	    {"{'seq':30,'kind':'read','conversation':'c','upto':12}",
		"read on another device up to #20\n"},
	    {"{'seq':30,'kind':'read','conversation':'c','upto':13}",
		"read on another device up to message 13 of the "
		"conversation\n"},
	    {"{'seq':30,'kind':'read','upto':12}",
		"read on another device up to message 12 of the "
		"conversation\n"},
	};
	struct look look = {
	    .me = "", .seq_of = seq_of, .seq_arg = (char[]){"arg"}};
	struct buf b = BUF_INIT;
	json_t *event;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event = parse(cases[i].json);
		render_event(&b, &look, event);
		buf_addc(&b, '\0');
		assert_string_equal(
		    b.data + b.len - 1 - strlen(cases[i].end), cases[i].end);
		buf_reset(&b);
		json_decref(event);
	}
	buf_fini(&b);
}

/* Lines are broken between words; a word that is too long stays whole. */
static void
test_wrapped(void **state)
{
	static const struct {
		const char *text;
		int columns, indent;
		const char *wrapped;
	} cases[] = {
	    {"one two three", 0, 0, "one two three"},
	    {"one two three", 13, 0, "one two three"},
	    {"one two three", 12, 0, "one two\nthree"},
	    {"one two three", 12, 2, "one two\n  three"},
	    {"one two three", 8, 2, "one\n  two\n  three"},
	    {"a-long-word b", 5, 0, "a-long-word\nb"},
	    {"日本 日本", 9, 0, "日本 日本"},
	    {"日本 日本", 8, 0, "日本\n日本"},
	    {"", 8, 0, ""},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		render_wrapped(
		    &b, cases[i].text, cases[i].columns, cases[i].indent);
		assert_text(&b, cases[i].wrapped);
	}
}

/* A table that must fit a width is cut in the columns that allow it, the widest
 * first, to six columns at least. */
static void
test_table_fits(void **state)
{
	static const struct {
		int columns;
		const char *text;
	} cases[] = {
	    {34, "A             B           C\n"
		 "0123456789ab  0123456789  xxxxxxxx\n"},
	    {31, "A          B           C\n"
		 "01234567…  0123456789  xxxxxxxx\n"},
	    {24, "A       B       C\n"
		 "01234…  01234…  xxxxxxxx\n"},
	    {10, "A       B       C\n"
		 "01234…  01234…  xxxxxxxx\n"},
	};
	struct look look = {.columns = 0, .me = ""};
	struct buf b = BUF_INIT;
	json_t *rows = parse("[['A','B','C'],"
			     "['0123456789ab','0123456789','xxxxxxxx']]");
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look.columns = cases[i].columns;
		render_table_fit(&b, &look, rows, 1u << 0 | 1u << 1);
		assert_text(&b, cases[i].text);
	}
	json_decref(rows);
	rows = json_array();
	render_table_fit(&b, &look, rows, 1);
	assert_text(&b, "");
	json_decref(rows);
}

static void
test_group_names(void **state)
{
	static const struct {
		const char *json, *name;
	} table[] = {
	    {"{'kind':'group','title':'crew','members':["
	     "{'address':'alice'},{'address':'bob'}]}",
		"crew"},
	    {"{'kind':'group','members':[{'address':'bob'}]}", "group"},
	    {"{'title':'crew'}", "crew"},
	    {"{'kind':'direct','title':'x','members':[]}", "alice"},
	    {"{'kind':'direct','members':[{},{'address':'bob'}]}", "bob"},
	    {"{}", "group"},
	};
	json_t *one;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		one = parse(table[i].json);
		assert_string_equal(
		    render_conversation_name(one, "alice"), table[i].name);
		json_decref(one);
	}
}

/* The label that appears in place of the state. */
static void
test_labels(void **state)
{
	static const struct {
		const char *json, *shown;
	} table[] = {
	    {"{'state':'sent','labels':['read','new']}", "read"},
	    {"{'state':'sent','labels':[7,'new']}", "sent"},
	    {"{'labels':['scheduled']}", "scheduled"},
	    {"{'state':'acked','labels':['new']}", "delivered"},
	};
	json_t *one;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		one = parse(table[i].json);
		assert_string_equal(render_entry_state(one), table[i].shown);
		json_decref(one);
	}
}

/* A text for which there was no memory is left out, and the buffer is marked as
 * failed. */
static void
test_styled(void **state)
{
	struct buf b = BUF_INIT, text = BUF_INIT, none = BUF_INIT;

	(void)state;
	buf_adds(&text, "red");
	render_buf(&b, &coloured, STYLE_RED, &text);
	render_buf(&b, &coloured, STYLE_PLAIN, &none);
	assert_null(text.data);
	render_styled(&b, &coloured, STYLE_PLAIN, "plain");
	render_styled(&b, &plain, STYLE_RED, "plain");
	render_styled(&b, &coloured, STYLE_YELLOW, "");
	assert_text(&b, "\033[31mred\033[0mplainplain\033[33m\033[0m");
	text.failed = true;
	render_buf(&b, &plain, STYLE_RED, &text);
	assert_false(buf_ok(&b));
	buf_fini(&b);
}

static void
test_times(void **state)
{
	struct buf b = BUF_INIT;
	json_t *json = parse("{'a':'2026-11-21T12:00:00.000Z','b':'soon',"
			     "'c':7}");

	(void)state;
	assert_int_equal(render_time_of(json, "a"), NOW_MS);
	assert_int_equal(render_time_of(json, "b"), 0);
	assert_int_equal(render_time_of(json, "c"), 0);
	assert_int_equal(render_time_of(json, "d"), 0);
	render_member(&b, json, "a", "-");
	render_member(&b, json, "c", "!");
	render_member(&b, json, "d", "?");
	assert_text(&b, "2026-11-21T12:00:00.000Z!?");
	json_decref(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_states),
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_conversation_names),
	    cmocka_unit_test(test_more_events),
	    cmocka_unit_test(test_messages),
	    cmocka_unit_test(test_coloured_events),
	    cmocka_unit_test(test_entry),
	    cmocka_unit_test(test_state_colours),
	    cmocka_unit_test(test_table_edges),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_wrapped),
	    cmocka_unit_test(test_table_fits),
	    cmocka_unit_test(test_group_names),
	    cmocka_unit_test(test_labels),
	    cmocka_unit_test(test_styled),
	    cmocka_unit_test(test_times),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
