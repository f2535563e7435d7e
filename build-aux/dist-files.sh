#!/bin/sh
# SPDX-License-Identifier: MIT
# dist-files.sh SOURCE TARGET: copies every file that git tracks in SOURCE to
# TARGET and writes their names to TARGET/MANIFEST.  make dist calls it.
#
# SOURCE is a clone only if SOURCE/.git exists: make distcheck unpacks the
# tarball inside the repository, where git would find the .git of a parent.
# Otherwise SOURCE is an unpacked tarball, and its own MANIFEST is the list.
set -eu
source=$1
target=$(cd "$2" && pwd)
list=$target/MANIFEST.tmp
cd "$source"
if [ -e .git ]; then
	git ls-files >"$list"
else
	cat MANIFEST >"$list"
fi
[ -s "$list" ] || {
	echo "dist-files: no files in $source" >&2
	exit 1
}
# Not a pipe, which would lose the status of the first tar: a tracked file that
# is missing here must stop make dist.
"${TAR:-tar}" cf "$target/MANIFEST.tar" -T "$list"
(cd "$target" && "${TAR:-tar}" xof MANIFEST.tar)
rm "$target/MANIFEST.tar"
mv "$list" "$target/MANIFEST"
