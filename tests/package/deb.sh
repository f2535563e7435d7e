# SPDX-License-Identifier: MIT
# The Debian packages: built from the tarball that dist.sh has unpacked, in full
# runs also from a clean copy, and checked by lintian.  Sets $debs to the folder
# of the packages.  Sourced by the stage.

# build_packages NAME: builds the packages in $tmp/NAME/twinbox.  Fails unless
# there are two, server and client.
build_packages() {
	(cd "$tmp/$1/twinbox" && DEB_BUILD_OPTIONS=parallel=$jobs \
	    dpkg-buildpackage -us -uc -b) >"$tmp/$1/log" 2>&1
	status=$?
	[ "$status" -eq 0 ] || tail -n 40 "$tmp/$1/log" | sed 's/^/# /'
	[ "$status" -eq 0 ] && [ "$(ls "$tmp/$1" | grep -cE \
	    '^twinbox-(server|client)_[0-9.]+_[a-z0-9]+\.deb$')" = 2 ]
}

without build_packages tarball
check $? 'deb: dpkg-buildpackage in the tarball'
[ ! -s "$tmp/called" ]
check $? 'deb: neither git nor npm was called'
grep -qE ' warning: ' "$tmp/tarball/log"
[ $? -eq 1 ]
check $? 'deb: no warning of the compiler'

# dpkg-buildpackage has left files in the tarball's folders.  A tarball that
# took whole folders would contain them.
again=$tmp/tarball/twinbox/debian/build
without make -C "$again" dist >"$tmp/out" 2>&1 &&
    list_tarball "$again"/twinbox-*.tar.gz | cmp "$tmp/packed" - >>"$tmp/out"
status=$?
[ "$status" -eq 0 ] || tail -n 20 "$tmp/out" | sed 's/^/# /'
check "$status" 'dist: the tarball makes a tarball of the same files'

# The build of a clean clone costs as much as that of the tarball, and differs
# from it only if the packaging has a mistake.  So only full runs make it.
if [ "${TWINBOX_TIER:-full}" = full ] && [ -e "$TWINBOX_SOURCE/.git" ]; then
	# A copy of the current files, committed or not, as git would clone
	# them.
	mkdir -p "$tmp/clone/twinbox"
	(cd "$TWINBOX_SOURCE" && tar cf - --files-from="$tmp/tracked") |
	    tar xf - -C "$tmp/clone/twinbox"
	build_packages clone
	check $? 'deb: dpkg-buildpackage in a clean clone'
	for package in server client; do
		for from in tarball clone; do
			dpkg-deb -c "$tmp/$from"/twinbox-${package}_*.deb |
			    awk '{ print $1, $2, $6 }' >"$tmp/$from.files"
		done
		cmp -s "$tmp/tarball.files" "$tmp/clone.files" &&
		    [ "$(wc -l <"$tmp/clone.files")" -gt 10 ]
		check $? "deb: twinbox-$package is the same of both"
	done
	(cd "$tmp/clone/twinbox" && debian/rules clean) >"$tmp/out" 2>&1
	(cd "$tmp/clone/twinbox" && find . ! -type d | sed 's,^\./,,') |
	    LC_ALL=C sort | LC_ALL=C comm -13 "$tmp/tracked" - >"$tmp/left"
	sed 's/^/# left: /' "$tmp/left" | head
	[ ! -s "$tmp/left" ]
	check $? 'deb: clean leaves nothing'
fi

debs=$tmp/tarball
[ -e "$(echo "$debs"/twinbox-server_*.deb)" ] || finish
lintian --allow-root --info --fail-on error,warning \
    "$debs"/twinbox_*.changes >"$tmp/lintian" 2>&1
status=$?
sed 's/^/# /' "$tmp/lintian"
[ "$status" -eq 0 ]
check $? 'deb: lintian finds no error and no warning'
# Shows that lintian finds errors, with a package that lacks a copyright file.
mkdir -p "$tmp/bad" && dpkg-deb -R "$debs"/twinbox-client_*.deb "$tmp/bad/x" &&
    rm "$tmp/bad/x/usr/share/doc/twinbox-client/copyright" &&
    dpkg-deb -b "$tmp/bad/x" "$tmp/bad/twinbox-client.deb" >/dev/null
lintian --allow-root --fail-on error,warning "$tmp/bad/twinbox-client.deb" \
    2>&1 | grep -q no-copyright-file
check $? 'deb: lintian would find a missing copyright'
for package in server:usr/sbin/twinboxd client:usr/bin/twinbox; do
	dpkg-deb --fsys-tarfile "$debs"/twinbox-"${package%%:*}"_*.deb |
	    tar xf - -C "$tmp/bad" "./${package#*:}"
	sh build-aux/check-hardening.sh "$tmp/bad/${package#*:}" >"$tmp/out"
	check $? "deb: ${package#*:} is hardened"
done

# The files that README links to are in the package, at the path of the link.
mkdir -p "$tmp/docs"
dpkg-deb --fsys-tarfile "$debs"/twinbox-server_*.deb |
    tar xf - -C "$tmp/docs" ./usr/share/doc/twinbox-server
docs=$tmp/docs/usr/share/doc/twinbox-server
node tests/package/links.mjs "$docs" >"$tmp/out"
status=$?
sed 's/^/# /' "$tmp/out"
check "$status" 'deb: every document and sample that README links to is in it'
for file in contrib/nginx/twinbox.conf docs/proxies.md; do
	rm "$docs/$file"
	node tests/package/links.mjs "$docs" >"$tmp/out"
	[ $? -eq 1 ] && grep -qF "$file" "$tmp/out"
	check $? "deb: a missing $file would be seen"
done
