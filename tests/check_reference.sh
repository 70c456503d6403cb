#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where docs/configuration.md is not what `train --describe-config` prints, or docs/programs.md not what the
# programs print with --help, or where that names a flag that the program has not.
# usage: tests/check_reference.sh FOLDER-OF-PROGRAMS [--fix]
set -euo pipefail
programs=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# The text between two lines of a page, after which it is called in messages.
begin='<!-- generated; to update: tests/check_reference.sh FOLDER-OF-PROGRAMS --fix -->'
end='<!-- end of the generated part -->'

names="prepare train backtranslate get models translate serve generate score evaluate export_torchscript convert
  average_checkpoints visualize embed make_shortlist sentences trees make_demo_corpus"

reference_of_programs() {
  local program
  for program in $names; do
    printf '## %s\n\n' "$program"
    "$programs/$program" --help-records | awk -f cmake/help/markdown.awk
    echo
  done
}

# The flags in the texts of a program that are neither its own nor follow the name of another program.
unknown_flags() { # unknown_flags <program>
  "$programs/$1" --help-records | awk -v names="$names" -v program="$1" '
    BEGIN { FS = "\t"; split(names, list, /[ \n]+/); for (i in list) other[list[i]] }
    $1 == "option" { own[$3]; text = text " " $9 }
    END {
      count = split(text, words, " ")
      for (i = 2; i <= count; ++i)
        if (match(words[i], /^[("`]*--[a-z][a-z0-9-]*/)) {
          flag = substr(words[i], RSTART, RLENGTH)
          sub(/^[("`]*/, "", flag)
          sub(/^[("`]*/, "", words[i - 1])  # `translate --flag`
          if (!(flag in own) && !(words[i - 1] in other)) print program " --help names " flag ", which it has not"
        }
    }'
}

status=0
check() { # check <page> <text> [--fix]
  if [[ ${3:-} == --fix ]]; then
    BEGIN=$begin END=$end TEXT=$2 awk '
      $0 == ENVIRON["END"] { inside = 0 }
      !inside
      $0 == ENVIRON["BEGIN"] { print ENVIRON["TEXT"]; inside = 1 }' "$1" >"$1.new"
    mv "$1.new" "$1"
  elif ! diff <(awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } inside; $0 == begin { inside = 1 }' "$1") \
    <(echo "$2"); then
    echo "$1 is out of date; update it with: tests/check_reference.sh $programs --fix"
    status=1
  fi
}

check docs/configuration.md "$("$programs/train" --describe-config)" "${2:-}"
if [[ -x $programs/serve && -x $programs/get ]]; then
  check docs/programs.md "$(reference_of_programs)" "${2:-}"
  unknown=$(for program in $names; do unknown_flags "$program"; done)
  [[ -z $unknown ]] || { echo "$unknown"; status=1; }
else
  echo "docs/programs.md was not checked: serve or get was not built, for lack of a library (see third_party/README.md)"
fi
exit $status
