/* SPDX-License-Identifier: MIT */
/*
 * Parses JSON from a server or from the client's own files.
 */
#include "lib/parse.h"

#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "lib/safe.h"
#include "wire/wire.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

enum rc
parse_json(const char *what, const char *text, size_t n, json_t **ret,
    struct fail *fail)
{
	struct refusal refusal;
	struct wire_doc doc;
	char safe[REFUSAL_DETAIL_SIZE];
	enum rc rc;

	(void)pthread_once(&once, wire_init);
	*ret = NULL;
	rc = wire_parse_within(
	    text, n, LIMIT_JSON_DEPTH, PARSE_VALUES_MOST, &doc, &refusal);
	if (rc == RC_NO_MEMORY)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	if (rc != RC_OK) {
		safe_line(
		    refusal.detail, strlen(refusal.detail), safe, sizeof(safe));
		return (fail_set(
		    fail, FAIL_PROTOCOL, "%.140s: %.100s", what, safe));
	}
	if (!json_is_object(doc.root) && !json_is_array(doc.root)) {
		wire_doc_fini(&doc);
		return (fail_set(fail, FAIL_PROTOCOL,
		    "%.140s: neither an object nor an array", what));
	}
	*ret = json_incref(doc.root);
	wire_doc_fini(&doc);
	return (RC_OK);
}
