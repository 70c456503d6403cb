#!/usr/bin/env bash
# Fails where the README's reference of config keys is not what `train --describe-config` prints.
# usage: tests/check_readme.sh PATH-OF-TRAIN [--fix]
set -euo pipefail
cd "$(dirname "$0")/.."

begin='<!-- config reference: train --describe-config -->'
end='<!-- end of config reference -->'
documented=$(awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } inside; $0 == begin { inside = 1 }' README.md)
described=$("$1" --describe-config)
if [[ ${2:-} == --fix ]]; then
  BEGIN=$begin END=$end TEXT=$described awk '
    $0 == ENVIRON["END"] { inside = 0 }
    !inside
    $0 == ENVIRON["BEGIN"] { print ENVIRON["TEXT"]; inside = 1 }' README.md > README.md.new
  mv README.md.new README.md
elif ! diff <(echo "$documented") <(echo "$described"); then
  echo "README.md's config reference is out of date; mend it with: tests/check_readme.sh $1 --fix"
  exit 1
fi
