#!/bin/sh
# SPDX-License-Identifier: MIT
# dist-files.sh SOURCE TARGET: copies every file that git tracks in SOURCE to
# TARGET and writes their names to TARGET/MANIFEST.  Without git SOURCE is an
# unpacked tarball, and its own MANIFEST is the list.  make dist calls this.
# Only SOURCE/.git makes SOURCE a clone: make distcheck unpacks the tarball
# within the repository, where git alone would find the .git of a parent.
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
# No pipe: the status of its first tar would be lost, and a tracked file that
# is missing here must stop make dist.
"${TAR:-tar}" cf "$target/MANIFEST.tar" -T "$list"
(cd "$target" && "${TAR:-tar}" xof MANIFEST.tar)
rm "$target/MANIFEST.tar"
mv "$list" "$target/MANIFEST"
