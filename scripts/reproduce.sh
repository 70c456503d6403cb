#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the documented models from nothing and compares what they reach with the table in docs/benchmarks.md. Run it
# before every release, and after any change of numerics or of the initial weights.
#
# It can be interrupted at any time; run again, it continues where it was. Trainings that have finished are not repeated.
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/reproduce.sh [--multi30k data/multi30k] [--output runs/reproduce] [--only 'CONFIG …']
  [--table docs/benchmarks.md] [--programs FOLDER] [--threads N]

--multi30k: the folder with train, val and test_2016_flickr as .en.gz and .de.gz. Without it, models of that text are
left out and named. --only: the configs to reproduce, such as 'configs/demo.yaml'; default: all of the table.
Exit status: 0 where every measured value lies within its tolerance, 1 where one does not, 2 for bad usage."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/exact.sh
source "$root/scripts/exact.sh"
# shellcheck source=scripts/settle.sh
source "$root/scripts/settle.sh"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
programs=$root/build/release/bin
multi30k=data/multi30k
output=runs/reproduce
table=$root/docs/benchmarks.md
only=
threads=0
while [[ $# -gt 0 ]]; do
  case "$1" in
    --multi30k) multi30k=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --only) only=${2:?$usage} only=${only//[[:space:]]/ }; shift 2 ;;
    --table) table=${2:?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --threads) threads=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "reproduce: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done

fail() { echo "reproduce: error: $1" >&2; exit 1; }
[[ -f $table ]] || fail "$table: no such file"
[[ -x $programs/train ]] || fail "$programs/train: no such program; build first, or name --programs"

# config <tab> text <tab> measure <tab> value <tab> tolerance, one documented figure a line.
documented() {
  awk -F ' *[|] *' '
    /<!-- end of reproduced figures -->/ { inside = 0 }
    inside && $2 ~ /^`configs\// { gsub(/`/, "", $2); print $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 }
    /<!-- reproduced figures -->/ { inside = 1 }' "$table"
}
figures=$(documented)
[[ -n $figures ]] || fail "$table: has no table of reproduced figures"

wanted() { [[ -z $only || " $only " == *" $1 "* ]]; }
for config in $only; do
  cut -f 1 <<<"$figures" | grep -qxF "$config" || fail "$table has no figures of --only $config"
done

data_of() { # data_of <config>: the folder of its text
  case "$1" in
    *multi30k* | *table3_small*) echo "$multi30k" ;;
    *) echo "$output/data/demo" ;;
  esac
}

source_of() { # source_of <config> <text>
  case "$2" in
    test) echo "$(data_of "$1")/test.en" ;;
    *) echo "$(data_of "$1")/$2.en.gz" ;;
  esac
}

run_of() { # run_of <config>
  local name=${1#configs/}
  name=${name%.yaml}
  echo "$output/${name//\//_}"
}

# A model is of the program and the config that made it, with those that the config is based on.
train() { # train <config>
  local run stamp
  run=$(run_of "$1")
  stamp=$({ cat "$programs/train" && "$root/scripts/config_with_bases.sh" "$root/$1" || exit 1; } | sha256sum)
  settle "$run/stamp" "$stamp" "build or config" "$run"/checkpoints/step-* "$run/finished"
  [[ -f $run/finished ]] && return
  echo "$1: training in $run"
  "$programs/train" --config "$root/$1" --run-folder "$run" --threads "$threads" \
    --set "data.folder=$(yaml "$(data_of "$1")")" \
    >"$run/output.log" 2>&1 || { tail -n 5 "$run/output.log" >&2; fail "training of $1 failed: $run/output.log"; }
  touch "$run/finished"
}

translated() { # translated <config> <text>: the file with its translations, by beam search
  local run to
  run=$(run_of "$1")
  to=$run/$2.translated
  if [[ ! -f $to ]]; then
    # At a line that cannot be translated, those before it are written.
    "$programs/translate" --model "$run/model" --input "$(source_of "$1" "$2")" --output "$to.part" \
      --threads "$threads" 2>"$run/translate.log" || fail "translating $2 failed: $run/translate.log"
    mv "$to.part" "$to"
  fi
  echo "$to"
}

measured() { # measured <config> <text> <measure>
  local source translation
  source=$(source_of "$1" "$2")
  local reference=${source%.en*}.de${source##*.en}
  [[ $3 == perplexity ]] || translation=$(translated "$1" "$2") || exit 1
  case "$3" in
    BLEU) "$programs/evaluate" --hypothesis "$translation" --reference "$reference" --score-only ;;
    "exact, %") exact_percent "$translation" "$reference" ;;
    perplexity) sed -nE 's/.*"type":"validation".*"perplexity":([0-9.]+).*/\1/p' "$(run_of "$1")/metrics.jsonl" |
      sort -n | awk 'NR == 1 { printf "%.2f\n", $1 }' ;;
    *) fail "$table: unknown measure \"$3\"" ;;
  esac
}

mkdir -p "$output"
deviations=0
report=$output/report.txt
printf '%-42s %-18s %-11s %10s %10s %s\n' config text measure documented found verdict >"$report"
while IFS=$'\t' read -r config text measure value tolerance; do
  wanted "$config" || continue
  [[ -f $root/$config ]] || fail "$table names $config, which does not exist"
  if [[ $(data_of "$config") == "$multi30k" && ! -f $multi30k/train.en.gz ]]; then
    printf '%-42s %-18s %-11s %10s %10s %s\n' "$config" "$text" "$measure" "$value" - \
      "left out: no $multi30k/train.en.gz" >>"$report"
    continue
  fi
  if [[ $(data_of "$config") == "$output/data/demo" && ! -f $output/data/demo/test.de ]]; then
    "$programs/make_demo_corpus" --output "$output/data/demo" --max-number 999
  fi
  train "$config"
  found=$(measured "$config" "$text" "$measure")
  verdict=$(awk -v a="$value" -v b="$found" -v t="$tolerance" \
    'BEGIN { d = b - a; print (d <= t && -d <= t) ? "as documented" : "DEVIATES by " d }')
  [[ $verdict == "as documented" ]] || deviations=$((deviations + 1))
  printf '%-42s %-18s %-11s %10s %10s %s\n' "$config" "$text" "$measure" "$value" "$found" "$verdict" >>"$report"
done <<<"$figures"
cat "$report"
if ((deviations > 0)); then
  echo "reproduce: $deviations of the figures above deviate: mend the recipe, or take the figures out of $table" >&2
  exit 1
fi
