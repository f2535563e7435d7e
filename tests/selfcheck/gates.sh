#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every gate on the project, and every gate on samples that it must
# catch: GATE/SAMPLE/ holds files laid over good/, and `expect`, what the gate
# must say; warnings/ holds a file for each warning.  On good/ alone each gate must pass, on an empty tree fail.
# Prints TAP.  TWINBOX_SOURCE and TWINBOX_BUILD say where (make check sets
# them); TWINBOX_STRICT=1 makes a missing tool a failure.
#
# GATE_SAMPLES=all (the default) tries every sample; `one` the first of each
# gate, and all those of a gate that has changed since GATE_BASE (a commit);
# `none` looks at the project alone.  GATE_ANALYZE=changed shows the analyzer,
# which takes longest, only the sources that have changed since GATE_BASE, none
# leaves it out; the other gates see everything.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${TWINBOX_SOURCE:-$(cd "$here/../.." && pwd)}
build=${TWINBOX_BUILD:-$root/build}
aux=$root/build-aux
: "${AWK:=awk}" "${CC:=cc}"
export AWK CC
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' INT TERM

cd "$root" || exit 99
# Files that differ from GATE_BASE, those that git does not know among them.
changed=
if [ -n "${GATE_BASE:-}" ]; then
	changed=$({
		git diff --diff-filter=d --name-only "$GATE_BASE" -- &&
		    git ls-files --others --exclude-standard
	}) || exit 99
fi

number=0
result() { # result STATUS TEXT: with the output of the gate in $tmp/out
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		sed 's/^/# /' "$tmp/out"
		echo "not ok $number - $2"
	fi
}

embed() { # embed BACKEND OPTION...: as schema/module.am does
	backend=$1
	shift
	{
		find "schema/$backend" -name '*.sql' | LC_ALL=C sort
		find schema/common -name '*.sql' | LC_ALL=C sort
	} |
	    $AWK -f "$aux/embed-sql.awk" -v backend="$backend" \
		-v events="$root/server/model/event.h" "$@"
}

embed_sql() ( # embed_sql ROOT
	cd "$1" && embed sqlite -v out=c && embed sqlite -v out=h >sql.h &&
	    embed postgres -v out=c -v enum=sql.h
)

gate() { # gate NAME ROOT
	case $1 in
	embed-sql)
		embed_sql "$2"
		;;
	api-docs)
		node "$aux/lint/check-api-docs.mjs" "$2"
		;;
	analyze)
		if [ "${GATE_ANALYZE:-all}" = changed ] && [ "$2" = "$root" ]; then
			export ANALYZE_FILES="$changed"
		else
			unset ANALYZE_FILES
		fi
		GATE_CPPFLAGS="${GATE_CPPFLAGS+$defines}" \
		    sh "$aux/check-analyze.sh" "$2"
		;;
	*)
		sh "$aux/check-$1.sh" "$2"
		;;
	esac >"$tmp/out" 2>&1
}

usable() {
	# An unpacked archive has no commits, and must not need git.
	case $1 in
	commits | patches) [ -e "$root/.git" ] || return 1 ;;
	esac
	[ "${TWINBOX_STRICT:-0}" != 1 ] || return 0
	case $1 in
	format) command -v "${CLANG_FORMAT:-clang-format-14}" >/dev/null ;;
	systemd) command -v systemd-analyze >/dev/null ;;
	analyze) command -v "${ANALYZE_CC:-gcc}" >/dev/null ;;
	api-docs) [ -d "$aux/lint/node_modules" ] ;;
	esac
}

# make prints notes about itself here, before it is asked for flags.
MAKEFLAGS='' make -s --no-print-directory -C "$build" Makefile >/dev/null 2>&1

# Macros and search paths of the build, for the gate that compiles.
defines=$(MAKEFLAGS='' make -s --no-print-directory -C "$build" print-cflags \
    2>/dev/null | grep -oE '(^| )-[DI]([^ \\]|\\.)+' | tr '\n' ' ')
defines="$defines -I$build"

# --- the project itself, then the samples -----------------------------------
for name in layers format banned headers comments words commits limits spdx \
    sql-list requirements systemd tags not-yet patches api-docs analyze; do
	if ! usable "$name"; then
		number=$((number + 1))
		echo "ok $number - $name # SKIP its tool is missing"
		continue
	fi
	case $name-${GATE_ANALYZE:-all} in
	analyze-none) continue ;;
	analyze-changed)
		if ! printf '%s\n' "$changed" |
		    grep -qE '^(server|client)/.*\.c$'; then
			echo '# analyze: no source has changed'
			continue
		fi
		;;
	esac
	gate "$name" "$root"
	status=$?
	tail -n 1 "$tmp/out" | sed 's/^/# /'
	result "$status" "$name: the project"
done

for name in layers format banned headers comments words commits limits spdx \
    sql-list requirements systemd tags not-yet patches embed-sql api-docs analyze; do
	usable "$name" || continue
	wanted=${GATE_SAMPLES:-all}
	[ "$wanted" != none ] || break
	! printf '%s\n' "$changed" | grep -qE \
	    "^(build-aux/(check-$name\.|embed-sql|strip-c|lint/)|tests/selfcheck/($name|good)/)" ||
	    wanted=all
	rm -rf "$tmp/tree"
	cp -R "$here/good" "$tmp/tree"
	chmod -R u+w "$tmp/tree" # distcheck has a tree that cannot be written
	(
		unset GATE_CPPFLAGS
		gate "$name" "$tmp/tree"
	)
	result $? "$name: lets the good sample pass"
	if [ "$name" != embed-sql ]; then
		rm -rf "$tmp/tree"
		mkdir "$tmp/tree"
		gate "$name" "$tmp/tree"
		[ $? -eq 1 ]
		result $? "$name: to see nothing is to fail"
	fi
	samples=0
	for sample in "$here/$name"/*/; do
		[ -f "$sample/expect" ] || continue
		[ "$wanted" = all ] || [ "$samples" -eq 0 ] || continue
		samples=$((samples + 1))
		rm -rf "$tmp/tree"
		cp -R "$here/good" "$tmp/tree"
		chmod -R u+w "$tmp/tree"
		cp -R "$sample/." "$tmp/tree"
		chmod -R u+w "$tmp/tree"
		(
			unset GATE_CPPFLAGS
			gate "$name" "$tmp/tree"
		)
		[ $? -eq 1 ] && grep -qF -- "$(cat "$sample/expect")" "$tmp/out"
		result $? "$name: catches $(basename "$sample")"
	done
	[ "$samples" -gt 0 ]
	result $? "$name: has samples"
done

[ "${GATE_SAMPLES:-all}" != none ] || {
	echo "1..$number"
	exit
}

# --- warnings: what the build compiles with refuses each of warnings/NAME.c ---
# A build without --enable-werror only warns, which will do where nothing is
# strict.
flags=$(MAKEFLAGS='' make -s --no-print-directory -C "$build" print-cflags \
    2>"$tmp/out")
result $? 'warnings: the flags of the build'
for sample in "$here"/warnings/*.c; do
	name=$(basename "$sample" .c)
	(cd "$build" && eval "$CC $flags -I$root/server -c -o $tmp/w.o $sample") \
	    >"$tmp/out" 2>&1
	status=$?
	if [ "${TWINBOX_STRICT:-0}" = 1 ]; then
		[ "$status" -ne 0 ] &&
		    grep -qE -- "\[-Werror=$name(=[0-9]*)?\]" "$tmp/out"
	else
		grep -qE -- "\[-W(error=)?$name(=[0-9]*)?\]" "$tmp/out"
	fi
	result $? "warnings: catches $name"
done
# The flags, and not the compiler, refuse: a clean file compiles.
printf 'int clean(void);\nint clean(void) { return (0); }\n' >"$tmp/clean.c"
(cd "$build" && eval "$CC $flags -c -o $tmp/w.o $tmp/clean.c") >"$tmp/out" 2>&1
result $? 'warnings: lets a clean file pass'

# --- refused: what must not compile, each beside what does -----------------
for sample in "$here"/refused/*.c; do
	name=$(basename "$sample" .c)
	# The sample without the lines that are wrong compiles.
	sed '/REFUSED/d' "$sample" >"$tmp/fine.c"
	sed '/FINE/d' "$sample" >"$tmp/wrong.c"
	(cd "$build" && eval "$CC $flags -I$root/server -c -o $tmp/w.o $tmp/fine.c" &&
	    ! eval "$CC $flags -I$root/server -c -o $tmp/w.o $tmp/wrong.c") \
	    >"$tmp/out" 2>&1
	result $? "refused: $name"
done

# --- hardening: programs made without each flag -----------------------------
cat >"$tmp/h.c" <<'END'
#include <stdio.h>
#include <string.h>
int
main(int argc, char **argv)
{
	char room[64];

	strncat(memset(room, 0, sizeof(room)), argv[0], (size_t)argc);
	return (printf("%s\n", room) < 0);
}
END
all='-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack'
hardened() { # hardened TEXT EXPECT FLAGS...
	text=$1
	expect=$2
	shift 2
	# shellcheck disable=SC2086
	$CC $all "$@" -o "$tmp/h" "$tmp/h.c" >"$tmp/out" 2>&1 &&
	    sh "$aux/check-hardening.sh" "$tmp/h" >"$tmp/out" 2>&1
	status=$?
	if [ -z "$expect" ]; then
		result "$status" "hardening: $text"
	else
		[ "$status" -eq 1 ] && grep -qF -- "$expect" "$tmp/out"
		result $? "hardening: $text"
	fi
}
hardened 'lets a hardened program pass' ''
hardened 'catches no PIE' 'not position independent' -fno-pie -no-pie
hardened 'catches no RELRO' 'no RELRO' -Wl,-z,norelro
hardened 'catches lazy binding' 'not bound at start' -Wl,-z,lazy
hardened 'catches an executable stack' 'executable stack' -Wl,-z,execstack
hardened 'catches no stack protector' 'no stack protector' -fno-stack-protector
hardened 'catches no _FORTIFY_SOURCE' 'no _FORTIFY_SOURCE' -U_FORTIFY_SOURCE
sh "$aux/check-hardening.sh" >"$tmp/out"
[ $? -eq 1 ]
result $? 'hardening: to see nothing is to fail'
if [ -n "${SAN_CFLAGS:-}" ]; then
	number=$((number + 1))
	echo "ok $number - hardening # SKIP a build with sanitizers"
else
	sh "$aux/check-hardening.sh" "$build/twinboxd" "$build/twinbox" \
	    >"$tmp/out" 2>&1
	result $? 'hardening: the programs'
fi
echo "1..$number"
