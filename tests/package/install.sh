# SPDX-License-Identifier: MIT
# make install and make uninstall: the files after an install, what a second
# install keeps, and what an uninstall leaves.  Sourced by the stage.
root=$tmp/root
prefix=$(sed -n 's/^prefix = //p' "$TWINBOX_BUILD/Makefile")
etc=$(sed -n 's/^sysconfdir = //p' "$TWINBOX_BUILD/Makefile")
etc=${etc/'${prefix}'/$prefix}
conf=$root$etc/twinbox/twinboxd.conf
installing() { # installing TARGET
	make -C "$TWINBOX_BUILD" --no-print-directory -s "$1" DESTDIR="$root" \
	    >"$tmp/make.log" 2>&1
	status=$?
	[ "$status" -eq 0 ] || sed 's/^/# /' "$tmp/make.log"
	return "$status"
}

installing install
check $? 'make install'
LC_ALL=C sort >"$tmp/wanted" <<END
$etc/twinbox/twinboxd.conf
$prefix/bin/twinbox
$prefix/lib/systemd/system/twinboxd.service
$prefix/lib/sysusers.d/twinbox.conf
$prefix/lib/tmpfiles.d/twinbox.conf
$prefix/sbin/twinboxd
$prefix/share/bash-completion/completions/twinbox
$prefix/share/bash-completion/completions/twinboxd
$prefix/share/fish/vendor_completions.d/twinbox.fish
$prefix/share/fish/vendor_completions.d/twinboxd.fish
$prefix/share/man/man1/twinbox.1
$prefix/share/man/man5/twinboxd.conf.5
$prefix/share/man/man8/twinboxd.8
$prefix/share/zsh/site-functions/_twinbox
$prefix/share/zsh/site-functions/_twinboxd
END
find "$root" ! -type d | sed "s,^$root,," | LC_ALL=C sort >"$tmp/there"
diff "$tmp/wanted" "$tmp/there" | sed 's/^/# /'
cmp -s "$tmp/wanted" "$tmp/there"
check $? "install: the $(wc -l <"$tmp/wanted") files, no others"
grep -q "^ExecStart=$prefix/sbin/twinboxd serve --config $etc/twinbox/twinboxd.conf$" \
    "$root$prefix/lib/systemd/system/twinboxd.service"
check $? 'install: the unit names the program and the file where they are'

# The configuration file.
"$root$prefix/sbin/twinboxd" check-config --config "$conf" >"$tmp/config"
check $? 'install: the file of settings is read'
sed -E 's/ = .*//' "$tmp/config" | sort >"$tmp/settings"
sed -nE 's/^#?([a-z0-9-]+) =.*/\1/p' "$conf" | sort >"$tmp/sample"
cmp -s "$tmp/settings" "$tmp/sample" && [ "$(wc -l <"$tmp/sample")" -ge 20 ]
check $? "install: it has all $(wc -l <"$tmp/settings") settings"
[ "$(grep -v '^#' "$conf" | grep .)" = 'data = /var/lib/twinbox' ] &&
    [ "$(grep -vc '; default$' "$tmp/config")" = 1 ]
check $? 'install: but for data, all are comments'
# The commented-out settings show the defaults: made active, they change
# nothing.
sed -E 's/^#([a-z0-9-]+ =)/\1/' "$conf" >"$tmp/all.conf"
"$root$prefix/sbin/twinboxd" check-config --config "$tmp/all.conf" |
    sed 's/ ; .*//' >"$tmp/all"
[ -s "$tmp/all" ] && sed 's/ ; .*//' "$tmp/config" | cmp -s - "$tmp/all"
check $? 'install: the comments show the defaults'

"$root$prefix/sbin/twinboxd" --version >"$tmp/version"
missing=0
for library in libmicrohttpd libwebsockets libuv libcurl SQLite libpq jansson libsodium; do
	grep -qE "^$library [0-9]+\.[0-9]+" "$tmp/version" || {
		echo "# --version: no $library"
		missing=1
	}
done
[ "$missing" -eq 0 ] && head -n 1 "$tmp/version" | grep -qE '^twinboxd [0-9.]+$'
check $? "install: --version names $(($(wc -l <"$tmp/version") - 1)) libraries"

# A second install keeps the operator's settings.
echo 'log-level = warn' >>"$conf"
installing install && grep -q '^log-level = warn$' "$conf"
check $? 'install: a second one keeps the settings'
installing uninstall && [ "$(find "$root" ! -type d)" = "$conf" ]
check $? 'uninstall: leaves nothing but settings that were changed'
installing install && rm "$conf" && installing install &&
    installing uninstall && [ -z "$(find "$root" ! -type d)" ] &&
    [ ! -e "$root$etc/twinbox" ]
check $? 'uninstall: leaves nothing'
