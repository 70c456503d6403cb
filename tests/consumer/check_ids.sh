#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_ids.sh FOLDER COMMAND...: feeds FOLDER/sources.txt to the command and compares with FOLDER/expected.txt.
set -uo pipefail
folder=$1
shift
output=$("$@" <"$folder/sources.txt")
status=$?
if [[ $status == 77 ]]; then
  echo "$output"
  exit 77
fi
[[ $status == 0 ]] || exit "$status"
if ! diff <(echo "$output") "$folder/expected.txt"; then
  echo "the ids above are not the native search's"
  exit 1
fi
echo "the ids of $(wc -l <"$folder/expected.txt") sentences are those of the native search"
