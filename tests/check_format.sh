#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails on C++ that clang-format 14 would write differently, which tests/check_format.sh --fix mends, and on comments
# without a subject.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format-14 || true)
if [[ -z $formatter ]]; then
  echo "SKIPPED: clang-format-14 is not installed (scripts/setup.sh --tests installs it)"
  exit 77
fi
mode=(--dry-run --Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
mapfile -t files < <(find . \( -path ./build -o -name '.?*' \) -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -printf '%P\n' | sort)
"$formatter" "${mode[@]}" "${files[@]}"

# A comment is a sentence, or names what follows: "True if …", "The names of …".
awk '
  FNR == 1 { in_comment = 0 }
  /^[ \t]*\/\// {
    if (!in_comment && match($0, /\/\/[\/!]?<? ?(Of|That|Which|Those|As|By|What|Whether) /)) {
      print FILENAME ":" FNR ": a comment without a subject: " $0
      failed = 1
    }
    in_comment = 1
    next
  }
  { in_comment = 0 }
  END { exit failed }' "${files[@]}"
