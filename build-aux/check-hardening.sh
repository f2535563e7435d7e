#!/bin/sh
# SPDX-License-Identifier: MIT
# check-hardening.sh PROGRAM...: checks that the programs have what compiler and
# linker were asked for: position-independent code, RELRO, binding at start, no
# executable stack, stack protector, checked string functions.  Debian's
# hardening-check must agree; TWINBOX_STRICT=1 requires that it is installed.
set -u
seen=0
bad=0
lacks() {
	echo "$program: $1"
	bad=$((bad + 1))
}
for program in "$@"; do
	[ -f "$program" ] || continue
	seen=$((seen + 1))
	LC_ALL=C readelf -W -h -l -d --dyn-syms "$program" >/dev/null || exit 2
	elf=$(LC_ALL=C readelf -W -h -l -d --dyn-syms "$program")
	has() { printf '%s\n' "$elf" | grep -Eq "$1"; }
	has 'Type:[[:space:]]+DYN' || lacks 'not position independent'
	has 'GNU_RELRO' || lacks 'no RELRO'
	has 'BIND_NOW|FLAGS_1.* NOW' || lacks 'not bound at start'
	has 'GNU_STACK.* RW ' || lacks 'executable stack'
	has '__stack_chk_fail' || lacks 'no stack protector'
	has '__[a-z]+_chk(@| |$)' || lacks 'no _FORTIFY_SOURCE'
	if command -v hardening-check >/dev/null; then
		hardening-check --nocfprotection "$program" >/dev/null 2>&1 ||
		    lacks 'hardening-check does not pass it'
	elif [ "${TWINBOX_STRICT:-0}" = 1 ]; then
		lacks 'hardening-check (devscripts) is missing'
	fi
done
echo "check-hardening: $seen files, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
