#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where the shared library that has everything exports other names of transmute than tests/exported_symbols.txt lists, without their
# parameters. After a deliberate change: tests/check_exported_symbols.sh LIBRARY --fix
# usage: check_exported_symbols.sh LIBRARY [--fix]
set -euo pipefail
library=$(realpath "$1")
cd "$(dirname "$0")/.."
list=tests/exported_symbols.txt

exported=$(nm --dynamic --defined-only --format=posix "$library" | cut -d ' ' -f 1 | c++filt --no-params |
  sed 's/transmute::v0::/transmute::/g' |
  grep -v '{lambda' | grep -E '^(transmute|(vtable|typeinfo|typeinfo name|non-virtual thunk|virtual thunk) (for|to) transmute)' |
  LC_ALL=C sort -u)
if [[ ${2:-} == --fix ]]; then
  echo "$exported" >"$list"
elif ! diff -u "$list" - <<<"$exported"; then
  echo "$library exports other symbols than $list lists (+: new, -: missing)"
  exit 1
fi
