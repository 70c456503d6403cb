#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How queries are compared with keys (section 3.2.1 of the paper, and its Table 3, row B): scaled dot product, dot product
# without the scale, additive, bilinear and uniform (which is average pooling), each trained for as many updates on the
# same text, from the same seed; and the dot products with narrow and wide queries and keys, where the scale matters.
# Continues where it was interrupted: scripts/compare_configs.sh.
set -euo pipefail

usage="usage: scripts/attention_variants.sh [--task demo|multi30k] [--data FOLDER] [--output FOLDER]
  [--widths '8 512'] [arguments of scripts/compare_configs.sh]

--data: for demo a folder that is made where it is missing (data/demo), for multi30k the folder with train and val as
.en.gz and .de.gz (data/multi30k). --widths: d_k of the further pairs of dot products."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
task=demo
data=
output=
widths="8 512"
programs=$root/build/release/bin
others=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --task) task=${2:?$usage}; shift 2 ;;
    --data) data=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --widths) widths=${2?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; others+=(--programs "$programs"); shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) others+=("$1"); shift ;;
  esac
done
base=$root/configs/attention/$task.yaml
[[ -f $base ]] || { echo "attention_variants: error: no task $task; there are demo and multi30k" >&2; exit 2; }
data=${data:-data/$task}
output=${output:-runs/attention_$task}
if [[ $task == demo ]]; then
  [[ -f $data/test.de ]] || "$programs/make_demo_corpus" --output "$data" --max-number 999
  source=$data/test.en
  target=$data/test.de
else
  source=$data/val.en.gz
  target=$data/val.de.gz
fi

mkdir -p "$output/configs"
configs=()
variant() { # variant <name> <YAML lines of the section model>
  printf 'base: %s\n\nmodel:\n%s' "$(yaml "$base")" "$2" >"$output/configs/$1.yaml"
  configs+=("$output/configs/$1.yaml")
}
for function in scaled_dot_product dot_product additive bilinear uniform; do
  variant "$function" "  score_function: $function"$'\n'
done
for width in $widths; do
  for function in scaled_dot_product dot_product; do
    variant "${function}_d_k_$width" "  score_function: $function"$'\n'"  d_k: $width"$'\n'
  done
done
exec "$root/scripts/compare_configs.sh" --output "$output" --source "$source" --target "$target" \
  --set "data.folder=$(yaml "$data")" "${others[@]}" "${configs[@]}"
