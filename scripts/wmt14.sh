#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage="usage: scripts/wmt14.sh [--config configs/paper/base.yaml] [--data FOLDER] [--run-folder FOLDER]
  [--tokenizer mosesdecoder/scripts/tokenizer/tokenizer.perl] [--programs FOLDER] [--device auto] [--set KEY=VALUE]…
  [--rehearse]

The paper's English-German experiment from the text to BLEU: learns 37,000 pieces, trains, averages the checkpoints (5
of the base model, 20 of the big one), translates newstest2014 with beam 4 and alpha 0.6, and measures BLEU as sacreBLEU
does and, if Moses' tokenizer is at hand, in the compound-split measure that the paper's figures are in. For its
Table 3 the paper averaged no checkpoints: perplexity and BLEU of newstest2013 are those of the last one alone.

It can be interrupted at any time; run again, it continues. --rehearse runs every step in minutes, on generated text and
with a small network: its BLEU means nothing."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
config=$root/configs/paper/base.yaml
programs=$root/build/release/bin
data=
device=auto
run=
tokenizer=
rehearse=
settings=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --config) config=${2:?$usage}; shift 2 ;;
    --data) data=${2:?$usage}; shift 2 ;;
    --run-folder) run=${2:?$usage}; shift 2 ;;
    --tokenizer) tokenizer=${2:?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --device) device=${2:?$usage}; shift 2 ;;
    --set) settings+=(--set "${2:?$usage}"); shift 2 ;;
    --rehearse) rehearse=1; shift ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "wmt14: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
# A rehearsal's text and run must not be taken for the real ones.
kind=wmt14${rehearse:+_rehearsal}
data=${data:-data/$kind$([[ -n $rehearse ]] || echo _en_de)}
run=${run:-runs/${kind}_$(basename "$config" .yaml)}
fail() { echo "wmt14: error: $1" >&2; exit 1; }
[[ -n $rehearse || ! -f $data/rehearsal ]] || fail "$data has a rehearsal's generated text; take another --data"
[[ -z $rehearse || -f $data/rehearsal || ! -f $data/train.en.gz ]] ||
  fail "$data has text that a rehearsal would replace; take another --data"

has_text() {
  local name
  for name in train.en.gz train.de.gz newstest201{3,4}.{en,de}; do [[ -f $data/$name ]] || return 1; done
}
step() { printf '\n== %s\n' "$1"; }

if [[ -n $rehearse ]]; then
  step "Generated text in the place of WMT14"
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  "$programs/make_demo_corpus" --output "$made" --max-number 99 --train 3000 --valid 60 --test 60
  mkdir -p "$data"
  touch "$data/rehearsal"
  for language in en de; do
    gzip -nc "$made/train.$language" >"$data/train.$language.gz"
    cp "$made/valid.$language" "$data/newstest2013.$language"
    cp "$made/test.$language" "$data/newstest2014.$language"
  done
  # What is left is the recipe's: the schedule of events, not their size.
  settings=(--set tokenizer.vocab_size=300 --set model.num_encoder_layers=1 --set model.num_decoder_layers=1
    --set model.d_model=32 --set model.d_ff=64 --set model.num_heads=4 --set model.d_k=8 --set model.d_v=8
    --set training.batch_tokens=512 --set training.max_steps=60 --set training.warmup_steps=30
    --set training.checkpoint_every=10 --set training.log_every=20 --set validation.every=30 "${settings[@]}")
elif ! has_text; then
  step "The text"
  "$root/scripts/download_wmt14.sh" --output "$data"
fi

step "Training $(basename "$config" .yaml)"
"$programs/train" --config "$config" --run-folder "$run" --device "$device" \
  --set "data.folder=$(yaml "$data")" "${settings[@]}"

measure() { # measure <text> <model>
  "$programs/translate" --model "$2" --device "$device" --input "$data/$1.en" --output "$run/$1.de" --beam-size 4 \
    --length-alpha 0.6
  "$programs/evaluate" --hypothesis "$run/$1.de" --reference "$data/$1.de"
  [[ -n $tokenizer ]] || return 0
  echo -n "compound-split, tokenized by Moses: "
  "$root/scripts/compound_split_bleu.sh" --tokenizer "$tokenizer" --programs "$programs" "$run/$1.de" "$data/$1.de"
}
checkpoints=("$run"/checkpoints/step-?????????)

step "newstest2013 with the last checkpoint alone, as in Table 3"
"$programs/score" --model "${checkpoints[-1]}" --device "$device" --source "$data/newstest2013.en" \
  --target "$data/newstest2013.de" --output "$run/newstest2013.scores"
measure newstest2013 "${checkpoints[-1]}"

step "newstest2014 with the mean of the checkpoints, as in Table 2"
measure newstest2014 "$run/model"
[[ -n $tokenizer ]] ||
  echo "the compound-split measure of the paper's 27.3 and 28.4 needs Moses' tokenizer.perl: give it with --tokenizer"
