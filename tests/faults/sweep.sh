#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the first, second, third … call into the system fail, of each kind, until there are no more calls: a program must
# then succeed with the same result, or end with an error message and leave what was there as it was.
set -euo pipefail
export LC_ALL=C

usage="usage: tests/faults/sweep.sh PROGRAMS LAYER.so EXAMPLE [PROGRAM…]

PROGRAMS: the folder of the programs; EXAMPLE: makes the model (make_torchscript_example); PROGRAM: convert, translate,
export_torchscript, average_checkpoints, c_interface, train_from_start, train; default: all of these. After each failure
c_interface opens the model and translates again, and training is started once more and must end with the weights of an
undisturbed run. train resumes from a checkpoint, train_from_start begins with nothing.
There are too many allocations to fail each of them: beyond the first SWEEP_EACH (default 30), n grows by a SWEEP_EACH-th.
Programs that a failed allocation ends inside a destructor are counted separately: those of nlohmann::json and LibTorch
allocate."
programs=${1:?$usage} layer=${2:?$usage} example=${3:?$usage}
shift 3
subjects=("$@")
[[ ${#subjects[@]} -gt 0 ]] || subjects=(convert translate export_torchscript average_checkpoints c_interface train_from_start train)
each=${SWEEP_EACH:-30}
kinds=(open read write fsync rename mkdir mmap thread malloc)
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
    c_interface) echo "$programs/c_interface $model $folder/in.txt $2" ;;
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

# The kinds of calls that a program makes on every machine: memory is mapped in large blocks only, and how many threads
# there are without --threads depends on the cores.
certain_kinds_of() { # certain_kinds_of <program>
  case $1 in
    convert | average_checkpoints) echo open read write fsync rename mkdir malloc ;;
    translate) echo open read write fsync rename thread malloc ;;
    export_torchscript) echo open read write fsync rename malloc ;;
    c_interface) echo open read thread malloc ;;
    train | train_from_start) echo open read write fsync rename mkdir thread malloc ;;
  esac
}
complain_if_none_failed() { # complain_if_none_failed <program> <kind> <calls>
  [[ $3 -gt 0 || " $(certain_kinds_of "$1") " != *" $2 "* ]] ||
    complain "no $2 of $1 was failed: is $layer loaded, and does it know the call that $1 makes?"
}

# The number after $n of the calls of a kind that are to fail.
next_of() { # next_of <kind> <n>
  if [[ $1 == malloc ]]; then echo $(($2 + 1 + $2 / each)); else echo $(($2 + 1)); fi
}

# Whether the program ended in a destructor that takes memory.
ended_in_destructor() {
  [[ $kind == malloc && $code == 134 ]] && grep -q "terminate called after throwing an instance of 'std::bad_alloc'" "$folder/log"
}
count_or_complain() {
  if ended_in_destructor; then ended=$((ended + 1)); else complain "$what ends with code $code: $(tail -3 "$folder/log")"; fi
}
report() { # report <name> <calls> <errors> <ended in destructors>
  echo "faults: $1: $2 calls failed, $3 of them errors$( (($4 == 0)) || echo ", $4 ended in a destructor")"
}

train_to() { # train_to <run folder> <steps>
  "$programs/train" --run-folder "$1" --threads 1 --config "$folder/train.yaml" --set "training.max_steps=$2"
}
weights_of() { sha256sum <"$1/model/weights.safetensors"; }

sweep_train() { # sweep_train train|train_from_start
  for i in {1..30}; do echo "the red house $i is old"; done >"$folder/text.en"
  sed 's/the red house/das rote Haus/; s/is old/ist alt/' "$folder/text.en" >"$folder/text.de"
  cat >"$folder/train.yaml" <<END
data: {folder: $folder, train_source: text.en, train_target: text.de, valid_source: text.en, valid_target: text.de}
tokenizer: {vocab_size: 45}
model: {num_encoder_layers: 1, num_decoder_layers: 1, d_model: 16, num_heads: 2, d_ff: 16, dropout: 0.1}
training: {batch_tokens: 128, warmup_steps: 2, checkpoint_every: 2, average_checkpoints: 2, keep_checkpoints: 2, log_every: 1}
validation: {every: 3, max_sentences: 2}
END
  local sound runs=0 refusals=0 ended=0 before kind n code what
  train_to "$folder/sound" 6 >/dev/null 2>&1
  sound=$(weights_of "$folder/sound")
  rm -rf "$folder/begin"
  mkdir "$folder/begin"
  [[ $1 == train_from_start ]] || train_to "$folder/begin" 2 >/dev/null 2>&1
  for kind in "${kinds[@]}"; do
    before=$runs
    for ((n = 1; ; n = $(next_of "$kind" "$n"))); do
      rm -rf "$folder/hit" "$folder/run"
      cp -r "$folder/begin" "$folder/run"
      code=0
      LD_PRELOAD=$layer TRANSMUTE_FAULT=$kind:$n TRANSMUTE_FAULT_FROM=$folder TRANSMUTE_FAULT_HIT=$folder/hit \
        timeout 60 "$programs/train" --run-folder "$folder/run" --threads 1 --config "$folder/train.yaml" \
        --set training.max_steps=6 >"$folder/log" 2>&1 || code=$?
      [[ -e $folder/hit ]] || break
      runs=$((runs + 1))
      what="$1 with $kind $n failing"
      case $code in
        0) ;;
        1 | 2)
          refusals=$((refusals + 1))
          grep -q "^train: error: ." "$folder/log" || complain "$what ends without a message: $(cat "$folder/log")"
          ;;
        *) count_or_complain ;;
      esac
      train_to "$folder/run" 6 >"$folder/log" 2>&1 || complain "after $what it does not continue: $(tail -3 "$folder/log")"
      [[ $(weights_of "$folder/run") == "$sound" ]] || complain "after $what it ends with other weights"
    done
    complain_if_none_failed "$1" "$kind" $((runs - before))
  done
  report "$1" "$runs" "$refusals" "$ended"
}

for program in "${subjects[@]}"; do
  if [[ $program == train || $program == train_from_start ]]; then
    sweep_train "$program"
    continue
  fi
  place=$folder/$program
  mkdir "$place"
  $(command_of "$program" "$place/out") >/dev/null 2>&1
  sound=$(content_of "$place/out")
  [[ $program != translate ]] || cp "$place/out" "$folder/sound"
  runs=0 refusals=0 ended=0
  for kind in "${kinds[@]}"; do
    before=$runs
    for ((n = 1; ; n = $(next_of "$kind" "$n"))); do
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
          # Either the old content, or the new one, whole: they are the same. Where its input cannot be read on, translate
          # keeps the lines before.
          [[ $program == export_torchscript || $(content_of "$place/out") == "$sound" ]] ||
            { [[ $program == translate ]] && head -c "$(stat -c %s "$place/out")" "$folder/sound" | cmp -s - "$place/out" &&
              grep -q "are written" "$folder/log"; } ||
            complain "$what leaves half an output: $(cat "$folder/log")"
          ;;
        *) count_or_complain ;;
      esac
      [[ $(ls "$place") == out ]] || ended_in_destructor || complain "$what leaves $(ls "$place" | tr '\n' ' ')"
      find "$place" -mindepth 1 -maxdepth 1 ! -name out -exec rm -rf {} +
    done
    complain_if_none_failed "$program" "$kind" $((runs - before))
  done
  report "$program" "$runs" "$refusals" "$ended"
done
exit $failed
