# SPDX-License-Identifier: MIT
# The installed service. dpkg installs the packages, with their scripts, into a
# separate root.  There the unit's ExecStart runs as the unit's user, as systemd
# would start it, and the installed client uses it.  Then come an upgrade, a
# removal and a purge.  Nothing outside of that root is changed.  The test must
# run as root.  Sourced by the stage.
root=$tmp/service
unit=$root/lib/systemd/system/twinboxd.service
conf=/etc/twinbox/twinboxd.conf
data=$root/var/lib/twinbox
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc" \
    "$root/run" "$root/tmp"
chmod 1777 "$root/run" "$root/tmp"
chmod 755 "$tmp" "$root"
: >"$root/var/lib/dpkg/status"
server=
job=
trap 'kill -KILL $server $listener 2>/dev/null; rm -rf "$tmp"' EXIT

# The libraries are those of the system, because the packages' dependencies are
# not installed in that root.
dpkg_in_root() {
	dpkg --root="$root" --force-script-chrootless --force-depends \
	    --force-not-root "$@" >"$tmp/dpkg" 2>&1
}
explain() { # explain STATUS FILE: shows the file after a failure
	[ "$1" -eq 0 ] || tail -n 30 "$2" | sed 's/^/# /'
	return "$1"
}
value() { sed -n "s/^$1=//p" "$unit"; }
# within COMMAND...: runs COMMAND in the root, with the system's libraries,
# /proc and /dev, in a mount namespace that ends with the command.
within() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private -- sh -c '
	for place in usr/lib lib lib64 proc dev; do
		[ -e "/$place" ] || continue
		mkdir -p "$0/$place" && mount --rbind "/$place" "$0/$place" ||
		    exit 99
	done
	exec "$@"' "$root" "$@"
}
as_root() { within chroot "$root" "$@"; }

dpkg_in_root -i "$debs"/twinbox-server_*.deb "$debs"/twinbox-client_*.deb
explain $? "$tmp/dpkg"
check $? 'service: dpkg installs the packages'
uid=$(sed -n "s/^$(value User):[^:]*:\([0-9]*\):.*/\1/p" "$root/etc/passwd")
gid=$(sed -n "s/^$(value Group):[^:]*:\([0-9]*\):.*/\1/p" "$root/etc/group")
[ -n "$uid" ] && [ -n "$gid" ] && [ "$uid" -ne 0 ]
check $? "service: there is the user $(value User)"
[ -n "$uid" ] || finish
[ "$(stat -c '%a %u %g' "$data")" = "700 $uid $gid" ]
check $? 'service: its directory is its own'
[ -L "$root/etc/systemd/system/multi-user.target.wants/twinboxd.service" ]
check $? 'service: it is enabled'

# Any free port.  This is a change by the operator, which an upgrade must keep.
echo 'listen = 127.0.0.1:0' >>"$root$conf"

# add NAME [FLAG]: adds a user as root, as an operator does.
add() {
	echo 'a good password' | as_root /usr/sbin/twinboxd user add "$@" \
	    --password-stdin --config "$conf" >"$tmp/out" 2>&1
	explain $? "$tmp/out"
}
add ann --admin
check $? 'service: user add before the first start'
[ -s "$data/twinbox.db" ] && [ -z "$(find "$data" ! -user "$uid")" ]
check $? 'service: what root has made there is the user'\''s'

# Records the notifications to the service manager, one in each line.
hear() {
	rm -f "$root/run/notify"
	perl -MIO::Socket::UNIX -e '
	umask 0;
	my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM(),
	    Local => "$ARGV[0]/run/notify") or die "$!";
	$| = 1;
	print "$_\n" while defined $s->recv($_, 4096);' "$root" \
	    >"$tmp/heard" &
	listener=$!
	for _ in $(seq 200); do
		[ ! -S "$root/run/notify" ] || return 0
		sleep 0.05
	done
	return 1
}
# start WRAPPER...: runs the unit's ExecStart as its user, without further
# rights.  Sets server (its process), job (an ancestor of that process) and url.
start() {
	hear
	# shellcheck disable=SC2046
	within env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin NOTIFY_SOCKET=/run/notify "$@" \
	    setpriv --no-new-privs chroot --userspec="$uid:$gid" --groups= \
	    "$root" $(value ExecStart) >"$tmp/stdout" 2>"$tmp/stderr" &
	job=$!
	url=
	for _ in $(seq 600); do
		if grep -q '^READY=1' "$tmp/heard"; then
			url=$(sed -n 's/^listening: //p' "$tmp/stdout")
			server=$(sed -n 's/.* server.ready .* pid=//p' "$tmp/stderr")
			return 0
		fi
		kill -0 "$job" 2>/dev/null || break
		sleep 0.1
	done
	cat "$tmp/stdout" "$tmp/stderr" | tail -n 30 | sed 's/^/# /'
	return 1
}
stop() {
	kill -TERM "$server"
	wait "$job"
	status=$?
	server=
	kill "$listener"
	wait "$listener" 2>/dev/null
	return "$status"
}
client() { # client PROFILE WORD...
	profile=$1
	shift
	env -i HOME="$tmp/home" PATH=/usr/bin:/bin LC_ALL=C.UTF-8 \
	    TWINBOX_SERVER="$url" TWINBOX_PROFILE="$profile" \
	    "$root/usr/bin/twinbox" "$@"
}
mkdir -p "$tmp/home"

start strace -D -f -o "$tmp/trace" -e signal=none
check $? 'service: ExecStart, as its user, tells READY=1'
grep -qE "^Uid:[[:space:]]+${uid:-none}[[:space:]]+${uid}[[:space:]]" \
    "/proc/$server/status"
check $? "service: the process is of user $uid"
grep -qF "STATUS=listening at $url" "$tmp/heard" && [ -n "$url" ]
check $? 'service: it says where it listens'
curl -fsS "$url/readyz" >/dev/null
check $? 'service: it answers'
add ben
check $? 'service: user add while it runs'
for name in ann ben; do
	echo 'a good password' | client $name login $name --password-stdin >/dev/null
	check $? "service: $name logs in"
done
client ann send ben 'Are you there?' >"$tmp/out"
explain $? "$tmp/out"
check $? 'service: ann sends'
client ben inbox >"$tmp/out" && grep -q 'Are you there?' "$tmp/out"
explain $? "$tmp/out"
check $? 'service: ben has it in his inbox'
timeout 60 env -i HOME="$tmp/home" TWINBOX_SERVER="$url" TWINBOX_PROFILE=ben \
    "$root/usr/bin/twinbox" tail --once >"$tmp/out" 2>&1 &&
    grep -q 'Are you there?' "$tmp/out"
explain $? "$tmp/out"
check $? 'service: and by WebSocket'
client ann outbox >"$tmp/out" && grep -q '^delivered ' "$tmp/out"
explain $? "$tmp/out"
check $? 'service: ann sees that he has it'
curl -fsS "$url/metrics" | grep -q '^process_open_fds '
check $? 'service: it knows its own process'
[ -z "$(find "$data" ! -user "$uid")" ] && [ "$(stat -c %a "$data/control")" = 600 ]
check $? 'service: all in its directory is its own'

# A second server at the same address ends with an exit code after which systemd
# restarts it.  An error that a restart cannot cure ends with a code after which
# systemd does not.
retried() {
	case " $(value RestartPreventExitStatus) " in *" $1 "*) return 1 ;; esac
}
"$root/usr/sbin/twinboxd" serve --data "$tmp/second" --listen "${url#http://}" \
    >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 75 ] && retried "$status"
check $? "service: a taken address ends with $status, which is tried again"
"$root/usr/sbin/twinboxd" serve --listen nowhere >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 78 ] && ! retried "$status"
check $? "service: a bad setting ends with $status, which is not"
"$root/usr/sbin/twinboxd" serve --config "$tmp/nothing" >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 66 ] && ! retried "$status"
check $? "service: a missing file of settings ends with $status, which is not"
"$root/usr/sbin/twinboxd" serve --lisen nowhere >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 64 ] && ! retried "$status"
check $? "service: a bad flag ends with $status, which is not"
mkdir -m 0700 "$tmp/shut"
chown 1:1 "$tmp/shut"
setpriv --reuid=2 --regid=2 --clear-groups "$root/usr/sbin/twinboxd" serve \
    --listen 127.0.0.1:0 --data "$tmp/shut" >"$tmp/out" 2>&1
status=$?
[ "$status" -eq 77 ] && ! retried "$status"
check $? "service: a missing right ends with $status, which is not"

stop
check $? 'service: SIGTERM ends it with 0'
grep -q '^STOPPING=1' "$tmp/heard" &&
    grep -q '^EXTEND_TIMEOUT_USEC=15000000$' "$tmp/heard"
check $? 'service: it tells that it stops, and how long that may take'

# The unit must allow every system call of the server's whole run, and the
# server must not have tried any call that the unit denies.
expand() { # the calls of a list of names and @groups
	for word in "$@"; do
		case $word in
		@*) expand $(systemd-analyze --no-pager syscall-filter "$word" |
			sed 's/#.*//' | tail -n +2) ;;
		*) echo "$word" ;;
		esac
	done
}
# shellcheck disable=SC2046
expand $(value SystemCallFilter | grep -v '^~') | sort -u >"$tmp/allow"
# shellcheck disable=SC2046
expand $(value SystemCallFilter | sed -n 's/^~//p') | sort -u >"$tmp/deny"
comm -23 "$tmp/allow" "$tmp/deny" >"$tmp/allowed"
# Only the calls after the start of the program itself: chroot and setpriv run
# before it.
awk '!on { on = /execve\("\/usr\/sbin\/twinboxd"/; next } on' "$tmp/trace" >"$tmp/life"
sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$tmp/life" | sort -u >"$tmp/used"
comm -23 "$tmp/used" "$tmp/allowed" | sed 's/^/# not allowed: /' | tee "$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/used")" -gt 40 ] &&
    [ "$(wc -l <"$tmp/allowed")" -gt 200 ]
check $? "service: its $(wc -l <"$tmp/used") system calls are among the unit's $(wc -l <"$tmp/allowed")"
printf 'bpf\nchown\nmount\nptrace\n' | comm -12 - "$tmp/allowed" >"$tmp/out"
grep -qE '^(fsync|fdatasync)$' "$tmp/used" && [ ! -s "$tmp/out" ]
check $? 'service: the list is one that forbids'
grep -E '(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC' "$tmp/life" | head -n 3 |
    sed 's/^/# /' >"$tmp/out"
[ ! -s "$tmp/out" ] && grep -q 'PROT_WRITE' "$tmp/life"
check $? 'service: no memory is both written and executed'
families=$(sed -nE 's/.* socket\((AF_[A-Z0-9]+),.*/\1/p' "$tmp/life" | sort -u)
bad=
for family in $families; do
	case " $(value RestrictAddressFamilies) " in
	*" $family "*) ;;
	*) bad="$bad $family" ;;
	esac
done
[ -n "$families" ] && [ -z "$bad" ]
check $? "service: its sockets are $(echo $families)"

# The same packages are installed again, as an upgrade does.
dpkg_in_root -i "$debs"/twinbox-server_*.deb "$debs"/twinbox-client_*.deb
explain $? "$tmp/dpkg"
check $? 'upgrade: dpkg installs over it'
grep -q '^listen = 127.0.0.1:0$' "$root$conf"
check $? 'upgrade: the settings are the operator'\''s'
start env
check $? 'upgrade: it starts'
client ben history ann >"$tmp/out" 2>&1 && grep -q 'Are you there?' "$tmp/out"
explain $? "$tmp/out"
check $? 'upgrade: messages, users and log-ins are kept'
client ben send ann 'Still here' >"$tmp/out" &&
    client ann inbox | grep -q 'Still here'
check $? 'upgrade: and it goes on'

# A backup of the operator, which only root may read.
mkdir -p -m 700 "$root/root"
tool() { # tool WORD...: twinboxd, by root
	as_root /usr/sbin/twinboxd "$@" --config "$conf" >"$tmp/out" 2>&1
	explain $? "$tmp/out"
}
tool backup /root/chat.db && [ "$(stat -c %a "$root/root/chat.db")" = 600 ]
check $? 'upgrade: root makes a back-up while it runs'
client ann send ben 'After the back-up' >/dev/null
stop
check $? 'upgrade: it ends with 0'
tool fsck && tool restore /root/chat.db --replace && tool fsck
check $? 'restore: by root, of a file that only root can read'
[ -z "$(find "$data" ! -user "$uid")" ] && [ -s "$data/twinbox.db.replaced" ]
check $? 'restore: all in the directory is still the user'\''s'
start env
check $? 'restore: it starts'
# Ben's client comes first, because ann's client would send the messages again
# that the restored database lacks.
client ben history ann >"$tmp/out" 2>&1 && grep -q 'Still here' "$tmp/out" &&
    ! grep -q 'After the back-up' "$tmp/out"
explain $? "$tmp/out"
check $? 'restore: what the back-up had is there'
stop
check $? 'restore: it ends with 0'

dpkg_in_root -r twinbox-server twinbox-client
explain $? "$tmp/dpkg"
[ ! -e "$root/usr/sbin/twinboxd" ] && [ -e "$root$conf" ] &&
    [ -s "$data/twinbox.db" ]
check $? 'remove: the programs go, settings and messages stay'
dpkg_in_root -P twinbox-server
[ ! -e "$root$conf" ] && [ -s "$data/twinbox.db" ] &&
    grep -q "is kept, with all messages" "$tmp/dpkg"
explain $? "$tmp/dpkg"
check $? 'purge: settings go, messages stay, and it says so'
find "$root" -name '*twinbox*' ! -path "$data*" ! -path "$root/var/log/*" \
    ! -path "$root/var/lib/dpkg/*" -print >"$tmp/out"
sed 's/^/# left: /' "$tmp/out"
[ ! -s "$tmp/out" ]
check $? 'purge: nothing else is left'
