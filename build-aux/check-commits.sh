#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate over commits: check-commits.sh [ROOT].  Reads the messages of all
# commits after the one that build-aux/commits.txt names as its base:
#   - the title has at most 72 characters, begins with a verb in the imperative
#     behind the area ("relay: wait for the lane") and has no full stop;
#   - an empty line separates it from the body;
#   - a commit that changes more than 30 lines has a body: why, and how tested.
# A merge has no rules.  A folder without git shows `git-log.txt`, the output of
# `git log --numstat`, and `commits.txt`.  scripts/hooks/commit-msg asks the
# same of a commit before it is made.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
root=${1:-$aux/..}
: "${AWK:=awk}"

check() { # check EXCEPTIONS [NAME=VALUE]
	exceptions=$1
	shift
	$AWK -v BODY_LINES=30 -v EXCEPTIONS="$exceptions" ${1+-v "$1"} \
	    -f "$aux/check-commits.awk"
}

if [ ! -e "$root/.git" ]; then
	[ -f "$root/git-log.txt" ] || {
		echo 'check-commits: no commits'
		exit 1
	}
	check "$root/commits.txt" <"$root/git-log.txt"
	exit
fi

list=$aux/commits.txt
title=$(sed -n 's/^base //p' "$list")
base=$(git -C "$root" log --format='%H %s' | $AWK -v title="$title" '
	substr($0, length($1) + 2) == title { print $1; exit }')
part=0
if [ -z "$base" ]; then
	[ "$(git -C "$root" rev-parse --is-shallow-repository)" = true ] || {
		echo "$list: there is no commit \"$title\""
		exit 1
	}
	part=1
fi
git -C "$root" log --no-merges --numstat --abbrev-commit --format=medium \
    --no-color "${base:+$base..}HEAD" | check "$list" PART="$part"
