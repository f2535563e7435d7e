# SPDX-License-Identifier: MIT
# Manual pages: they are well formed, and complete compared with the output of
# the programs.  Sourced by the stage.
pages=$TWINBOX_BUILD/docs/man

# The flags at the beginning of lines, in --help or in a rendered page.
flags_of() {
	sed -nE 's/^ +(-[A-Za-z], *)?--([a-z][a-z0-9-]*).*/\2/p' | LC_ALL=C sort -u
}
rendered() { mandoc -Tascii -O width=1000 "$1" | col -bx; }
# names_in: the names of commands in a help text. client_commands: those of all
# commands of twinbox.  One in each line.
names_in() { sed -nE '/^commands:/,/^$/s/^  ([a-z]+) .*/\1/p'; }
client_commands() {
	"$TWINBOX_BUILD/twinbox" --help | names_in
	"$TWINBOX_BUILD/twinbox" admin --help | names_in | sed 's/^/admin /'
}
client_help() {
	"$TWINBOX_BUILD/twinbox" --help
	client_commands | while read -r command; do
		# shellcheck disable=SC2086
		"$TWINBOX_BUILD/twinbox" $command --help
	done
}
# same A B: returns success if two lists are the same and long enough to be
# real.
same() {
	diff "$1" "$2" | sed 's/^/# /'
	cmp -s "$1" "$2" && [ "$(wc -l <"$1")" -ge 10 ]
}

for page in twinbox.1 twinboxd.8 twinboxd.conf.5; do
	mandoc -Tlint -W warning "$pages/$page" >"$tmp/lint" 2>&1
	status=$?
	sed 's/^/# /' "$tmp/lint"
	[ "$status" -eq 0 ] && [ ! -s "$tmp/lint" ] &&
	    [ "$(wc -l <"$pages/$page")" -ge 50 ]
	check $? "manual: $page is well formed"
	! grep -n '@[a-z]*@' "$pages/$page"
	check $? "manual: nothing is left to fill in $page"
done
sed 's/^\.Sh NAME/.Hs NAME/' "$pages/twinbox.1" >"$tmp/bad.1"
mandoc -Tlint -W warning "$tmp/bad.1" >/dev/null 2>&1
[ $? -ne 0 ]
check $? 'manual: the lint sees a macro that is none'

"$TWINBOX_BUILD/twinboxd" --help | flags_of >"$tmp/help"
rendered "$pages/twinboxd.8" | flags_of >"$tmp/page"
same "$tmp/help" "$tmp/page"
check $? "manual: twinboxd.8 has the $(wc -l <"$tmp/help") flags of --help, no others"
grep -v '^\.It Fl \\-listen ' "$pages/twinboxd.8" >"$tmp/bad.8"
rendered "$tmp/bad.8" | flags_of >"$tmp/page"
! same "$tmp/help" "$tmp/page" >/dev/null
check $? 'manual: a flag that is missing would be seen'

client_help | flags_of >"$tmp/help"
rendered "$pages/twinbox.1" | flags_of >"$tmp/page"
same "$tmp/help" "$tmp/page"
check $? "manual: twinbox.1 has the $(wc -l <"$tmp/help") flags of every --help, no others"
client_commands | sort >"$tmp/help"
rendered "$pages/twinbox.1" | sed -n '/^COMMANDS/,/^OPTIONS/p' |
    sed -nE 's/^     (admin [a-z]+|[a-z]+)( .*)?$/\1/p' | sort >"$tmp/page"
same "$tmp/help" "$tmp/page"
check $? "manual: twinbox.1 has the $(wc -l <"$tmp/help") commands"

# Settings: name, default, variable.
"$TWINBOX_BUILD/twinboxd" sample-config |
    sed -nE 's/^#([a-z0-9-]+) =.*/\1/p' | sort >"$tmp/help"
rendered "$pages/twinboxd.conf.5" | sed -n '/^SETTINGS/,/^FILES/p' |
    sed -nE 's/^     ([a-z0-9-]+) = .*/\1/p' | sort >"$tmp/page"
same "$tmp/help" "$tmp/page"
check $? "manual: twinboxd.conf.5 has the $(wc -l <"$tmp/help") settings"
rendered "$pages/twinboxd.conf.5" | tr -s ' \n' ' ' >"$tmp/text"
missing=0
while read -r name value; do
	variable=TWINBOX_$(printf %s "$name" | tr a-z- A-Z_)
	# " = " begins the next setting.  (DOMAIN=URL has no spaces.)
	grep -qE " $name = ([^=]|[^ ]=)*${value:+ default is $value\\. [^=]*}variable is $variable\\." \
	    "$tmp/text" || {
		echo "# $name: not with default \"$value\" and $variable"
		missing=$((missing + 1))
	}
done < <("$TWINBOX_BUILD/twinboxd" sample-config |
    sed -nE 's/^#([a-z0-9-]+) = ?(.*)/\1 \2/p')
[ "$missing" -eq 0 ]
check $? 'manual: each with its default and its variable'

# The commands that docs/install.md and the examples show to people exist.
{ sed -n '/^```sh/,/^```/p' docs/install.md
    sed -nE 's/^\.Dl [#$] //p' docs/man/*.in | sed 's/\\-/-/g'; } |
    grep -oE '\btwinboxd? ([a-z].*|--.*)' | sed 's/ *#.*//; s/ && .*//' |
    sort -u >"$tmp/typed"
wrong=0
while read -r program words; do
	help=$("$TWINBOX_BUILD/$program" --help)
	first=${words%% *}
	case $first in
	--*) ;;
	*)
		[ "$program $first" != 'twinbox admin' ] || {
			words=${words#admin }
			help=$("$TWINBOX_BUILD/twinbox" admin --help)
			first=${words%% *}
		}
		printf '%s\n' "$help" | grep -qE "^  $first( |\$)" || {
			echo "# $program has no command $first"
			wrong=1
		}
		[ "$program" = twinboxd ] ||
			help=$("$TWINBOX_BUILD/$program" "$first" --help \
			    2>/dev/null ||
			    "$TWINBOX_BUILD/$program" admin "$first" --help)
		;;
	esac
	for flag in $(printf '%s\n' "$words" | grep -oE -- '--[a-z-]+'); do
		printf '%s\n' "$help" | grep -qE -- "^ .*$flag( |\$)" || {
			echo "# $program $first has no flag $flag"
			wrong=1
		}
	done
done <"$tmp/typed"
[ "$wrong" -eq 0 ] && [ "$(wc -l <"$tmp/typed")" -ge 10 ]
check $? "manual: the $(wc -l <"$tmp/typed") examples name what there is"

# A first word that must be typed as it is keeps its small letter, so no text
# may begin with such a word.
for program in twinbox twinboxd; do
	awk -f tests/package/literals.awk "$pages/$program.tables" >"$tmp/out"
	status=$?
	sed 's/^/# /' "$tmp/out"
	[ "$status" -eq 0 ] && [ ! -s "$tmp/out" ]
	check $? "manual: no text of $program begins with a word that is to be typed"
done
{ cat "$pages/twinbox.tables"
	printf 'option\tsend\tx\t\ta|b\tb is best\n'
	printf 'command\tthings\t[drop ID]\t0\tthings\tdrop takes one away.\n'
	printf 'option\tsend\ty\t\tFILE\ta file, together with\n'; } >"$tmp/literals"
[ "$(awk -f tests/package/literals.awk "$tmp/literals" | wc -l)" -eq 3 ]
check $? 'manual: and such a text would be seen'
