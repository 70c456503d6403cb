#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzzers with clang and runs each for some minutes. What they find lies in build/fuzz/findings, and the
# inputs that reach new code in build/fuzz/corpus, from which the next run goes on.
set -euo pipefail

usage="usage: scripts/fuzz.sh MINUTES [FUZZER…]

MINUTES: of each fuzzer, fractions too; at least a second. FUZZER: a file's name in fuzz/ without .cpp; default: all."
[[ ${1:-} == --help ]] && { echo "$usage"; exit 0; }
[[ ${1:-} =~ ^[0-9]+(\.[0-9]+)?$ ]] || { echo "$usage" >&2; exit 2; }
seconds=$(awk -v minutes="$1" 'BEGIN { printf "%d", minutes * 60 }')
[[ $seconds -gt 0 ]] || { echo "$usage" >&2; exit 2; }  # 0 would be no limit
shift
root="$(cd "$(dirname "$0")/.." && pwd)"
cd "$root"
fuzzers=("$@")
if [[ ${#fuzzers[@]} -eq 0 ]]; then
  for file in fuzz/*.cpp; do fuzzers+=("$(basename "$file" .cpp)"); done
fi

[[ -f build/fuzz/CMakeCache.txt ]] || cmake --preset fuzz
cmake --build build/fuzz --target "${fuzzers[@]/#/fuzz_}"
fuzz/make_seeds.sh build/fuzz/seeds
failed=()
for fuzzer in "${fuzzers[@]}"; do
  mkdir -p "build/fuzz/corpus/$fuzzer" build/fuzz/findings "build/fuzz/seeds/$fuzzer"
  echo "fuzz: $fuzzer for $seconds seconds"
  # A seed that reaches nothing new, as a whole file does after another one of its model, is varied all the same.
  "build/fuzz/bin/fuzz_$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -print_final_stats=1 \
    -keep_seed=1 -artifact_prefix="build/fuzz/findings/$fuzzer-" "build/fuzz/corpus/$fuzzer" "build/fuzz/seeds/$fuzzer" \
    2>"build/fuzz/$fuzzer.log" || failed+=("$fuzzer")
  grep -E "cov: .*(DONE|pulse)|stat::number_of_executed|SUMMARY" "build/fuzz/$fuzzer.log" | tail -3 || true
done
[[ ${#failed[@]} -eq 0 ]] || { echo "fuzz: error: findings of ${failed[*]}; see build/fuzz/*.log" >&2; exit 1; }
