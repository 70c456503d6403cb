#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails on folders or files that include each other in a circle, and on LibTorch in the folders and headers that do
# without it. The build fails on an include of a folder that the including one does not link (see CMakeLists.txt).
set -euo pipefail
cd "$(dirname "$0")/.."

folders=(common tokenizer metrics network kernels text documents libtorch model formats search engine device translation
  export training preparation downloads serving examples programs tests benchmarks fuzz)
# What these include, directly or not, is not LibTorch's. All but the folders are headers for applications.
torch_free=(common tokenizer metrics network kernels/simd kernels/cpu text documents formats search engine translation
  preparation downloads serving examples/parsing training/config.h training/optimization/schedule.h)
status=0

# including-file included-file, all of the project's.
includes=$(grep -rnoE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' '#include <transmute/[^>]+>' \
  "${folders[@]}" | sed -E 's/:[0-9]+:#include <transmute\/(.*)>$/ \1/')

circles() { # circles <kind>, of the pairs on standard input
  if ! circle=$(tsort 2>&1 >/dev/null); then
    echo "$1 that include each other in a circle:"
    sed 's/^tsort: //' <<<"$circle"
    status=1
  fi
}
# A header and its source count as one.
circles files < <(sed -E 's/\.(h|cpp|cu) / /; s/\.h$//' <<<"$includes" | awk '$1 != $2')
# Tests, benchmarks and fuzzers may include what they like.
circles folders < <(grep -vE '^(tests|benchmarks|fuzz)/' <<<"$includes" | sed -E 's/\/[^/ ]+ / /; s/\/[^/]+$//' |
  awk '$1 != $2' | sort -u)

with_torch=$(grep -rlE '#include <(torch|ATen|c10)/' "${folders[@]}")
# Those and all that include one of them, at any distance.
reached=$(awk '
  NF == 1 { reached[$1] = 1; next }
  { from[NR] = $1; to[NR] = $2 }
  END {
    do {
      grown = 0
      for (i in to) if (to[i] in reached && !(from[i] in reached)) grown = reached[from[i]] = 1
    } while (grown)
    for (file in reached) print file
  }' <<<"$with_torch
$includes" | sort)
for path in "${torch_free[@]}"; do
  [[ -e $path ]] || { echo "tests/check_layering.sh names $path, which does not exist"; status=1; }
  if grep -E "^$path(/|$)" <<<"$reached"; then
    echo "the files above must do without LibTorch"
    status=1
  fi
done
if grep -rnE --include='*.h' --include='*.cpp' '#include "' "${folders[@]}"; then
  echo "the includes above must be spelled <transmute/…>"
  status=1
fi
exit $status
