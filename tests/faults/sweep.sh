#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the first, second, third … call into the system fail, of each kind, until there are no more calls: a program must
# then succeed with the same result, or end with an error message and leave what was there as it was.
set -euo pipefail
export LC_ALL=C

usage="usage: tests/faults/sweep.sh PROGRAMS LAYER.so EXAMPLE [PROGRAM…]

PROGRAMS: the folder of the programs; EXAMPLE: makes the model (make_torchscript_example); PROGRAM: convert, translate,
export_torchscript, average_checkpoints; default: all of these."
programs=${1:?$usage} layer=${2:?$usage} example=${3:?$usage}
shift 3
subjects=("$@")
[[ ${#subjects[@]} -gt 0 ]] || subjects=(convert translate export_torchscript average_checkpoints)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$example" "$folder/example" >/dev/null
printf 'the red house\nthe old train\n' >"$folder/in.txt"
model=$folder/example/model
failed=0

command_of() { # command_of <program> <output>
  case $1 in
    convert) echo "$programs/convert --model $model --to folder --precision bfloat16 --output $2" ;;
    translate) echo "$programs/translate --model $model --threads 2 --input $folder/in.txt --output $2" ;;
    export_torchscript) echo "$programs/export_torchscript --model $model --output $2" ;;
    average_checkpoints) echo "$programs/average_checkpoints --output $2 $model $model" ;;
  esac
}
# One number for what is at a path: names and bytes. A TorchScript file names its own path inside.
content_of() {
  if [[ -d $1 ]]; then (cd "$1" && find . -type f | sort | xargs sha256sum) | sha256sum; else sha256sum <"$1"; fi
}
complain() {
  echo "faults: error: $*" >&2
  failed=1
}

for program in "${subjects[@]}"; do
  place=$folder/$program
  mkdir "$place"
  $(command_of "$program" "$place/out") >/dev/null 2>&1
  sound=$(content_of "$place/out")
  runs=0 refusals=0
  for kind in open read write fsync rename mkdir mmap thread; do
    for ((n = 1; ; ++n)); do
      rm -f "$folder/hit"
      code=0
      # The mark is the folder that all paths have: from the first file on that is the program's own.
      env LD_PRELOAD="$layer" TRANSMUTE_FAULT="$kind:$n" TRANSMUTE_FAULT_FROM="$folder" TRANSMUTE_FAULT_HIT="$folder/hit" \
        timeout 60 $(command_of "$program" "$place/out") >"$folder/log" 2>&1 || code=$?
      [[ -e $folder/hit ]] || break
      runs=$((runs + 1))
      what="$program with $kind $n failing"
      case $code in
        0) [[ $program == export_torchscript || $(content_of "$place/out") == "$sound" ]] ||
          complain "$what succeeds with another result" ;;
        1 | 2)
          refusals=$((refusals + 1))
          grep -q "^$program: error: ." "$folder/log" || complain "$what ends without a message: $(cat "$folder/log")"
          # Either the old content, or the new one, whole: they are the same.
          [[ $program == export_torchscript || $(content_of "$place/out") == "$sound" ]] ||
            complain "$what leaves half an output"
          ;;
        *) complain "$what ends with code $code: $(tail -3 "$folder/log")" ;;
      esac
      [[ $(ls "$place") == out ]] || complain "$what leaves $(ls "$place" | tr '\n' ' ')"
      find "$place" -mindepth 1 -maxdepth 1 ! -name out -exec rm -rf {} +
    done
  done
  echo "faults: $program: $runs calls failed, $refusals of them errors"
done
exit $failed
