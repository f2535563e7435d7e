#!/bin/sh
# SPDX-License-Identifier: MIT
# not-yet.sh [ROOT]: prints ROOT/README.md with the section "What it does not do
# yet" made anew from docs/openapi.yaml.
set -eu
aux=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$aux/..}"
${AWK:-awk} -f "$aux/not-yet.awk" docs/openapi.yaml README.md
