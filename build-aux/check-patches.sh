#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate for patches that are kept: check-patches.sh [ROOT].
#
# Each list in "How to add something" of CONTRIBUTING.md has a patch in
# tests/samples that was made by following it.  The patch applies, and changes
# only files that its list, or the text before the lists, names.
# scripts/samples runs the proofs.
#
# Each defect in tests/mutants applies.  scripts/mutate plants them.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0
patches=0
complain() { # complain TEXT
	echo "$1"
	bad=$((bad + 1))
}
# Without this, git apply would ignore files of a tree that has no repository of
# its own and is inside another.
GIT_CEILING_DIRECTORIES=$(dirname "$PWD")
export GIT_CEILING_DIRECTORIES
[ -f CONTRIBUTING.md ] || {
	echo 'check-patches: no CONTRIBUTING.md'
	exit 1
}

list() { # list TITLE: prints the section
	sh "$aux/howto.sh" CONTRIBUTING.md "$1"
}

sh "$aux/howto.sh" CONTRIBUTING.md >"$tmp/titles"
lists=$(wc -l <"$tmp/titles")
for patch in tests/samples/*.patch; do
	[ -f "$patch" ] || continue
	patches=$((patches + 1))
	title=$(sed -n '/^diff /q; s/^List: *//p' "$patch")
	grep -qxF -- "$title" "$tmp/titles" || {
		complain "$patch: CONTRIBUTING.md has no list \"$title\""
		continue
	}
	echo "$title" >>"$tmp/shown"
	# Two lines of context are enough: neighbours may change.
	git apply -C2 --check "$patch" >"$tmp/said" 2>&1 || {
		cat "$tmp/said"
		complain "$patch: does not apply"
	}
	{
		list ''
		list "$title"
	} | ${AWK:-awk} -f "$aux/howto-names.awk" >"$tmp/names"
	sed -nE 's,^(\+\+\+|---) [ab]/(.*)$,\2,p' "$patch" | LC_ALL=C sort -u \
	    >"$tmp/files"
	while read -r file; do
		printf '%s\n%s\n' "$file" "${file##*/}" |
		    grep -qxE -f "$tmp/names" ||
			complain "$patch: the list \"$title\" does not name $file"
	done <"$tmp/files"
done
touch "$tmp/shown"
while read -r title; do
	grep -qxF -- "$title" "$tmp/shown" ||
	    complain "CONTRIBUTING.md: no sample for the list \"$title\""
done <"$tmp/titles"
defects=0
for patch in tests/mutants/*.patch; do
	[ -f "$patch" ] || continue
	defects=$((defects + 1))
	git apply --check "$patch" >"$tmp/said" 2>&1 || {
		cat "$tmp/said"
		complain "$patch: does not apply"
	}
done
echo "check-patches: $lists lists, $patches samples, $defects defects, $bad errors"
[ "$lists" -gt 0 ] && [ "$patches" -gt 0 ] && [ "$bad" -eq 0 ]
