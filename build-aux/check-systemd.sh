#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate for the files of systemd: check-systemd.sh [ROOT].  Units in
# contrib/systemd must be valid to the last line (systemd-analyze verify) and
# have an exposure of at most 1.5 (systemd-analyze security).  A unit must not
# be restarted after an exit code that a restart cannot cure: 74 (the disk
# failed) and 64, 66, 77, 78 (a wrong flag, file, right or setting).  It must
# have memory limits, so that a shortage hits the service and not the machine.
# sysusers and tmpfiles must make the user and the directory that it names, in
# an empty root.  systemd need not run for any of these checks.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
for tool in systemd-analyze systemd-sysusers systemd-tmpfiles; do
	command -v "$tool" >/dev/null || {
		echo "check-systemd: $tool is missing"
		exit 2
	}
done
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
most=15 # tenths
seen=0
bad=0
refuse() { # refuse FILE TEXT [FILE-WITH-MORE]
	echo "$1: $2"
	[ $# -lt 3 ] || sed 's/^/    /' "$3"
	bad=$((bad + 1))
}

bytes() { # "1G" as a number; nothing if it is none
	sed -nE 's/^([0-9]{1,6})([KMGT])$/\1 \2/p' | ${AWK:-awk} '{
		printf "%.0f\n", $1 * 1024 ^ index("KMGT", $2) }'
}

mkdir -p "$tmp/root/etc"
users=$(find contrib/systemd -path '*/sysusers.d/*.conf' 2>/dev/null)
places=$(find contrib/systemd -path '*/tmpfiles.d/*.conf' 2>/dev/null)
for file in $users; do
	seen=$((seen + 1))
	systemd-sysusers --root="$tmp/root" "$PWD/$file" >"$tmp/out" 2>&1 ||
	    refuse "$file" 'systemd-sysusers refuses it' "$tmp/out"
done
for file in $places; do
	seen=$((seen + 1))
	# Only root can change the owner of the directory.
	systemd-tmpfiles --root="$tmp/root" --create "$PWD/$file" \
	    >"$tmp/out" 2>&1 || [ "$(id -u)" -ne 0 ] ||
	    refuse "$file" 'systemd-tmpfiles refuses it' "$tmp/out"
done

for file in $(find contrib/systemd -name '*.service.in' 2>/dev/null |
    LC_ALL=C sort); do
	seen=$((seen + 1))
	unit=$tmp/$(basename "$file" .in)
	sed 's,@sbindir@/[a-z]*,/bin/true,; s,@sysconfdir@,/etc,' "$file" >"$unit"
	value() { sed -n "s/^$1=//p" "$unit" | tail -n 1; }
	systemd-analyze verify --man=no --recursive-errors=no "$unit" \
	    >"$tmp/out" 2>&1
	status=$?
	grep -F "$(basename "$unit")" "$tmp/out" >"$tmp/ours"
	[ "$status" -eq 0 ] && [ ! -s "$tmp/ours" ] ||
	    refuse "$file" 'systemd-analyze verify refuses it' "$tmp/out"
	systemd-analyze security --no-pager --offline=yes --threshold=$most \
	    "$unit" >"$tmp/out" 2>&1
	status=$?
	level=$(sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p' "$tmp/out")
	echo "$file: exposure ${level:-unknown}"
	grep -av '✓' "$tmp/out" >"$tmp/more"
	[ -n "$level" ] && [ "$status" -eq 0 ] ||
	    refuse "$file" "exposure ${level:-unknown} is above 1.5" "$tmp/more"
	for code in 64 66 74 77 78; do
		case " $(value RestartPreventExitStatus) " in
		*" $code "*) ;;
		*) refuse "$file" "is started again after exit code $code" ;;
		esac
	done
	high=$(value MemoryHigh | bytes)
	max=$(value MemoryMax | bytes)
	[ "${high:-0}" -gt 0 ] && [ "${high:-0}" -lt "${max:-0}" ] ||
	    refuse "$file" 'MemoryHigh and MemoryMax are not set, in this order'
	user=$(value User)
	grep -q "^$user:" "$tmp/root/etc/passwd" 2>/dev/null ||
	    refuse "$file" "no sysusers file makes the user \"$user\""
	state=/var/lib/$(value StateDirectory)
	# Root makes the directory in an empty root; other users read its mode
	# from the file.
	if [ "$(id -u)" -eq 0 ]; then
		mode=$(stat -c '0%a' "$tmp/root$state" 2>/dev/null)
	else
		# shellcheck disable=SC2086
		mode=$(cat $places /dev/null | ${AWK:-awk} -v path="$state" \
		    '$1 ~ /^d/ && $2 == path { print $3 }')
	fi
	[ "$mode" = 0700 ] ||
	    refuse "$file" "no tmpfiles file makes $state with mode 0700"
done
echo "check-systemd: $seen files, $bad errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
