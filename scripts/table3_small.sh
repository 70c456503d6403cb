#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The paper's Table 3 in small: every row trained on Multi30k with two cores in a few hours. See
# configs/table3_small/base.yaml for what is scaled, scripts/compare_configs.sh for what can be interrupted and set.
set -euo pipefail

usage="usage: scripts/table3_small.sh [--data data/multi30k] [--output runs/table3_small] [--rows 'base a_heads_1 …']
  [arguments of scripts/compare_configs.sh]

--data is a folder with train and val as .en.gz and .de.gz. Results are for val, as the paper's are for its development
set."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
data=data/multi30k
output=runs/table3_small
all_rows="base a_heads_1 a_heads_4 a_heads_16 a_heads_32 b_d_k_4 b_d_k_8 c_layers_1 c_layers_2 c_layers_4 c_d_model_64
  c_d_model_256 c_d_ff_256 c_d_ff_1024 d_dropout_0 d_dropout_20 d_smoothing_0 d_smoothing_20 e_learned_positions big"
rows=$all_rows
others=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --data) data=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --rows) rows=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) others+=("$1"); shift ;;
  esac
done
configs=()
for row in $rows; do
  config=$root/configs/table3_small/$row.yaml
  [[ -f $config ]] || { echo "table3_small: error: no row $row; there are: ${all_rows//$'\n'/}" >&2; exit 2; }
  configs+=("$config")
done
[[ -f $data/train.en.gz ]] ||
  { echo "table3_small: error: $data/train.en.gz: no such file; name Multi30k's folder with --data" >&2; exit 1; }
exec "$root/scripts/compare_configs.sh" --output "$output" --source "$data/val.en.gz" --target "$data/val.de.gz" \
  --set "data.folder=$(yaml "$data")" "${others[@]}" "${configs[@]}"
