#!/bin/bash
# SPDX-License-Identifier: MIT
# That the runner itself cannot be hung or fooled: scripts/test on stages that
# fail, show nothing or never end, and tests/stages/one on files and programs
# that do.  Prints TAP.
set -u
root=${TWINBOX_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' INT TERM
out=$tmp/out
number=0

result() { # result STATUS TEXT
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		sed 's/^/# | /' "$out"
		echo "not ok $number - $2"
	fi
}

says() { # says TEXT PATTERN
	grep -qE -- "$2" "$out"
	result $? "$1"
}

# A project of nothing but its runner; what it needs is there.
project() {
	cd "$tmp" || exit 99
	rm -rf "$tmp/project"
	mkdir -p "$tmp/project/scripts" "$tmp/project/tests/stages" \
	    "$tmp/project/tests/e2e"
	cd "$tmp/project" || exit 99
	cp "$root/scripts/test" scripts/
	cp "$root"/tests/stages/{lib.sh,node-tap.awk,one,budget} tests/stages/
	printf '#!/bin/sh\n' >scripts/deps
	chmod +x scripts/deps
}

stage() { # stage NAME: its commands from standard input
	{
		printf '#!/bin/bash\n'
		cat
	} >"tests/stages/$1"
	chmod +x "tests/stages/$1"
}

run() { # run VARIABLE=VALUE...
	# shellcheck disable=SC2086
	env -u TWINBOX_TEST_LIMIT -u TWINBOX_STAGE_LIMIT -u skips_allowed \
	    -u TWINBOX_STAGE -u TWINBOX_LOGS -u TWINBOX_BASE "$@" \
	    timeout 120 scripts/test $tier >"$out" 2>&1
	status=$?
}
tier=

# --- stages -------------------------------------------------------------------
project
stage 10-good <<<'echo "stage: 3 passed, 0 failed"'
run
[ "$status" -eq 0 ]
result $? 'runner: passes what passes'
says 'runner: counts it' '^3 passed, 0 failed$'

stage 20-bad <<<'echo "ok - one"; echo "not ok - two"'
stage 30-silent <<<'true'
stage 40-status <<<'echo "ok - one"; exit 3'
run
[ "$status" -eq 1 ]
result $? 'runner: catches failures'
says 'runner: counts them' '^5 passed, 3 failed$'
says 'runner: catches silence' 'not ok - the stage showed nothing'
says 'runner: catches a status' 'not ok - the stage ended with status 3'

project
stage 10-skips <<'EOF'
. "$(dirname "$0")/lib.sh"
skips_allowed='no disk|no reason given'
check 0 one
printf '%s\n' 'ok 1 - two # SKIP no disk' '    ok 3 - nested # SKIP' >tap
count_skips tap
finish
EOF
stage 20-plain <<<'echo "ok 1 - three"; echo "ok 2 - four # SKIP no time"'
run
[ "$status" -eq 0 ]
result $? 'runner: what is skipped is no failure'
says 'runner: counts it' '^2 passed, 0 failed, 3 skipped$'
says 'runner: says what was skipped, and why' '^10-skips: two: no disk$'
says 'runner: at any depth' '^10-skips: nested: no reason given$'
says 'runner: without that the line itself' '^20-plain: ok 2 - four # SKIP no time$'

stage 30-strict <<'EOF'
. "$(dirname "$0")/lib.sh"
skips_allowed='no (time|disk)'
printf '%s\n' 'ok 1 - five # SKIP no disk' 'ok 2 - six # SKIP no disks' >tap
count_skips tap
finish
EOF
run
[ "$status" -eq 1 ]
result $? 'runner: what may not be skipped is a failure'
says 'runner: says which' '^30-strict: not ok - skipped: six: no disks$'
says 'runner: counts both' '^2 passed, 1 failed, 5 skipped$'

project
# Its child ignores the signal, and has the pipe.
stage 10-hung <<<'echo "ok - one"; (trap "" TERM; sleep 60; sleep 60) & wait'
stage 20-good <<<'echo "ok - two"'
run TWINBOX_STAGE_LIMIT=2
[ "$status" -eq 1 ]
result $? 'runner: ends a stage that does not end'
says 'runner: says which' '^10-hung: not ok - 10-hung did not end within 2 s$'
says 'runner: goes on behind it' '^2 passed, 1 failed$'

project
stage 10-long <<<'echo "ok - one"; sleep 60'
stage 20-late <<<'sleep 60; echo "ok - two"'
run TWINBOX_TEST_LIMIT=3
says 'runner: ends all in time' '^1 passed, 2 failed$'

# --- lanes and tiers ------------------------------------------------------------
project
printf '%s\n' '10-first first quick default' '20-wait wait quick default' \
    '30-compute compute default' '40-full compute full' >tests/stages/plan
stage 10-first <<<'mkfifo a b; echo "ok - one"'
# Each waits for the other: one after another they would not end.
stage 20-wait <<<'echo x >a; cat b >c; echo "ok - two"'
stage 30-compute <<<'cat a >d; echo x >b; echo "ok - three"'
stage 40-full <<<'echo "ok - four"'
run TWINBOX_STAGE_LIMIT=20
[ "$status" -eq 0 ]
result $? 'runner: runs two lanes side by side'
says 'runner: counts those of the tier' '^3 passed, 0 failed$'
says 'runner: shows the seconds of each stage' '^30-compute +1 passed +0 failed +[0-9]+ s +[0-9]+ s of processor$'
tier=full
run
says 'runner: takes the stages of the tier that is asked for' '^1 passed, 0 failed$'
tier=30-compute/none
run
[ "$status" -eq 64 ]
result $? 'runner: refuses what it does not know'
says 'runner: says what there is' 'stages are: 10-first 20-wait'
tier=

project
stage 10-lock <<<'scripts/test; echo "ok - one, status $?"'
run
says 'runner: is there once' 'another run is under way'
says 'runner: refuses the other with a status of its own' '^ok - one, status 75$'

# --- programs -------------------------------------------------------------------
project
mkdir -p build/tests/unit
program() { # program NAME: its commands from standard input
	{
		printf '#!/bin/sh\n'
		cat
	} >"build/tests/unit/$1"
	chmod +x "build/tests/unit/$1"
}
program good <<<'echo 1..2; echo "ok 1 - one"; echo "not ok 2 # SKIP two"'
program bad <<<'echo 1..1; echo "not ok 1 - three"; echo "what it says"; exit 1'
program short <<<'echo 1..2; echo "ok 1 - four"'
program killed <<<'echo 1..1; echo "ok 1 - five"; kill -SEGV $$'
program silent <<<'true'
program hung <<<'echo 1..1; sleep 60'
program slow <<<'echo 1..1; sleep 4; echo "ok 1 - six"; echo "# flaky: the second try"'
echo 'unit/slow 0.5' >>tests/stages/budget
stage 10-programs <<'EOF'
. "$(dirname "$0")/lib.sh"
skips_allowed='skip\(\)'
export TWINBOX_PROGRAM_LIMIT=6
run_files 4 unit/good unit/bad unit/short unit/killed unit/silent unit/hung unit/slow
finish
EOF
run
[ "$status" -eq 1 ]
result $? 'runner: programs that fail'
says 'runner: counts what passed, failed and was skipped' '^4 passed, 5 failed, 1 skipped$'
says 'runner: names the test that failed' '^not ok 1 - three \(unit/bad\)$'
says 'runner: shows what its program said' '^# \| what it says$'
says 'runner: catches a plan that is not kept' '^not ok - unit/short has a plan of 2 and 1 results$'
says 'runner: catches a program that is killed' '^not ok - unit/killed ended with status 139$'
says 'runner: catches a program that shows nothing' '^not ok - unit/silent showed nothing$'
says 'runner: ends a program that does not end' '^not ok - unit/hung did not end in time$'
says 'runner: says what a program skipped' '^10-programs: unit/good: two: skip\(\)$'
says 'runner: counts what passed by a repetition' '^flaky: 1$'
says 'runner: says what' 'flaky: unit/slow: the second try$'
says 'runner: names a file above its budget' 'unit/slow \(10-programs\): its budget is 0.5 s$'
sed -i 's/^skips_allowed=.*/skips_allowed=none/; s,unit/hung ,,' tests/stages/10-programs
run
says 'runner: a skip that is not allowed is a failure' '^not ok - skipped: unit/good: two: skip\(\)$'
says 'runner: and counted' '^4 passed, 5 failed, 1 skipped$'

project
stage 10-hung <<<'echo $$ >pid; echo "ok - one"; sleep 60'
scripts/test >"$out" 2>&1 &
runner=$!
until grep -q '^ok - one' "$out"; do
	sleep 0.1
done
kill "$runner"
wait "$runner"
[ $? -eq 143 ] && ! grep -q passed "$out"
result $? 'runner: ends when it is ended'
for _ in {1..50}; do
	kill -0 "$(cat pid)" 2>>"$out" || break
	sleep 0.1
done
! kill -0 "$(cat pid)" 2>>"$out"
result $? 'runner: leaves nothing running'

# --- files of node's test runner ----------------------------------------------
project
printf '{}' >tests/e2e/package.json
printf '{}' >tests/e2e/package-lock.json
mkdir tests/e2e/node_modules
cksum tests/e2e/package-lock.json >tests/e2e/node_modules/.of-lock
mkdir build
printf '#!/bin/sh\n' | tee build/twinboxd >build/twinbox
chmod +x build/*
cat >tests/e2e/bad.test.mjs <<'EOF'
import { spawn } from 'node:child_process';
import { it } from 'node:test';

it('passes', () => {});
it('fails and leaves a child, a pipe and a timer', () => {
	setInterval(() => {}, 100);
	const child = spawn('sleep', ['60']);
	process.on('exit', () => child.kill());
	throw new Error('why it failed');
});
it('is within', async (t) => {
	await t.test('cannot be done', { skip: 'no tool' }, () => {});
});
EOF
stage 10-node <<'EOF'
. "$(dirname "$0")/lib.sh"
skips_allowed='no tool'
run_node tests/e2e/*.test.mjs
finish
EOF
# The node of Debian 12 waits for what was left, and is ended.
run TWINBOX_STAGE_LIMIT=30
[ "$status" -eq 1 ]
result $? 'runner: a failed test that leaves something running ends'
says 'runner: says which failed' '^not ok .*fails and leaves a child'
says 'runner: says why' 'why it failed'
says 'runner: says what was not done' '^10-node: e2e/bad: cannot be done: no tool$'
