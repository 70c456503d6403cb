#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains teachers that differ in their seeds, translates the training text with their ensemble, and trains a student on
# the text and that translation (sequence-level knowledge distillation, Kim and Rush, 2016). With a model of the opposite
# direction, the student also learns from the targets and their translations (data diversification, Nguyen et al., 2020).
# With --tune, a last training on the text alone follows.
#
# It can be interrupted at any time; run again, it goes on where it was. What is finished is not done again.
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/distill.sh --config FILE --source FILE --target FILE --output FOLDER [--teachers 3]
  [--reverse-model MODEL] [--tune KEY=VALUE]… [--programs FOLDER] [--threads N] [--set KEY=VALUE]…

--source and --target: the text of the config's data.train_source and data.train_target, one file each, plain or
gzipped. --set: further settings of all trainings. --tune: settings of the last one, which begins with the student and
goes on with the text alone; without any there is none. The student is in FOLDER/student/model, what became of it in
FOLDER/tuned/model."
root="$(cd "$(dirname "$0")/.." && pwd)"
programs=$root/build/release/bin
teachers=3
threads=0
config= source= target= output= reverse=
settings=() tune=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --config) config=${2:?$usage}; shift 2 ;;
    --source) source=${2:?$usage}; shift 2 ;;
    --target) target=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --teachers) teachers=${2:?$usage}; shift 2 ;;
    --reverse-model) reverse=${2:?$usage}; shift 2 ;;
    --tune) tune+=(--set "${2:?$usage}"); shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --threads) threads=${2:?$usage}; shift 2 ;;
    --set) settings+=(--set "${2:?$usage}"); shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "distill: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
[[ -n $config && -n $source && -n $target && -n $output && $teachers =~ ^[1-9][0-9]*$ ]] ||
  { echo "$usage" >&2; exit 2; }

fail() { echo "distill: error: $1" >&2; exit 1; }
fail_with_log() { # fail_with_log <what> <log>
  tail -n 5 "$2" >&2
  fail "$1 failed: $2"
}
for file in "$config" "$source" "$target"; do [[ -f $file ]] || fail "$file: no such file"; done
[[ -z $reverse || -e $reverse ]] || fail "$reverse: no such model"
[[ -x $programs/train ]] || fail "$programs/train: no such program; build first, or name --programs"
source=$(realpath "$source")
target=$(realpath "$target")
mkdir -p "$output"
output=$(realpath "$output")

# All settings of a run are those of this call: another one needs another folder.
stamp=$("$root/scripts/config_with_bases.sh" "$config" || exit 1; printf '%s\n' "$source" "$target" "$teachers" "${settings[@]}"
  printf '%s\n' "$reverse" "${tune[@]}"; sha256sum <"$source"; sha256sum <"$target")
if [[ -f $output/settings ]] && [[ $(<"$output/settings") != "$stamp" ]]; then
  fail "$output was begun with another config, text, number of teachers, --reverse-model, --tune or --set; use another --output"
fi
printf '%s\n' "$stamp" >"$output/settings"

train() { # train <name> <setting>…
  local name=$1 run=$output/$1
  shift
  [[ -f $run/finished ]] && return
  echo "distill: training $name in $run"
  "$programs/train" --config "$config" --run-folder "$run" --threads "$threads" "${settings[@]}" "$@" \
    >>"$output/$name.log" 2>&1 || fail_with_log "training of $name" "$output/$name.log"
  touch "$run/finished"
}

models=()
for ((seed = 1; seed <= teachers; ++seed)); do
  train "teacher_$seed" --set "training.seed=$seed" --set "data.train_source=[$source]" \
    --set "data.train_target=[$target]"
  models+=("$output/teacher_$seed/model")
done

translated() { # translated <text> <to> <model>…
  local text=$1 to=$2
  shift 2
  [[ -f $to ]] && return
  echo "distill: translating $text"
  "$programs/translate" --model "$@" --input "$text" --output "$to" --threads "$threads" 2>"$output/translate.log" ||
    fail_with_log "translating" "$output/translate.log"
}

distilled=$output/distilled.target
translated "$source" "$distilled" "${models[@]}"
sources="$source, $source" targets="$target, $distilled"
if [[ -n $reverse ]]; then
  back=$output/back_translated.source
  translated "$target" "$back" "$reverse"
  sources+=", $back" targets+=", $target"
fi
train student --set "data.train_source=[$sources]" --set "data.train_target=[$targets]"
model=$output/student/model
if ((${#tune[@]} > 0)); then
  train tuned --set "data.train_source=[$source]" --set "data.train_target=[$target]" \
    --set "training.initialize_from=$model" "${tune[@]}"
  model=$output/tuned/model
fi
echo "distill: the model is in $model"
