# SPDX-License-Identifier: MIT
# make distcheck, and the tarball: it contains what git tracks, and needs
# neither git nor npm.  Sourced by the stage.

# In the make check of distcheck no test runs, in full runs the gates alone.  The
# other stages have compiled and run the test programs and the gates, and doing
# that again would take longer than all the rest.  The list of files below shows
# that their sources are in the tarball.  `make distcheck` by hand runs
# everything.
if tier full; then
	tests=tests/selfcheck/gates.sh least=50
else
	tests='' least=0
fi
few_tests="check_PROGRAMS= check_LIBRARIES= TESTS=$tests"

# Replacements for programs that a tarball must not need; they record their
# calls.  In a clone make dist gets the list of files from git.
mkdir -p "$tmp/refuse"
for program in git npm npx node; do
	printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' \
	    "$program" "$tmp/called" >"$tmp/refuse/$program"
	chmod 755 "$tmp/refuse/$program"
done
if [ -e "$TWINBOX_SOURCE/.git" ]; then
	sed -i "2i [ \"\$*\" != ls-files ] || ! [ . -ef '$TWINBOX_SOURCE' ] || exec '$(command -v git)' ls-files" \
	    "$tmp/refuse/git"
fi
# The compiler runs through ccache, as in scripts/build.
without() {
	PATH="$tmp/refuse:/usr/lib/ccache:$PATH" CCACHE_BASEDIR=/ \
	    CCACHE_NOHASHDIR=1 "$@"
}
(without git status) 2>/dev/null
(cd "$tmp" && without git ls-files) 2>/dev/null
[ "$(cat "$tmp/called" 2>/dev/null)" = "$(printf 'git status\ngit ls-files')" ]
check $? 'dist: a call of git would be seen'
: >"$tmp/called"

log=$TWINBOX_BUILD/distcheck.log
rm -f "$TWINBOX_BUILD"/twinbox-*.tar.gz
# Strict mode is off: the gate of the documents needs npm, and has passed in
# stage 10.
TWINBOX_STRICT=0 GATE_SAMPLES=one MAKEFLAGS=-j$jobs without make -C "$TWINBOX_BUILD" --no-print-directory \
    distcheck AM_MAKEFLAGS="$few_tests" >"$log" 2>&1
status=$?
p=$(sed -n 's/^# PASS: *//p' "$log" | tail -n 1)
f=$(sed -n 's/^# FAIL: *//p' "$log" | tail -n 1)
[ "$status" -eq 0 ] || tail -n 40 "$log" | sed 's/^/# /'
[ "$status" -eq 0 ] && [ "${p:-0}" -ge "$least" ] && [ "${f:-0}" -eq 0 ]
check $? "dist: make distcheck, with ${p:-0} checks of the gates in it"
[ ! -s "$tmp/called" ]
check $? 'dist: the tarball called neither git nor npm'

# list_tarball TARBALL: prints its files, without the folder that contains them.
list_tarball() {
	tar tzf "$1" | sed 's,^[^/]*/,,' | grep -v '/$' | grep . | LC_ALL=C sort
}

# list_scripts: reads names and prints those of executable files.
list_scripts() {
	while read -r file; do
		[ ! -x "$file" ] || echo "$file"
	done
}

tarball=$(ls "$TWINBOX_BUILD"/twinbox-*.tar.gz)
list_tarball "$tarball" >"$tmp/packed"
if [ -e "$TWINBOX_SOURCE/.git" ]; then
	git -C "$TWINBOX_SOURCE" ls-files
else
	cat "$TWINBOX_SOURCE/MANIFEST"
fi | LC_ALL=C sort >"$tmp/tracked"
LC_ALL=C comm -23 "$tmp/tracked" "$tmp/packed" >"$tmp/missing"
sed 's/^/# not in the tarball: /' "$tmp/missing" | head -n 20
[ ! -s "$tmp/missing" ] && [ "$(wc -l <"$tmp/tracked")" -gt 300 ]
check $? "dist: the tarball has all $(wc -l <"$tmp/tracked") files of the project"
# The tarball also contains what autoreconf and make dist make, and no other
# files.
printf '%s\n' MANIFEST Makefile.in aclocal.m4 build-aux/ar-lib \
    build-aux/compile build-aux/depcomp build-aux/install-sh \
    build-aux/missing build-aux/tap-driver.sh configure \
    web/dist/page.list >"$tmp/made"
LC_ALL=C comm -13 "$tmp/tracked" "$tmp/packed" |
    sed 's,^web/dist/.*,web/dist/page.list,' | LC_ALL=C sort -u >"$tmp/others"
diff "$tmp/made" "$tmp/others" >"$tmp/out"
status=$?
sed 's/^/# made: /' "$tmp/out"
check "$status" 'dist: besides, it has what is made for it, and nothing else'
mkdir -p "$tmp/tarball" && tar xzf "$tarball" -C "$tmp/tarball" &&
    mv "$tmp/tarball"/twinbox-* "$tmp/tarball/twinbox"
(cd "$TWINBOX_SOURCE" && list_scripts) <"$tmp/tracked" >"$tmp/scripts"
(cd "$tmp/tarball/twinbox" && list_scripts) <"$tmp/tracked" |
    cmp -s "$tmp/scripts" - && [ -s "$tmp/scripts" ]
check $? "dist: $(wc -l <"$tmp/scripts") files of it can be run, as here"
version=$(sed -n 's/^AC_INIT(\[twinbox\], \[\(.*\)\])$/\1/p' \
    "$TWINBOX_SOURCE/configure.ac")
[ -n "$version" ] && [ "$(basename "$tarball")" = "twinbox-$version.tar.gz" ] &&
    [ "$(dpkg-parsechangelog -l "$TWINBOX_SOURCE/debian/changelog" \
	-S Version)" = "$version" ]
check $? "dist: configure.ac and debian/changelog say $version"
