#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate of words: check-words.sh [ROOT].  Comments of server, client, bench and
# the page, comments of SQL, and documents are plain English (STYLE.md, "Plain
# English").  These have proved to make sentences that only their author understands:
#
#	headless  a sentence that begins with What, Who, Whoever, Whom or Whose and is
#	          not a question
#	so        so often, so many, so long, so much: say the value
#	is no     "is no X" in place of "is not a X"; "there is no X" is good
#	tell      tell, tells, told: return, notify, publish, say
#	he        he, him, his, she, her: programs are "it", people are "they"
#
# docs/requirements.md is made of the titles of tests, and is left out.
#
# words.txt lists the exceptions, PATH:RULE:TEXT, where TEXT is a part of the
# sentence.  There may be one for each hundred comments; one that is not needed is
# refused.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
exceptions=$aux/words.txt
[ ! -f words.txt ] || exceptions=./words.txt
files=$(find server client bench web/src schema docs README.md ARCHITECTURE.md \
    CONTRIBUTING.md contrib -type f \( -name '*.[ch]' -o -name '*.ts' -o -name '*.tsx' \
    -o -name '*.sql' -o -name '*.md' \) 2>/dev/null |
    grep -v '^docs/requirements\.md$' | LC_ALL=C sort)
[ -n "$files" ] || {
	echo 'check-words: 0 files'
	exit 1
}
# shellcheck disable=SC2086
${AWK:-awk} -v exceptions="$exceptions" -f "$aux/check-words.awk" $files
