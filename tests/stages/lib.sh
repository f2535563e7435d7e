# SPDX-License-Identifier: MIT
# What the stages share.  They source it at the top of the project.  The
# environment is that of scripts/test, with defaults for a call by hand.
set -u
cd "$(dirname "$0")/../.." || exit 2
export TWINBOX_SOURCE="${TWINBOX_SOURCE:-$PWD}"
export TWINBOX_BUILD="${TWINBOX_BUILD:-$PWD/build}"
export TWINBOX_BUILDS="${TWINBOX_BUILDS:-$PWD/build-test}"
export TWINBOX_LOGS="${TWINBOX_LOGS:-$TWINBOX_BUILDS/log}"
export TWINBOX_STAGE="${TWINBOX_STAGE:-$(basename "$0")}"
export TWINBOX_TIER="${TWINBOX_TIER:-default}"
mkdir -p "$TWINBOX_LOGS"
passed=0
failed=0
skipped=0
# The reasons for which tests of this stage may be skipped, as a regular
# expression that matches the whole reason.  A stage sets it before it runs
# files.
: "${skips_allowed:=none}"

# Counts and prints the result of a check that the stage makes itself.
check() { # check STATUS TEXT
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - $2"
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

# True if the run is of this tier.
tier() { # tier quick|default|full
	[ "$TWINBOX_TIER" = "$1" ]
}

# Lists the tests that were skipped according to the TAP in FILE, at any depth,
# in lines "TEST<tab>REASON".  The list includes a program that is skipped as a
# whole ("1..0 # SKIP"), and what a program says it passed over.  cmocka shows
# skip() as "not ok N # SKIP TEST".
list_skips() { # list_skips FILE
	sed -nE \
	    -e 's/^not ok [0-9]+ # SKIP ?(.*)$/\1\tskip()/p' \
	    -e 's/^ *ok [0-9]+ -? ?(.*)# SKIP ?(.*)$/\1\t\2/Ip' \
	    -e 's/^ *1\.\.0 # SKIP ?(.*)$/the program\t\1/Ip' \
	    -e 's/^(# )?# passed over: ?(.*)$/passed over\t\2/Ip' "$1" |
	    sed 's/ *\t/\t/; s/\t$/\tno reason given/'
}

# True if a stage may skip a test for this reason.  If TWINBOX_STRICT is not 1,
# everything may be skipped.
may_skip() { # may_skip REASON
	[ "${TWINBOX_STRICT:-0}" != 1 ] ||
	    printf '%s\n' "$1" | grep -qxE -- "$skips_allowed"
}

# Counts the tests that were skipped according to the TAP in FILE, and prints
# lines "# skipped: TEST: REASON".  A skip that is not allowed is a failure.
count_skips() { # count_skips FILE
	while IFS='	' read -r what reason; do
		skipped=$((skipped + 1))
		echo "# skipped: $what: $reason"
		may_skip "$reason" || check 1 "skipped: $what: $reason"
	done < <(list_skips "$1")
}

# Prints the commit that a change is compared with: TWINBOX_BASE, or the commit
# where the branch left its upstream; nothing if there is neither.
base_commit() {
	if [ -n "${TWINBOX_BASE:-}" ]; then
		git rev-parse --verify --quiet "$TWINBOX_BASE^{commit}"
	else
		git merge-base HEAD '@{upstream}' 2>/dev/null
	fi
}

# Reads names DIR/NAME and prints those that depend on a file changed since the
# base commit (tests/stages/changed).
standing_on_changes() {
	changes=$(tests/stages/changed "$(base_commit)")
	while read -r name; do
		stands_on_changes "$name" && echo "$name"
	done
}

# True if the test depends on a changed file, according to $changes.
stands_on_changes() { # stands_on_changes DIR/NAME
	changed all || changed "test $1" || changed "folder ${1%%/*}" && return 0
	case $1 in
	unit/*)
		[ "$1" != unit/test_vectors ] || ! changed 'folder vectors' ||
			return 0
		for module in $(grep -lw "tests/$1" tests/unit/*.am |
		    sed 's,.*/,,; s,\.am$,,; s,^client$,client_lib client_program,'); do
			changed "module $module" && return 0
		done
		return 1
		;;
	contract/*)
		changed 'module chat' || changed 'module delivery' ||
		    changed 'module upkeep' || changed 'module inspect'
		;;
	sim) changed 'module chat' || changed 'module relay' ;;
	page/*) changed page || changed 'module page' ;;
	vectors/*) return 1 ;;
	e2e/cli*) changed 'module main' || changed 'module client_program' ;;
	*) changed 'module main' ;;
	esac
}

changed() { # changed WORD
	printf '%s\n' "$changes" | grep -qxF -- "$1"
}

# Prints the files that have the tag TAG: their first comment has a line
# "// tags: ...".
tagged() { # tagged TAG FILE...
	wanted=$1
	shift
	grep -lE "^// tags:.* $wanted( |\$)" "$@"
}

# Prints the files that do not have the tag TAG.
untagged() { # untagged TAG FILE...
	wanted=$1
	shift
	grep -LE "^// tags:.* $wanted( |\$)" "$@"
}

# Runs a command and shows its output only if it failed.
quietly() { # quietly COMMAND...
	said=$(mktemp "$TWINBOX_LOGS/said.XXXXXX")
	"$@" >"$said" 2>&1 </dev/null
	set -- $?
	[ "$1" -eq 0 ] || grep -vE '^  (CC|CCLD|AR|GEN) ' "$said" | tail -n 60 >&2
	rm -f "$said"
	return "$1"
}

# Makes the build NAME and sets TWINBOX_BUILD to it; ends the stage on failure.
# A lock lets two stages ask for the same build at the same time.
#
#	plain   the release build: optimised, hardened, without fault points
#	quick   fault points and little optimisation, for the daily loop
#	strict  fault points, AddressSanitizer, UBSan: the default for tests
#	tsan    fault points, ThreadSanitizer
#	fuzz    clang's libFuzzer
use_build() { # use_build NAME
	build_name=$1
	case $1 in
	plain) set -- --enable-werror ;;
	quick) set -- --enable-werror --enable-faults 'CFLAGS=-O1 -g1' ;;
	strict)
		set -- --enable-werror --enable-faults \
		    --enable-sanitizers=address,undefined 'CFLAGS=-O1 -g1'
		;;
	tsan)
		set -- --enable-faults --enable-sanitizers=thread 'CFLAGS=-O1 -g1'
		;;
	fuzz) set -- CC=clang-14 --enable-fuzzers --enable-werror ;;
	*)
		check 1 "there is no build $1"
		finish
		;;
	esac
	TWINBOX_BUILD=$TWINBOX_BUILDS/$build_name
	[ "$build_name" != plain ] || TWINBOX_BUILD=$TWINBOX_SOURCE/build
	mkdir -p "$TWINBOX_BUILDS"
	quietly flock "$TWINBOX_BUILDS/$build_name.lock" \
	    scripts/build --dir "$TWINBOX_BUILD" "$@" || {
		check 1 "build of $TWINBOX_BUILD"
		finish
	}
	export TWINBOXD="$TWINBOX_BUILD/twinboxd" TWINBOX="$TWINBOX_BUILD/twinbox"
	unset TWINBOXD_FAULTS TWINBOX_FAULTS_REQUIRED TWINBOX_CHEAP_PASSWORDS
	case $build_name in
	quick | strict | tsan)
		export TWINBOXD_FAULTS="$TWINBOXD" TWINBOX_FAULTS_REQUIRED=1
		# A test of the real cost of a password unsets it
		# (tests/e2e/harness/faults.mjs).
		export TWINBOX_CHEAP_PASSWORDS=1
		;;
	esac
	# TWINBOX_SLOW multiplies the time-outs of tests: a test must give up
	# because of a defect, not because the machine is busy.
	case $build_name in
	strict | tsan)
		export TWINBOX_SLOW="${TWINBOX_SLOW:-10}"
		sanitizer_begin
		;;
	*) export TWINBOX_SLOW="${TWINBOX_SLOW:-4}" ;;
	esac
}

# Makes the build for tests that need no particular one.
use_tier_build() {
	if tier quick; then
		use_build quick
	else
		use_build strict
	fi
}

# Adds the results of this stage's files to its counts.
count_results() {
	[ -f "$TWINBOX_LOGS/results" ] || return 0
	while read -r stage _ p f s _; do
		[ "$stage" = "$TWINBOX_STAGE" ] || continue
		passed=$((passed + p))
		failed=$((failed + f))
		skipped=$((skipped + s))
	done <"$TWINBOX_LOGS/results"
	sed -i "/^$TWINBOX_STAGE /d" "$TWINBOX_LOGS/results"
}

# Runs test files with tests/stages/one, JOBS at a time, the longest first.  A
# file is DIR/NAME: unit/test_relay, e2e/send.
run_files() { # run_files JOBS FILE...
	jobs=$1
	shift
	[ $# -gt 0 ] || {
		check 1 'there are test files'
		return
	}
	if [ -n "${TWINBOX_CHANGED:-}" ]; then
		# shellcheck disable=SC2046
		set -- $(printf '%s\n' "$@" | standing_on_changes)
		[ $# -gt 0 ] || {
			check 0 'no file here stands on what has changed'
			return
		}
	fi
	export skips_allowed
	printf '%s\n' "$@" | longest_first |
	    xargs -P "$jobs" -n 1 tests/stages/one
	count_results
}

# Sorts names of test files by their budget, the longest first.
longest_first() {
	awk 'NR == FNR { if ($1 !~ /^#/) budget[$1] = $2; next }
	    { print ($1 in budget ? budget[$1] : 1), $1 }' \
	    tests/stages/budget - | LC_ALL=C sort -k1,1gr -k2 | sed 's/^[^ ]* //'
}

# Builds the programs of make check whose name matches the pattern and prints
# their names without tests/.
programs() { # programs EGREP-PATTERN
	list=$(make -s --no-print-directory -C "$TWINBOX_BUILD" print-tests |
	    grep -E "$1")
	[ -n "$list" ] || return 1
	[ -z "${TWINBOX_CHANGED:-}" ] ||
	    list=$(printf '%s\n' "$list" | sed 's,^tests/,,' |
		standing_on_changes | sed 's,^,tests/,; s,^tests/bench/,bench/,')
	list=$(printf '%s' "$list" | tr '\n' ' ')
	[ -n "$list" ] || return 0
	# shellcheck disable=SC2086
	quietly flock "$TWINBOX_BUILDS/${build_name:-plain}.lock" \
	    make -s --no-print-directory -C "$TWINBOX_BUILD" \
	    -j"$(getconf _NPROCESSORS_ONLN)" $list || return 1
	# shellcheck disable=SC2086
	printf '%s\n' $list | sed 's,^tests/,,'
}

# Runs the test programs whose name matches the pattern, JOBS at a time.
run_programs() { # run_programs EGREP-PATTERN [JOBS]
	names=$(programs "$1") || {
		check 1 "the test programs $1 are made"
		return
	}
	[ -n "$names" ] || {
		check 0 "no program $1 stands on what has changed"
		return
	}
	# shellcheck disable=SC2086
	run_files "${2:-$(getconf _NPROCESSORS_ONLN)}" $names
}

# Runs files of node's test runner on the programs of the current build.  npm
# installs the packages that they need in tests/e2e.  NODE_FILES files run at a
# time (default 4: they mostly wait).
run_node() { # run_node FILE...
	node_packages || {
		check 1 'npm ci in tests/e2e'
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
	# shellcheck disable=SC2046
	run_files "${NODE_FILES:-4}" $(printf '%s\n' "$@" |
	    sed 's,^tests/,,; s,\.test\.mjs$,,')
}

# Installs the packages that the lock file in DIR (default tests/e2e) names.  A
# lock lets two stages call this at the same time.
node_packages() { # node_packages [DIR]
	dir=${1:-tests/e2e}
	[ -f "$dir/package.json" ] || return 1
	want=$(cksum "$dir/package-lock.json") || return 1
	[ "$want" = "$(cat "$dir/node_modules/.of-lock" 2>/dev/null)" ] &&
	    return 0
	mkdir -p "$TWINBOX_BUILDS"
	(
		flock 9
		[ "$want" != "$(cat "$dir/node_modules/.of-lock" 2>/dev/null)" ] ||
		    exit 0
		echo "# npm ci in $dir"
		(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error) ||
		    exit 1
		mkdir -p "$dir/node_modules"
		echo "$want" >"$dir/node_modules/.of-lock"
	) 9>"$TWINBOX_BUILDS/npm.lock"
}

# Collects the reports of the sanitizers, from our programs and from servers
# that tests start.  (Together with AddressSanitizer, gcc's UBSan ignores
# log_path: it writes to standard error and ends the program, so that the test
# which ran it fails.)  Use after return is not detected, because gcc's stack
# for that does not keep _Alignas.  Suppressions that were used are not
# reported.
sanitizer_begin() {
	reports=$TWINBOX_LOGS/reports-$TWINBOX_STAGE
	rm -rf "$reports"
	mkdir -p "$reports"
	# A server may run as another user, and must be able to write its
	# report.
	chmod 1777 "$reports"
	common="log_path=$reports/report:exitcode=86"
	export ASAN_OPTIONS="$common:detect_leaks=1:detect_stack_use_after_return=0:strict_string_checks=1"
	# Freed memory is not used again until this much more was freed.  The
	# default of 256 MB costs a server a page fault for each 4 KiB it frees,
	# on some machines a quarter of its processor time.
	tier full || ASAN_OPTIONS+=:quarantine_size_mb=16
	export LSAN_OPTIONS="print_suppressions=0:suppressions=$TWINBOX_SOURCE/build-aux/lsan.supp"
	export UBSAN_OPTIONS="$common:print_stacktrace=1"
	export TSAN_OPTIONS="$common:second_deadlock_stack=1:print_suppressions=0:suppressions=$TWINBOX_SOURCE/build-aux/tsan.supp"
	export TWINBOX_SANITIZED=1
}

sanitizer_end() {
	n=$(find "$reports" -type f -size +0 | wc -l)
	for file in $(find "$reports" -type f -size +0 | head -n 10); do
		sed 's/^/# /' "$file" | head -n 60
	done
	[ "$n" -eq 0 ]
	check $? "no sanitizer reports ($n)"
}

# Ends a stage: prints its counts.
finish() {
	[ -z "${reports:-}" ] || sanitizer_end
	counts="$passed passed, $failed failed"
	[ "$skipped" -eq 0 ] || counts="$counts, $skipped skipped"
	echo "stage: $counts"
	[ "$failed" -eq 0 ]
	exit $?
}
