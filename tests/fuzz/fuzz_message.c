/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as the body of POST /v1/messages: bytes to JSON to a draft.
 * A refusal says why in words.  An accepted draft keeps its limits, its readers
 * see its text byte for byte, and it means the same when it is written and read
 * again.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_wire.h"
#include "wire/wire.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	wire_init();
	return (0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct refusal r = REFUSAL_INIT;
	struct message_draft draft;
	struct wire_doc doc;
	char *text = fuzz_copy(data, size);

	if (wire_parse(text, size, &doc, &r) != RC_OK) {
		MUST(doc.root == NULL && doc.scratch == NULL);
		fuzz_refusal(&r);
	} else {
		/* JSON that is accepted is UTF-8 without NUL. */
		MUST(memchr(text, '\0', size) == NULL);
		MUST(fuzz_utf8_prefix(data, size) == size);
		if (wire_message_read(&doc, doc.root, "/0", &draft, &r) ==
		    RC_OK) {
			MUST(r.problem == PROBLEM_NONE);
			fuzz_draft(&draft);
		} else {
			fuzz_refusal(&r);
		}
		wire_doc_fini(&doc);
	}
	free(text);
	return (0);
}
