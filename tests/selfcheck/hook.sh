#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that scripts/hooks/commit-msg refuses messages that break a rule, and
# lets others and merges pass.  Prints TAP.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main . || exit 99
git config user.name A
git config user.email a@example.org
git config core.hooksPath scripts/hooks
mkdir -p build-aux scripts
cp "$root/build-aux/check-commits.awk" build-aux/
cp -R "$root/scripts/hooks" scripts/

number=0
passes() { # passes TITLE TEXT MESSAGE...
	number=$((number + 1))
	what=$1
	shift
	if git commit -q "$@" 2>out; then
		echo "ok $number - hook: lets pass $what"
	else
		sed 's/^/# /' out
		echo "not ok $number - hook: lets pass $what"
	fi
}
refuses() { # refuses TITLE EXPECTED MESSAGE...
	number=$((number + 1))
	what=$1
	expected=$2
	shift 2
	if ! git commit -q "$@" 2>out && grep -qF -- "$expected" out; then
		echo "ok $number - hook: refuses $what"
	else
		sed 's/^/# /' out
		echo "not ok $number - hook: refuses $what"
	fi
}

git add build-aux scripts
refuses 'a large commit without a body' 'no body says why' -m 'Add the hook'
passes 'a large commit with a body' -m 'Add the hook' -m 'It refuses messages.'
echo 1 >file
git add file
refuses 'a title without a verb' '"adds" is not an imperative' \
    -m 'relay: adds a file'
passes 'a small commit without a body' -m 'relay: add a file'
git checkout -q -b other HEAD~1
echo 2 >another
git add another
passes 'a commit for a fixup' -m 'fixup! Added files.'
git checkout -q main
git merge -q --no-commit --no-ff other 2>out
passes 'a merge' -m 'merged another, whatever its title says and however long it is, even so long'
echo "1..$number"
