# SPDX-License-Identifier: MIT
# A fresh clone, as a new user has it. scripts/run is run twice.  Each time the
# lines that it prints are typed, a message is sent, and SIGTERM ends it.  The
# test is not with those of the README, because it makes a build of its own.
# Sourced by the stage.
clone=$tmp/clone
log=$tmp/run.log

# The default address, or another one if that is taken.
where=
if (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; then
	where='--listen 127.0.0.1:0'
fi

# run_clone SECONDS: starts scripts/run and waits up to SECONDS for it.  Sets
# server.
run_clone() {
	(
		cd "$clone" || exit
		# shellcheck disable=SC2086
		exec env -u TWINBOX_DATA -u TWINBOX_SOURCE -u TWINBOX_BUILD \
		    scripts/run $where
	) >"$log" 2>&1 </dev/null &
	server=$!
	for _ in $(seq $(($1 * 5))); do
		! grep -q '^listening: ' "$log" || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.2
	done
	tail -n 30 "$log" | sed 's/^/# /'
	return 1
}

if [ ! -e "$TWINBOX_SOURCE/.git" ]; then
	echo '# clone: this is no clone, so there is nothing to clone'
else
	git clone -q "$TWINBOX_SOURCE" "$clone"
	check $? 'clone: git clone'
	mkdir "$tmp/home"
	for round in 1 2; do
		server=
		run_clone 900
		check $? "clone: scripts/run, $round of 2"
		# The printed lines are run. tail gets --once, so that it ends.
		sed -n '/^With curl/,$ { s/^  //p }' "$log" |
		    sed 's,^build/twinbox tail$,& --once,' >"$tmp/lines"
		grep -q -- ' tail --once$' "$tmp/lines" &&
		    (cd "$clone" && env -i PATH="$PATH" HOME="$tmp/home" sh -e \
			"$tmp/lines") >"$tmp/typed" 2>&1 </dev/null &&
		    [ "$(grep -c ' alice .*Hello, Bob\.$' "$tmp/typed")" -eq 1 ]
		status=$?
		[ "$status" -eq 0 ] || sed 's/^/# /' "$tmp/typed"
		check "$status" "clone: the lines that it prints, $round of 2: bob has the message"
		kill -TERM "$server" && wait "$server"
		check $? "clone: SIGTERM ends it well, $round of 2"
	done
	! grep -qE '^ +(CC|CCLD|GEN) |autoreconf|configure' "$log" &&
	    grep -q '^listening: ' "$log"
	check $? 'clone: the second one had nothing to make'
	[ "$(cd "$clone" && build/twinboxd fsck --data demo-data |
	    sed -n 's/.*users, \([0-9]*\) messages.*no violations$/\1/p')" = 2 ]
	check $? 'clone: both messages are there, and fsck finds nothing'
	[ -z "$(git -C "$clone" status --porcelain)" ]
	check $? 'clone: git sees nothing that was made'
	rm -rf "$clone"
fi
