#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_completion.sh bash|zsh PROGRAM NAME OUTPUT: completion of a program's flags, from its --help-records. NAME is what
# it is called without transmute-; transmute itself completes its commands.
set -eu
shell=$1 program=$2 name=$3 output=$4
here=$(cd "$(dirname "$0")" && pwd)
kind=${shell}_completion
[ "$name" != transmute ] || kind=${shell}_commands
"$program" --help-records | awk -v program="$name" -f "$here/$kind.awk" >"$output.new"
mv "$output.new" "$output"
