#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the size and shape of the source as a table. Run it before and after a change that makes the source lighter.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -gt 0 ]]; then
  [[ $1 == --help ]] || exec >&2
  echo "usage: scripts/source_table.sh"
  [[ $1 == --help ]] && exit 0 || exit 2
fi

row() { printf '| %-46s | %7s |\n' "$1" "$2"; }
count() { git ls-files -z -- "$@" | xargs -0 cat | wc -l; }
sources() { git ls-files -- '*.cpp' '*.h' '*.cu' '*.cuh' ':!tests' ':!fuzz' ':!benchmarks'; }
longer() { xargs wc -l | awk -v most="$1" '$2 != "total" && $1 > most' | wc -l; }
# Prints the number of lines of each function: from the start of its statement to the brace below that start.
functions() {
  # shellcheck disable=SC2016  # awk's variables
  sources | xargs awk '
    function indentation() { match($0, /^ */); return RLENGTH }
    FNR == 1 { start = is_inside = 0 }
    is_inside { if ($0 ~ /^ *}/ && indentation() <= indent) { print FNR - start + 1; is_inside = start = 0 } next }
    /^ *(\/\/|#|$)/ || /^ *(public|private|protected):$/ { start = 0; next }
    !start { start = FNR; indent = indentation(); text = "" }
    { text = text $0 }
    /\{$/ && text ~ /\(/ && text !~ /^ *(namespace|class|struct|enum|extern|union)/ && text !~ /[^=!<>]= *[[{]/ { is_inside = 1 }
    /[;{}]$/ && !is_inside { start = 0 }'
}

row measure value
row --- ---
row 'lines of C++ and CUDA' "$(sources | xargs cat | wc -l)"
row 'lines of tests, fuzzers and benchmarks in C++' "$(count {tests,fuzz,benchmarks}/'*.cpp' {tests,benchmarks}/'*.h')"
row 'lines of shell and Python' "$(count '*.sh' '*.py')"
row 'lines of documentation' "$(count '*.md')"
row 'files of C++ and CUDA' "$(sources | wc -l)"
row 'files of them over 450 lines' "$(sources | longer 450)"
row 'test files over 450 lines' "$(git ls-files -- 'tests/*.cpp' | longer 450)"
row 'headers under 31 lines' "$(sources | grep '\.h$' | xargs wc -l | awk '$1 < 31' | wc -l)"
row 'comments, percent of lines that are not empty' \
  "$(sources | xargs cat | awk 'NF { ++all } /^ *\/\// { ++comments } END { printf "%.1f", 100 * comments / all }')"
row 'functions over 40 lines, percent' "$(functions | awk '$1 > 40 { ++long } END { printf "%.1f", 100 * long / NR }')"
row 'circles of headers' "$(sources | grep '\.h$' | xargs grep '^#include <transmute/' |
  sed 's|:#include <transmute/| |; s|>.*||' | { tsort 2>&1 >/dev/null || true; } | grep -c loop || true)"
