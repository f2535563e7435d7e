#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate of words: check-words.sh [ROOT].  Comments, documents and texts are plain
# English (STYLE.md, "Plain English"): comments of C, TypeScript, JavaScript, SQL
# and of the scripts, strings and the text of the pages, and titles of tests.  These
# constructions have proved to make sentences that only their author understands:
#
#	headless  a sentence that begins with What, Who, Whoever, Whom or Whose and is
#	          not a question
#	so        "so" before often, many, long or much: say the value
#	is no     "is no X" in place of "is not a X"; "there is no X" is good
#	"tell"    for return, notify, publish or say, in each of its forms; a text may
#	          ask a person to "tell the operator"
#	"he"      the pronouns of men and women: programs are "it", people are "they"
#
# A string of fewer than three words is a name or a value, and is not looked at.
# docs/requirements.md is made of the titles of tests, and is left out, as are the
# bad samples in tests/selfcheck.
#
# words.txt lists the exceptions, PATH:RULE:TEXT, where TEXT is a part of the
# sentence.  There may be one for each hundred comments; one that is not needed is
# refused.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
exceptions=$aux/words.txt
[ ! -f words.txt ] || exceptions=./words.txt
roots='server client bench web/src schema docs tests scripts build-aux contrib
README.md ARCHITECTURE.md CONTRIBUTING.md STYLE.md autogen.sh'
# shellcheck disable=SC2086
files=$({
	find $roots -type f \( -name '*.[ch]' -o -name '*.ts' -o -name '*.tsx' \
	    -o -name '*.mjs' -o -name '*.js' -o -name '*.sql' -o -name '*.md' \
	    -o -name '*.awk' -o -name '*api.yaml' \)
	find $roots -type f \( -name '*.sh' -o ! -name '*.*' \) \
	    -exec grep -l '^# SPDX-License-Identifier' {} + |
	    xargs -r grep -lE '^#!.*[ /](ba|z)?sh( |$)'
} 2>/dev/null |
    grep -v /node_modules/ |
    grep -vE '^(docs/requirements\.md|STYLE\.md)$|^tests/selfcheck/.*/' |
    grep -vE '^tests/(mutants/.*\.md$|fuzz/(corpus|cases)/)' | LC_ALL=C sort -u)
[ -n "$files" ] || {
	echo 'check-words: 0 files'
	exit 1
}
# shellcheck disable=SC2086
${AWK:-awk} -v exceptions="$exceptions" -f "$aux/check-words.awk" $files
