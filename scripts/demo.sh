#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to translations: installs what is missing, builds, makes a small parallel text, trains on it, translates
# expressions that were held out, and counts how many came out exactly right.
set -euo pipefail

usage="usage: scripts/demo.sh

Installs the packages (with sudo if needed), builds, and trains for three minutes. Writes build/, data/demo and runs/demo."
[[ ${1:-} == --help ]] && { echo "$usage"; exit 0; }
[[ $# -eq 0 ]] || { echo "demo: error: unknown argument $1"$'\n'"$usage" >&2; exit 2; }
cd "$(dirname "$0")/.."

run=runs/demo
data=data/demo
programs=build/release/bin

step() { printf '\n== %s\n' "$1"; }

step "Installing what the build needs"
scripts/setup.sh
echo "done"

step "Building (a few minutes the first time)"
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
cmake --build build/release --target installation

step "Making the demo text: numbers, dates and times in English and German"
"$programs/make_demo_corpus" --output "$data" --max-number 999

step "Training (at most three minutes)"
"$programs/train" --config configs/demo.yaml --run-folder "$run"

step "Translating the held-out expressions"
"$programs/translate" --model "$run/model" --input "$data/test.en" --output "$run/test.de"

paste <(head -n 8 "$data/test.en") <(head -n 8 "$run/test.de") | sed $'s/\t/  ->  /'
echo "…"
paste "$data/test.de" "$run/test.de" | awk -F'\t' '
  ("x" $1) == ("x" $2) { right++ } # as text, not as numbers
  END { printf "\nexactly right: %d of %d held-out expressions (%.1f%%)\n", right, NR, 100 * right / NR }'

tests/check_readme_examples.sh "$programs" "$run/model" || true # a word on what the README says otherwise

cat <<END

Now your own:
  echo 'Monday, March 3, 2025' | $programs/translate --model $run/model

To install transmute:
  sudo cmake --install build/release && sudo ldconfig
END
