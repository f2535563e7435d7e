# SPDX-License-Identifier: MIT
# make distcheck, and the tarball: complete, and built without git and npm.
# Sourced by the stage.

# In distcheck's make check only the gates run: the test programs are compiled
# and passed by the stages before this one, and doing both again would take
# longer than all the rest.  That their sources are in the tarball is looked at
# below.  `make distcheck` by hand runs everything.
only_gates='check_PROGRAMS= check_LIBRARIES= TESTS=tests/selfcheck/gates.sh'

# Programs that a tarball must not need: they note that they were called.
mkdir -p "$tmp/refuse"
for program in git npm npx node; do
	printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' \
	    "$program" "$tmp/called" >"$tmp/refuse/$program"
	chmod 755 "$tmp/refuse/$program"
done
without() { PATH="$tmp/refuse:$PATH" "$@"; }
(without git status) 2>/dev/null
[ "$(cat "$tmp/called" 2>/dev/null)" = 'git status' ]
check $? 'dist: a call of git would be seen'
: >"$tmp/called"

log=$TWINBOX_BUILD/distcheck.log
rm -f "$TWINBOX_BUILD"/twinbox-*.tar.gz
# Not strict: the gate of the documents needs npm, and passed in stage 10.
TWINBOX_STRICT=0 MAKEFLAGS=-j$jobs without make -C "$TWINBOX_BUILD" --no-print-directory \
    distcheck AM_MAKEFLAGS="$only_gates" >"$log" 2>&1
status=$?
p=$(sed -n 's/^# PASS: *//p' "$log" | tail -n 1)
f=$(sed -n 's/^# FAIL: *//p' "$log" | tail -n 1)
[ "$status" -eq 0 ] || tail -n 40 "$log" | sed 's/^/# /'
[ "$status" -eq 0 ] && [ "${p:-0}" -gt 50 ] && [ "${f:-1}" -eq 0 ]
check $? "dist: make distcheck, with ${p:-0} checks of the gates in it"
[ ! -s "$tmp/called" ]
check $? 'dist: neither git nor npm was called'

tarball=$(ls "$TWINBOX_BUILD"/twinbox-*.tar.gz)
tar tzf "$tarball" | sed 's,^[^/]*/,,' | grep -v '/$' | grep . |
    LC_ALL=C sort >"$tmp/packed"
if [ -e "$TWINBOX_SOURCE/.git" ]; then
	# -s would be simpler, but what is not committed yet counts, too.
	git -C "$TWINBOX_SOURCE" ls-files --cached --others --exclude-standard |
	    grep -vE '(^|/)\.gitignore$' | while read -r file; do
		[ ! -e "$TWINBOX_SOURCE/$file" ] || echo "$file"
	done | LC_ALL=C sort >"$tmp/tracked"
	LC_ALL=C comm -23 "$tmp/tracked" "$tmp/packed" >"$tmp/missing"
	sed 's/^/# not in the tarball: /' "$tmp/missing" | head -n 20
	[ ! -s "$tmp/missing" ] && [ "$(wc -l <"$tmp/tracked")" -gt 300 ]
	check $? "dist: the tarball has all $(wc -l <"$tmp/tracked") files of the project"
fi
version=$(sed -n 's/^AC_INIT(\[twinbox\], \[\(.*\)\])$/\1/p' \
    "$TWINBOX_SOURCE/configure.ac")
[ -n "$version" ] && [ "$(basename "$tarball")" = "twinbox-$version.tar.gz" ] &&
    [ "$(dpkg-parsechangelog -l "$TWINBOX_SOURCE/debian/changelog" \
	-S Version)" = "$version" ]
check $? "dist: configure.ac and debian/changelog say $version"
