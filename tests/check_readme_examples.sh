#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where the demo's model translates the README's examples otherwise than the README says, or where the README's
# code translates a text that is none of them. Skipped (77) where the demo has not been trained.
# usage: tests/check_readme_examples.sh FOLDER-OF-PROGRAMS [MODEL]
set -euo pipefail
programs=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
model=${2:-runs/demo/model}
if [[ ! -d $model ]]; then
  echo "there is no $model; scripts/demo.sh makes it"
  exit 77
fi

examples=$(grep -E '^[^|`#]+  ->  ' README.md)
status=0
if ! diff <(sed 's/.*  ->  //' <<<"$examples") <(sed 's/  ->  .*//' <<<"$examples" | "$programs/translate" --model "$model"); then
  echo "README.md: the demo's model translates these examples otherwise (left: README.md)"
  status=1
fi
translated=0
while read -r text; do
  translated=$((translated + 1))
  if ! grep -qF "$text  ->  " <<<"$examples"; then
    echo "README.md: its code translates '$text', which is none of its examples"
    status=1
  fi
done < <(grep -oE 'translate\("[^"]+"' README.md | sed -E 's/translate\("(.*)"/\1/')
if ((translated == 0)); then
  echo "README.md: no code that translates a text was found"
  status=1
fi
exit $status
