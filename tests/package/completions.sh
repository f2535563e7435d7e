# SPDX-License-Identifier: MIT
# Completions: what bash offers is compared flag by flag with --help; zsh and
# fish must be able to read theirs, where they are installed.  Sourced by the
# stage.
made=$TWINBOX_BUILD/contrib/completions

# offers WORD...: prints what bash offers after these words, one in each line.
# The last word is being typed.
offers() {
	# shellcheck disable=SC2016
	bash --norc -u -c '
	program=$1
	. "$0" || exit 1
	COMP_WORDS=("${@:1}")
	COMP_CWORD=$(($# - 1))
	"_$program" || exit 1
	[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' \
	    "$made/bash/$1" "$@" 2>"$tmp/complaints" | LC_ALL=C sort -u
	[ ! -s "$tmp/complaints" ] || sed 's/^/complaint: /' "$tmp/complaints"
}
# offer 'WANTED...' WORD...: compares what bash offers after WORD... with
# WANTED.
offer() {
	wanted=$(printf '%s\n' $1 | LC_ALL=C sort -u)
	shift
	got=$(offers "$@")
	[ "$got" = "$wanted" ] || printf '# wanted: %s\n# got: %s\n' \
	    "$(echo $wanted)" "$(echo $got)"
	[ "$got" = "$wanted" ]
	check $? "bash: ${*}|"
}
# The long and short flags in a help text.
dashed() {
	sed -nE 's/^ +(-[A-Za-z])?,? *--([a-z][a-z0-9-]*).*/--\2 \1/p' |
	    tr ' ' '\n' | grep . | LC_ALL=C sort -u
}

offer 'serve check-config sample-config migrate fsck backup restore copy check-federation user keys' twinboxd ''
offer user twinboxd us
offer user twinboxd --data /srv/chat us
offer user twinboxd --data = /srv/chat us
offer user twinboxd --demo us
offer 'list add passwd disable enable promote demote' twinboxd user ''
offer '--json' twinboxd user list --j
offer '' twinboxd user add ''
offer 'list rotate retire' twinboxd keys ''
offer '--now' twinboxd keys retire k1 --no
offer 'debug info warn error' twinboxd --log-level ''
offer 'debug info warn error' twinboxd serve --log-level =
offer warn twinboxd --log-level = w
offer '' twinboxd serve --adm
offer '--admin' twinboxd user add --adm
offer '--display-name' twinboxd user add --displ
offer '' twinboxd user add ann --display-name ''
offer '--password-stdin' twinboxd user passwd ann --pass
offer '--from' twinboxd copy --fr
offer '' twinboxd --listen ''
offer 'low normal high' twinbox send --priority ''
offer 'delivered read' twinbox send --wait ''
offer '' twinbox inbox --wait ''
offer 'send' twinbox -p work sen
offer 'send' twinbox --json sen
offer 'cancel retry' twinbox outbox ''
offer '' twinbox outbox cancel ''
offer 'revoke' twinbox devices ''
offer 'admin' twinbox adm
offer 'requeue resume retry rewind' twinbox admin re
offer 'stats show' twinbox admin --json s
offer '--export' twinbox admin dlq --exp
offer 'local idle ready leased' twinbox admin lanes --state ''
offer '' twinbox admin pause ''
offer 'disable enable promote demote password' twinbox admin users ''
offer 'demote' twinbox admin users --limit 5 dem
offer '' twinbox admin users disable ''
offer 'show pin unpin forget block unblock' twinbox admin peers ''
offer '' twinbox admin rewind ''
offer '--since' twinbox admin rewind --si
offer '--version' twinbox --ver
offer '' twinbox send --ver

mkdir -p "$tmp/files" && : >"$tmp/files/chat.conf"
[ "$(cd "$tmp/files" && offers twinboxd --config ch)" = chat.conf ]
check $? 'bash: files for --config'
bash --norc -c '. "$0" && complete -p twinbox' "$made/bash/twinbox" >/dev/null
check $? 'bash: twinbox is registered'

# Names and profiles come from files on this computer; the completion makes no
# request to a server.
people=$tmp/people
mkdir -p "$people/.config/twinbox" && chmod 700 "$people/.config/twinbox"
for user in default:ann work:amy; do
	printf '{"server":"http://127.0.0.1:1","user":"%s","token":"tb_x"}\n' \
	    "${user#*:}" >"$people/.config/twinbox/${user%:*}.json"
	chmod 600 "$people/.config/twinbox/${user%:*}.json"
done
know() { # know PROFILE NAME: has written to NAME
	env -i HOME="$people" "$TWINBOX_BUILD/twinbox" -p "$1" send "$2" hi \
	    --try-for 0s >"$tmp/know" 2>&1
	grep -q 'it is kept as' "$tmp/know"
}
know default bob && know default carol && know work ben
check $? 'completions: three people are known'
saved_path=$PATH
saved_home=$HOME
PATH=$(cd "$TWINBOX_BUILD" && pwd):$PATH
HOME=$people
offer 'bob carol' twinbox chat ''
offer 'carol' twinbox --json read ca
offer 'bob carol' twinbox history ''
offer 'bob' twinbox send b
offer '' twinbox send bob ''
offer 'ben' twinbox -p work chat ''
offer 'ben' twinbox chat --profile = work ''
offer '' twinbox login ''
offer 'default work' twinbox -p ''
offer 'work' twinbox chat bob --profile w
if command -v fish >/dev/null; then
	for asked in 'chat :bob carol' 'send c:carol' '-p :default work' 'send bob :' \
	    '-p work chat :ben' 'chat --profile=work :ben' '--server x -p default send b:bob' \
	    'admin users :demote disable enable password promote' 'admin users --limit 5 dem:demote' \
	    'admin peers un:unblock unpin' 'admin users disable :' 'admin --json st:stats' \
	    'outbox :cancel retry'; do
		got=$(fish -N -c "source $made/fish/twinbox.fish
		    complete -C 'twinbox ${asked%%:*}'" 2>&1 | cut -f 1 | sort)
		[ "$(echo $got)" = "${asked#*:}" ]
		check $? "fish: twinbox ${asked%%:*}|"
	done
fi
if command -v zsh >/dev/null; then
	for asked in 'chat c:chat carol' 'read b:read bob' '-p w:-p work' 'sen:send' \
	    '-p work chat b:-p work chat ben' 'chat --profile=work b:chat --profile=work ben' \
	    'read -p work b:read -p work ben' 'chat --json b:chat --json bob' \
	    'admin users dem:admin users demote' \
	    'admin peers fo:admin peers forget' 'outbox ca:outbox cancel'; do
		zsh -f "$TWINBOX_SOURCE/tests/package/zsh-completes" "$made/zsh" \
		    "twinbox ${asked%%:*}" "twinbox ${asked#*:} "
		check $? "zsh: twinbox ${asked%%:*}|"
	done
fi
PATH=$saved_path
HOME=$saved_home

# Every flag of every command must be offered, and no other.
all=0
wrong=0
agree() { # agree HELP-COMMAND... -- WORDS...: the offer is what help shows
	n=1
	while [ "${!n}" != -- ]; do n=$((n + 1)); done
	"${@:1:n-1}" | dashed >"$tmp/help"
	offers "${@:n+1}" - >"$tmp/offered"
	all=$((all + $(wc -l <"$tmp/help")))
	cmp -s "$tmp/help" "$tmp/offered" || {
		diff "$tmp/help" "$tmp/offered" | sed "s/^/# ${*:n+1}: /"
		wrong=$((wrong + 1))
	}
}
while read -r command; do
	# shellcheck disable=SC2086
	agree "$TWINBOX_BUILD/twinbox" $command --help -- twinbox $command
done < <(client_commands)
agree "$TWINBOX_BUILD/twinbox" --help -- twinbox
server_help() { "$TWINBOX_BUILD/twinboxd" --help | grep -vE "$1"; }
agree server_help '^  --(json|display-name|admin|password-stdin|replace|from|to|now|with-peer|peer-domain)\b' -- twinboxd
agree server_help '^  --(json|version|replace|from|to|now|with-peer|peer-domain)\b' -- twinboxd user add
agree server_help '^  --(json|display-name|version|admin|replace|from|to|now|with-peer|peer-domain)\b' -- twinboxd user passwd
agree server_help '^  --(json|display-name|version|admin|password-stdin|replace|now|with-peer|peer-domain)\b' -- twinboxd copy
agree server_help '^  --(json|display-name|version|admin|password-stdin|replace|from|to|now)\b' -- twinboxd fsck
[ "$wrong" -eq 0 ] && [ "$all" -gt 150 ]
check $? "bash: the $all flags of all commands are those of --help"

for shell in zsh fish; do
	command -v $shell >/dev/null || {
		echo "# $shell is not installed: its files are not read"
		continue
	}
	for file in "$made/$shell"/*; do
		$shell -n "$file"
		check $? "$shell reads $(basename "$file")"
	done
done
for program in twinbox twinboxd; do
	"$TWINBOX_BUILD/$program" --help | sed -nE \
	    's/^ +(-[A-Za-z], *)?--([a-z][a-z0-9-]*).*/\2/p' |
	    sort -u >"$tmp/help"
	missing=0
	while read -r flag; do
		grep -qE -- "--${flag}[=[]" "$made/zsh/_$program" &&
		    grep -qE -- " -l $flag( |\$)" "$made/fish/$program.fish" ||
		    missing=$((missing + 1))
	done <"$tmp/help"
	[ "$missing" -eq 0 ] && [ -s "$tmp/help" ]
	check $? "zsh, fish: flags of $program --help"
done
