#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains one model for each config and puts what they reach into one table: parameters, updates, perplexity, BLEU, lines
# that are exactly the reference, time.
#
# It can be interrupted at any time; run again, it continues where it was: what is finished under the same settings is not
# done again. With another beam or another text to translate, the models are not trained again. Each config's row is
# FOLDER/<config>/row.txt, the table FOLDER/table.md.
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/compare_configs.sh --output FOLDER --source FILE --target FILE [--programs FOLDER] [--threads N]
  [--jobs N] [--beam-size 4] [--set KEY=VALUE]… CONFIG…

--source and --target are the text that is translated for BLEU and its reference. --jobs: configs that are trained side
by side; one job per core, with --threads 1, is most efficient, and takes as many times the memory."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/exact.sh
source "$root/scripts/exact.sh"
# shellcheck source=scripts/settle.sh
source "$root/scripts/settle.sh"
programs=$root/build/release/bin
threads=0
jobs=1
beam=4
output= source= target=
settings=()
configs=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --output) output=${2:?$usage}; shift 2 ;;
    --source) source=${2:?$usage}; shift 2 ;;
    --target) target=${2:?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --threads) threads=${2:?$usage}; shift 2 ;;
    --jobs) jobs=${2:?$usage}; shift 2 ;;
    --beam-size) beam=${2:?$usage}; shift 2 ;;
    --set) settings+=(--set "${2:?$usage}"); shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    -*) echo "compare_configs: error: unknown option $1"$'\n'"$usage" >&2; exit 2 ;;
    *) configs+=("$1"); shift ;;
  esac
done
[[ -n $output && -n $source && -n $target && ${#configs[@]} -gt 0 && $jobs =~ ^[1-9][0-9]*$ ]] ||
  { echo "$usage" >&2; exit 2; }
refuse() { echo "compare_configs: error: $1" >&2; exit 2; }
fail() { echo "compare_configs: error: $1" >&2; exit 1; }
fail_with_log() { # fail_with_log <what> <log>
  tail -n 5 "$2" >&2
  fail "$1 failed (all of it: $2)"
}
for file in "$source" "$target" "${configs[@]}"; do [[ -f $file ]] || fail "$file: no such file"; done
twice=$(for config in "${configs[@]}"; do basename "$config" .yaml; done | sort | uniq -d)
[[ -z $twice ]] || refuse "two configs are named ${twice//$'\n'/, }; each row needs its own name"
# What translate and evaluate would refuse after the training.
[[ $beam =~ ^([1-9][0-9]{0,3}|10000)$ ]] || refuse "--beam-size must be a whole number from 1 to 10000, not $beam"
lines_of() { gzip -dcf "$1" | awk 'END { print NR }'; } # lines_of <file, plain or gzipped>
source_lines=$(lines_of "$source") || fail "$source: cannot be read"
target_lines=$(lines_of "$target") || fail "$target: cannot be read"
((source_lines > 0)) || refuse "$source is empty"
((source_lines == target_lines)) ||
  refuse "--source and --target differ in their numbers of lines: $source has $source_lines, $target $target_lines"

# A config with those that it is based on, and what overrides them: what a model must have been trained with. With more,
# what a row must have been made with.
settings_of() { # settings_of <config> [<more>…]
  {
    "$root/scripts/config_with_bases.sh" "$1" || exit 1
    printf '%s\n' "${settings[@]}" "${@:2}"
  } | sha256sum | cut -d' ' -f1
}
# What sha256sum --check reads, for each file of training and validation text; the config is one that train wrote.
text_of() { # text_of <run folder>
  local folder file
  [[ -f $1/config.yaml ]] || return 0
  folder=$(sed -nE 's/^  folder: "(.*)"$/\1/p' "$1/config.yaml")
  sed -nE 's/^  (train|valid)_(source|target|pairs|text|alignments): //p' "$1/config.yaml" |
    { grep -oE '"([^"\\]|\\.)+"' || true; } | while IFS= read -r file; do
      file=${file:1:-1}
      [[ $file == /* || -z $folder ]] || file=$folder/$file
      file=$(sed -E 's/\\(.)/\1/g' <<<"$file")
      [[ ! -f $file ]] || sha256sum "$(realpath "$file")"
    done
}
refuse_other_text() { # refuse_other_text <run folder>: where it has a row of a text that is another one now
  local changed
  changed=$(sed '1d; $d' "$1/row.txt" 2>/dev/null | sha256sum --check --quiet --ignore-missing 2>/dev/null |
    sed -n '1s/: FAILED$//p' || true)
  [[ -z $changed ]] || fail "$1 was trained when $changed had another content; delete $1, or use another --output"
}
last() { # last <sed expression with one group> <file>
  sed -nE "$1" "$2" | tail -n 1
}

run_row() { # run_row <config>
  local name run trained_with stamp log translation text bleu exact perplexity
  name=$(basename "$1" .yaml)
  run=$output/$name
  trained_with=$(settings_of "$1")
  stamp=$(settings_of "$1" "$beam" "$(sha256sum <"$source")" "$(sha256sum <"$target")")
  if [[ -f $run/row.txt ]] && [[ $(head -n 1 "$run/row.txt") == "$stamp" ]]; then
    refuse_other_text "$run"
    echo "$name: finished before"
    return
  fi
  translation=$run/translation.txt
  settle "$run/settings" "$trained_with" "config or --set" "$run"/checkpoints/step-* "$translation"
  refuse_other_text "$run"
  echo "$name: training"
  log=$run/train.log
  "$programs/train" --config "$1" --run-folder "$run" --threads "$threads" "${settings[@]}" >"$run/output.log" 2>&1 ||
    fail_with_log "training of $name" "$run/output.log"
  text=$(text_of "$run")
  "$programs/translate" --model "$run/model" --input "$source" --output "$translation" --beam-size "$beam" \
    --threads "$threads" 2>"$run/translate.log" || fail_with_log "translating with $name" "$run/translate.log"
  bleu=$("$programs/evaluate" --hypothesis "$translation" --reference "$target" --score-only)
  exact=$(exact_percent "$translation" "$target")
  perplexity=$(last 's/.*"type":"validation".*"perplexity":([0-9.]+).*/\1/p' "$run/metrics.jsonl")
  [[ -z $perplexity ]] || perplexity=$(printf '%.3f' "$perplexity")
  {
    echo "$stamp"
    [[ -z $text ]] || echo "$text"
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$(last 's/.* ([0-9,]+) parameters.*/\1/p' "$log")" \
      "$(last 's/.*finished after step ([0-9,]+) .*/\1/p' "$log")" \
      "${perplexity:--}" "$bleu" "$exact" \
      "$(last 's/.*target tokens, ([0-9:]+) of training.*/\1/p' "$log")"
  } >"$run/row.txt.part"
  mv "$run/row.txt.part" "$run/row.txt"
}

mkdir -p "$output"
rows=()
failed=0
for config in "${configs[@]}"; do
  # Each row beyond the first ones takes the place of one that ended.
  if ((${#rows[@]} >= jobs)); then wait -n || (($? == 127)) || failed=1; fi # 127: none is left
  ((failed == 0)) || break
  run_row "$config" &
  rows+=($!)
done
# By their numbers: "jobs" no longer lists those that ended in the meantime, and may have failed.
for row in "${rows[@]}"; do wait "$row" || failed=1; done
((failed == 0)) || exit 1
{
  echo "| config | parameters | updates | perplexity | BLEU | exact, % | training |"
  echo "|---|---|---|---|---|---|---|"
  for config in "${configs[@]}"; do tail -n 1 "$output/$(basename "$config" .yaml)/row.txt"; done
} >"$output/table.md"
cat "$output/table.md"
cat <<END

Perplexity: per piece of the validation text, at the last validation. BLEU: sacreBLEU's, of $(basename "$source") with the
finished model, beam $beam; exact: lines equal to the reference. Training: minutes and seconds, or hours, of training alone.
END
