#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails on what clang-tidy 14 reports by .clang-tidy. usage: check_tidy.sh [FILE…]
# Without arguments, it reads folders that need no LibTorch, each as one source file, which takes a tenth of the time;
# clang's analyzer looks into no included file, so that it sees those only that are named.
set -euo pipefail
cd "$(dirname "$0")/.."

tidy=$(command -v clang-tidy-14 || true)
if [[ -z $tidy ]]; then
  echo "SKIPPED: clang-tidy-14 is not installed"
  exit 77
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
ln -s "$PWD" "$root/transmute"
echo '#define TRANSMUTE_REVISION ""' >"$root/transmute_revision.h"  # the build writes this one
files=("$@")
more=()
if [[ $# -eq 0 ]]; then
  more=(--checks='-clang-analyzer-*,-bugprone-suspicious-include')
  for folder in common documents metrics network search text tokenizer; do
    find "$folder" -name '*.cpp' -printf '#include <transmute/%p>\n' | sort >"$root/$folder.cpp"
    files+=("$root/$folder.cpp")
  done
fi
check() {
  "$tidy" --quiet --config-file=.clang-tidy "$@" -- -std=c++17 -I "$root" -DSPDLOG_FMT_EXTERNAL \
    '-DTRANSMUTE_VERSION="0"' 2>&1 |
    grep -v ' warnings\? generated\.$' && return 1
  return 0
}
export -f check
export tidy root
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 bash -c 'check "$@"' check "${more[@]}"
