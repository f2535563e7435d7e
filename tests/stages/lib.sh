# SPDX-License-Identifier: MIT
# What the stages share.  Sourced by them at the top of the project; the
# environment is that of scripts/test, with defaults for a call by hand.
set -u
cd "$(dirname "$0")/../.." || exit 2
export TWINBOX_SOURCE="${TWINBOX_SOURCE:-$PWD}"
export TWINBOX_BUILD="${TWINBOX_BUILD:-$PWD/build}"
export TWINBOX_BUILDS="${TWINBOX_BUILDS:-$PWD/build-test}"
passed=0
failed=0
skipped=0
# What a stage may skip: reasons, as a regular expression that fits all of one.
skips_allowed='.*'

# The result of one thing that the stage itself looked at.
check() { # check STATUS TEXT
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - $2"
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

# Counts the tests in the TAP of FILE that were skipped, at any depth, and says
# which and why in lines "# skipped: TEST: REASON".  Where TWINBOX_STRICT is 1 a
# reason that is not among skips_allowed is a failure.
count_skips() { # count_skips FILE
	grep -E '^ *ok [0-9]+ .*# SKIP' "$1" |
	    sed 's/^ *ok [0-9]* //; s/^- //' >"$1.skips"
	while IFS= read -r line; do
		what=${line%"# SKIP"*}
		what=${what% }
		reason=${line##*"# SKIP"}
		reason=${reason# }
		skipped=$((skipped + 1))
		echo "# skipped: $what: ${reason:-no reason given}"
		[ "${TWINBOX_STRICT:-0}" != 1 ] ||
		    printf '%s\n' "$reason" | grep -qxE -- "$skips_allowed" ||
		    check 1 "skipped: $what: ${reason:-no reason given}"
	done <"$1.skips"
	rm -f "$1.skips"
}

# Makes the build NAME in $TWINBOX_BUILDS and sets TWINBOX_BUILD to it; ends
# the stage if that fails.
use_build() { # use_build NAME CONFIGURE-OPTION...
	TWINBOX_BUILD=$TWINBOX_BUILDS/$1
	shift
	scripts/build --dir "$TWINBOX_BUILD" "$@" || {
		check 1 "build of $TWINBOX_BUILD"
		finish
	}
}

# Runs those test programs of make check whose name matches the pattern, adds
# their counts and shows what they print in lines "# ...".  Further arguments
# are a command before each program.
run_programs() { # run_programs EGREP-PATTERN [WRAPPER...]
	pattern=$1
	shift
	programs=$(make -s --no-print-directory -C "$TWINBOX_BUILD" \
	    print-tests | grep -E "$pattern" | tr '\n' ' ')
	if [ -z "${programs% }" ]; then
		check 1 "there are test programs $pattern"
		return
	fi
	log=$TWINBOX_BUILD/check.log
	make -C "$TWINBOX_BUILD" --no-print-directory -k \
	    -j"$(getconf _NPROCESSORS_ONLN)" check TESTS="$programs" \
	    LOG_COMPILER="$*" >"$log" 2>&1
	status=$?
	before=$failed
	p=$(sed -n 's/^# PASS: *//p' "$log" | tail -n 1)
	f=$(sed -n 's/^# FAIL: *//p' "$log" | tail -n 1)
	e=$(sed -n 's/^# ERROR: *//p' "$log" | tail -n 1)
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0} + ${e:-0}))
	grep -E '^(FAIL|ERROR):' "$log" | sed 's/^/not ok - /'
	for program in $programs; do
		result=$TWINBOX_BUILD/$program.log
		n=$(grep -c '^ok' "$result" 2>/dev/null)
		echo "# $program: ${n:-0}"
		if grep -qE '^not ok|^Bail|: error:|Sanitizer' "$result" 2>/dev/null; then
			sed 's/^/#   /' "$result" | tail -n 60
		else
			sed -n '/^# ok - /d; s/^# /#   /p' "$result" 2>/dev/null |
			    cut -c 1-400
		fi
		[ ! -e "$result" ] || count_skips "$result"
	done
	if [ "$status" -ne 0 ] && [ "$failed" -eq "$before" ]; then
		tail -n 40 "$log"
		check 1 "make check $pattern"
	fi
	if [ $((${p:-0} + failed - before)) -eq 0 ]; then
		check 1 "make check $pattern ran something"
	fi
}

# Runs files of node's test runner on the programs of the build in use, adds
# their counts and shows their diagnostics (the lines "# ...").  What they need
# is installed by npm in tests/e2e.  NODE_FILES of them run at a time (3: most
# of what they do is to wait).  A file that does not end within a quarter of an
# hour has failed, and one whose tests are over ends, whatever a failed one has
# left running.
run_node() { # run_node FILE...
	node_packages || {
		check 1 'npm ci in tests/e2e'
		return
	}
	[ -e "$1" ] || {
		check 1 "there are tests $1"
		return
	}
	for program in twinboxd twinbox; do
		[ -x "$TWINBOX_BUILD/$program" ] || {
			check 1 "there is $TWINBOX_BUILD/$program"
			return
		}
	done
	export TWINBOXD="$TWINBOX_BUILD/twinboxd"
	export TWINBOX="$TWINBOX_BUILD/twinbox"
	out=$TWINBOX_BUILD/node.tap
	# shellcheck disable=SC2046
	node --test --test-reporter=tap \
	    $(node_knows --test-concurrency="${NODE_FILES:-3}" \
	    --test-force-exit --test-timeout=900000) \
	    "$@" 2>&1 | tee "$out" |
	    awk -f tests/stages/node-tap.awk
	p=$(sed -n 's/^# pass //p' "$out" | tail -n 1)
	f=$(sed -n 's/^# fail //p' "$out" | tail -n 1)
	c=$(sed -n 's/^# cancelled //p' "$out" | tail -n 1)
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0} + ${c:-0}))
	count_skips "$out"
	if [ -z "$p" ] || [ $((p + f + c)) -eq 0 ]; then
		tail -n 20 "$out"
		check 1 "node --test $1 ran something"
	fi
}

# Those of the options that this node has: Debian's 18 lacks some.
node_knows() { # node_knows OPTION...
	for option; do
		node "$option" --version >/dev/null 2>&1 && echo "$option"
	done
}

# What the lock file in DIR (tests/e2e) names is installed.
node_packages() { # node_packages [DIR]
	dir=${1:-tests/e2e}
	[ -f "$dir/package.json" ] || return 1
	want=$(cksum "$dir/package-lock.json") || return 1
	[ "$want" = "$(cat "$dir/node_modules/.of-lock" 2>/dev/null)" ] &&
	    return 0
	echo "# npm ci in $dir"
	(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error) || return 1
	mkdir -p "$dir/node_modules"
	echo "$want" >"$dir/node_modules/.of-lock"
}

# Collects what the sanitizers report, from programs of ours and from servers
# that the tests start.  (Beside AddressSanitizer, gcc's UBSan writes to
# standard error and ends the program, whatever log_path says: the test that
# ran it fails.)  Use after return is not looked for: gcc's stack for that does
# not keep _Alignas.  A suppression that was used is no report.
sanitizer_begin() {
	reports=$TWINBOX_BUILD/reports
	rm -rf "$reports"
	mkdir -p "$reports"
	# Readable by whoever the server runs as.
	chmod 1777 "$reports"
	common="log_path=$reports/report:exitcode=86"
	export ASAN_OPTIONS="$common:detect_leaks=1:detect_stack_use_after_return=0:strict_string_checks=1"
	export LSAN_OPTIONS="print_suppressions=0:suppressions=$TWINBOX_SOURCE/build-aux/lsan.supp"
	export UBSAN_OPTIONS="$common:print_stacktrace=1"
	export TSAN_OPTIONS="$common:second_deadlock_stack=1:print_suppressions=0:suppressions=$TWINBOX_SOURCE/build-aux/tsan.supp"
	export TWINBOX_SANITIZED=1
	export TWINBOX_SLOW="${TWINBOX_SLOW:-5}"
}

sanitizer_end() {
	n=$(find "$reports" -type f -size +0 | wc -l)
	for file in $(find "$reports" -type f -size +0 | head -n 10); do
		sed 's/^/# /' "$file" | head -n 60
	done
	[ "$n" -eq 0 ]
	check $? "no sanitizer reports ($n)"
}

finish() {
	counts="$passed passed, $failed failed"
	[ "$skipped" -eq 0 ] || counts="$counts, $skipped skipped"
	echo "stage: $counts"
	[ "$failed" -eq 0 ]
	exit $?
}
