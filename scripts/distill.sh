#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains teachers that differ in their seeds, or takes finished models, translates the training text with their ensemble,
# and trains a student on the text and that translation (sequence-level knowledge distillation, Kim and Rush, 2016). With
# a model of the opposite direction, the student also learns from the targets and their translations (data
# diversification, Nguyen et al., 2020). With --tune, a last training on the text alone follows.
#
# It can be interrupted at any time; run again, it continues where it was. What is finished is not done again.
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/distill.sh --config FILE --source FILE --target FILE --output FOLDER [OPTION]…

Trains a student on translations by teachers, into FOLDER/student/model; with --tune, the tuned student is in
FOLDER/tuned/model.

  --config FILE           configuration of the student and of the teachers
  --output FOLDER         folder for all trainings and translations
  --source FILE, --target FILE
                          the training text, one file each, plain or gzipped, in one language pair (without
                          data.train_languages). It replaces data.train_source, data.train_target and data.train_pairs
                          of --config; where these name several files, give data.train_weights and
                          data.train_alignments with --set, for one pair of files
  --teachers N            number of teachers to train, 3 by default
  --teacher MODEL         a finished model of this language pair, instead of training teachers; may be repeated, for
                          models with one tokenizer
  --source-language LANGUAGE, --target-language LANGUAGE
                          for multilingual models: their names for the languages of the text
  --reverse-model MODEL   a model of the opposite direction, which translates the targets
  --rerank                rerank each direction's translations by a model of the other one, those of --reverse-model by
                          the first teacher
  --set KEY=VALUE         a further setting of all trainings; may be repeated
  --tune KEY=VALUE        add a training that begins with the student and continues with the text alone, with this
                          setting; may be repeated
  --programs FOLDER       build/release/bin by default
  --threads N             CPU worker threads; 0, the default: one per core"
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
programs=$root/build/release/bin
threads=0
config= source= target= output= reverse= rerank= teachers=
models=() settings=() tune=() languages=() reverse_languages=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --config) config=${2:?$usage}; shift 2 ;;
    --source) source=${2:?$usage}; shift 2 ;;
    --target) target=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --teachers) teachers=${2:?$usage}; shift 2 ;;
    --teacher) models+=("${2:?$usage}"); shift 2 ;;
    --source-language) languages+=("$1" "${2:?$usage}"); reverse_languages+=(--target-language "$2"); shift 2 ;;
    --target-language) languages+=("$1" "${2:?$usage}"); reverse_languages+=(--source-language "$2"); shift 2 ;;
    --reverse-model) reverse=${2:?$usage}; shift 2 ;;
    --rerank) rerank=1; shift ;;
    --tune) tune+=(--set "${2:?$usage}"); shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --threads) threads=${2:?$usage}; shift 2 ;;
    --set) settings+=(--set "${2:?$usage}"); shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "distill: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
given_models=${#models[@]}
[[ -z $teachers ]] || ((given_models == 0)) ||
  { echo "distill: error: --teachers and --teacher exclude each other" >&2; exit 2; }
teachers=${teachers:-3}
[[ -n $config && -n $source && -n $target && -n $output && $teachers =~ ^[1-9][0-9]*$ ]] ||
  { echo "$usage" >&2; exit 2; }

fail() { echo "distill: error: $1" >&2; exit 1; }
fail_with_log() { # fail_with_log <what> <log>
  tail -n 5 "$2" >&2
  fail "$1 failed: $2"
}
# Keeps in a file what its folder is made with; a missing file counts as an empty one. Other settings need another
# folder, unless nothing has come of the old ones yet, as after a slip that a program refused.
settle() { # settle <file> <settings> <what they are> <what comes of them>…
  local file=$1 settings=$2 what=$3 made
  shift 3
  if [[ $(cat "$file" 2>/dev/null) != "$settings" ]]; then
    for made; do
      [[ ! -e $made ]] || fail "$(dirname "$file") was begun with another $what; delete it, or use another --output"
    done
  fi
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$settings" >"$file"
}
for file in "$config" "$source" "$target"; do [[ -f $file ]] || fail "$file: no such file"; done
path_of() { # path_of <model>, which may be the name of a downloaded one
  local stored=${XDG_DATA_HOME:-${HOME:-}/.local/share}/transmute/models/$1
  if [[ -e $1 ]]; then realpath "$1"; elif [[ $1 != */* && -d $stored ]]; then realpath "$stored"; else
    fail "$1: no such model"
  fi
}
for ((i = 0; i < given_models; ++i)); do models[i]=$(path_of "${models[i]}"); done
[[ -z $reverse ]] || reverse=$(path_of "$reverse")
[[ -z $rerank || -n $reverse ]] || fail "--rerank needs a --reverse-model"
[[ -x $programs/train ]] || fail "$programs/train: no such program; build first, or name --programs"
source=$(realpath "$source")
target=$(realpath "$target")
mkdir -p "$output"
output=$(realpath "$output")

distilled=$output/distilled.target
back=$output/back_translated.source
stamp=$("$programs/train" --config "$config" --print-config --set "data.train_pairs=[]" "${settings[@]}" \
  --set "data.train_source=$(yaml "$source")" --set "data.train_target=$(yaml "$target")" || exit 1
  printf '%s\n' "${models[*]:-$teachers}" "${languages[@]}"
  sha256sum <"$source"; sha256sum <"$target")
! grep -qE '^  train_languages: \[[^]]' <<<"$stamp" ||
  fail "distillation is for one language pair; leave out data.train_languages and data.valid_languages"
set_lists=$(grep -E '^  train_(weights|alignments): \[[^]]' <<<"$stamp" || true)
if ((given_models > 0)) && [[ -n $set_lists ]]; then
  fail "--teacher cannot be combined with data.train_weights or data.train_alignments"
fi
checksum_of() { # checksum_of <model>: of its file, of its checksums, or else of the files of a foreign model
  if [[ -f $1 ]]; then
    sha256sum <"$1"
  elif [[ -f $1/checksums.txt ]]; then
    sha256sum <"$1/checksums.txt"
  else
    (cd "$1" && find -L . -maxdepth 2 -name '.?*' -prune -o -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum
  fi
}
reverse_stamp=$reverse
for ((i = 0; i < given_models; ++i)); do stamp+=$'\n'$(checksum_of "${models[i]}"); done
[[ -z $reverse ]] || reverse_stamp+=$'\n'$(checksum_of "$reverse")
translations=("$distilled" "$back" "$output"/*.part.partial)
settle "$output/settings" "$stamp" "config, text, teachers or --set" "$output"/*/checkpoints/step-* "${translations[@]}"
settle "$output/settings.rerank" "${rerank:+$reverse_stamp}" --rerank "${translations[@]}"
settle "$output/settings.student" "$reverse_stamp" --reverse-model "$output"/student/checkpoints/step-* "$back" \
  "$back".part.partial
settle "$output/settings.tuned" "$(printf '%s\n' "${tune[@]}")" --tune "$output"/tuned/checkpoints/step-*

train() { # train <name> <setting>…
  local name=$1 run=$output/$1
  shift
  [[ -f $run/finished ]] && return
  echo "distill: training $name in $run"
  "$programs/train" --config "$config" --run-folder "$run" --threads "$threads" --set "data.train_pairs=[]" \
    "${settings[@]}" "$@" >>"$output/$name.log" 2>&1 || fail_with_log "training of $name" "$output/$name.log"
  touch "$run/finished"
}

if ((given_models == 0)); then
  for ((seed = 1; seed <= teachers; ++seed)); do
    train "teacher_$seed" --set "training.seed=$seed" --set "data.train_source=$(yaml "$source")" \
      --set "data.train_target=$(yaml "$target")"
    models+=("$output/teacher_$seed/model")
  done
fi

translated() { # translated <text> <to> <flag>…
  local text=$1 to=$2
  shift 2
  [[ -f $to ]] && return
  echo "distill: translating $text"
  # At a line that cannot be translated, those before it are written.
  "$programs/translate" "$@" --input "$text" --output "$to.part" --continue --threads "$threads" \
    2>"$output/translate.log" || {
    ! grep -q 'without --continue' "$output/translate.log" ||
      echo "distill: to begin the translation anew, delete $to.part.partial" >&2
    fail_with_log "translating" "$output/translate.log"
  }
  mv "$to.part" "$to"
}

# Where the config has a list with an entry for each text, the translations get theirs after that of --source.
with_translations() { # with_translations <key> <entry of a translation; \1: that of --source>
  local entry='"([^"\\]|\\.)*"|[^],]+' more=", $2"
  ((given_models == 0)) || return 0 # there are no such lists
  [[ -z $reverse ]] || more+=", $2"
  sed -nE "s/^  $1: \\[($entry)/data.$1=[\\1$more/p" "$output/teacher_1/config.yaml"
}

translated "$source" "$distilled" "${models[@]/#/--model=}" "${languages[@]}" ${rerank:+--rerank "$reverse"}
sources="$(yaml "$source"), $(yaml "$source")" targets="$(yaml "$target"), $(yaml "$distilled")"
if [[ -n $reverse ]]; then
  translated "$target" "$back" --model "$reverse" "${reverse_languages[@]}" ${rerank:+--rerank "${models[0]}"}
  sources+=", $(yaml "$back")" targets+=", $(yaml "$target")"
fi
lists=()
weights=$(with_translations train_weights '\1')
alignments=$(with_translations train_alignments '""')
for list in "$weights" "$alignments"; do [[ -z $list ]] || lists+=(--set "$list"); done
train student --set "data.train_source=[$sources]" --set "data.train_target=[$targets]" "${lists[@]}"
model=$output/student/model
if ((${#tune[@]} > 0)); then
  train tuned --set "data.train_source=$(yaml "$source")" --set "data.train_target=$(yaml "$target")" \
    --set "training.initialize_from=$(yaml "$model")" "${tune[@]}"
  model=$output/tuned/model
fi
echo "distill: the model is in $model"
