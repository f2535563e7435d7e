#!/bin/sh
# SPDX-License-Identifier: MIT
# The licence gate: check-spdx.sh [ROOT].  Every text file that can hold a
# comment has SPDX-License-Identifier: MIT in its first three lines.
set -u
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}" || exit 2
files=$(find . \( -path ./tests/selfcheck -o -path ./.git -o -path ./build \
    -o -path ./build-test -o -path ./web/dist -o -path ./web/work \
    -o -name node_modules -o -name 'autom4te.cache' \
    -o -path './demo-data*' -o -path './twinbox-*' \) -prune -o -type f \
    \( -path './server/*.[ch]' -o -path './client/*.[ch]' \
    -o -path './bench/*.[ch]' -o -path './tests/*.[ch]' \
    -o -name '*.am' -o -name '*.ac' \
    -o -path './m4/*.m4' -o -name '*.sql' -o -name '*.awk' \
    -o -name 'check-*.sh' -o -name '*.mjs' -o -name '*.js' -o -name '*.ts' \
    -o -name '*.tsx' -o -name '*.css' -o -path './tests/stages/*' \
    -o -path './scripts/*' -o -path './.ci/*' \) -print | LC_ALL=C sort)
seen=0
bad=0
for file in $files; do
	seen=$((seen + 1))
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || {
		echo "$file: no SPDX-License-Identifier: MIT"
		bad=$((bad + 1))
	}
done
echo "check-spdx: $seen files, $bad with errors"
[ "$seen" -gt 0 ] && [ "$bad" -eq 0 ]
