#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_completion.sh bash|zsh PROGRAM OUTPUT: completion of a program's flags, from its --help.
set -eu
shell=$1 program=$2 output=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp)
trap 'rm -f "$work"' EXIT
"$program" --help >"$work"
awk -f "$here/parse.awk" "$work" | awk -v program="$(basename "$program")" -f "$here/${shell}_completion.awk" >"$output.new"
mv "$output.new" "$output"
