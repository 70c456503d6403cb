#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains small models with Marian itself and writes what Marian says of them, for the tests ModelsByMarian.*:
#
#   make_marian_models.sh TEXT FOLDER [MINUTES]
#   TRANSMUTE_MARIAN_MODELS=FOLDER bin/foreign_tests --gtest_filter='ModelsByMarian.*'
#
# TEXT has train.en, train.de, val.en and val.de. Each of the four models trains on one thread for MINUTES (15), unless it
# is in FOLDER already. Marian is the program that $MARIAN names, by default "pymarian", which the package of that name in
# the Python registry installs; python3 needs numpy. Where there is no Marian, the script exits with 77, which CTest takes
# for "skipped".
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: make_marian_models.sh TEXT FOLDER [MINUTES]" >&2
  exit 2
fi
marian=${MARIAN:-pymarian}
text=$(cd "$1" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
minutes=${3:-15}
if ! command -v "$marian" > /dev/null; then
  echo "skipped: there is no program $marian; install Marian, or set MARIAN"
  exit 77
fi
mkdir -p "$2"
cd "$2"
export OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=

# Words and marks with spaces between them, for the model whose vocabularies are lists of words.
spaced() { sed -E 's/([^[:alnum:] ])/ \1 /g; s/ +/ /g; s/^ //; s/ $//' "$1"; }

# train NAME SOURCE TARGET VOCABULARIES OPTION…
train() {
  local name=$1 source=$2 target=$3 vocabularies=$4
  shift 4
  if [ -f "$name/model.npz" ]; then return; fi
  # SIGTERM ends a training after it has saved the model.
  # shellcheck disable=SC2086
  timeout -s TERM "$((minutes * 60))" "$marian" train --type transformer --model "$name/model.npz" \
    --train-sets "$source" "$target" --vocabs $vocabularies --cpu-threads 1 --workspace 1000 --mini-batch-words 500 \
    --mini-batch 100 --maxi-batch 200 --max-length 50 --dim-emb 128 --enc-depth 3 --dec-depth 3 --transformer-heads 4 \
    --transformer-dim-ffn 512 --learn-rate 0.0015 --lr-warmup 400 --lr-decay-inv-sqrt 400 \
    --optimizer-params 0.9 0.98 1e-09 --clip-norm 1 --cost-type ce-mean-words --seed 1111 --disp-freq 500u \
    --save-freq 5000u --overwrite --early-stopping 0 "$@" || [ -f "$name/model.npz" ]
}

# ask NAME VALIDATION_SOURCE VOCABULARIES MODEL OPTION…: translations by MODEL, and scores of those of beam 4.
ask() {
  local name=$1 source=$2 vocabularies=$3 model=$4
  shift 4
  cp "$source" "$name/source.txt"
  for beam in 1 4; do
    # shellcheck disable=SC2086
    "$marian" decode --models "$model" --vocabs $vocabularies --cpu-threads 1 --quiet --quiet-translation \
      --beam-size "$beam" --n-best --input "$source" "$@" > "$name/$([ "$beam" = 1 ] && echo greedy || echo beam).nbest"
  done
  awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' "$name/beam.nbest" > "$name/target.txt"
  # shellcheck disable=SC2086
  env -u TRANSFORMER_FLAVOR "$marian" score --model "$name/model.npz" --vocabs $vocabularies --cpu-threads 1 \
    --workspace 1000 --quiet --train-sets "$source" "$name/target.txt" > "$name/scores.txt"
}

batches="--mini-batch 64 --maxi-batch 100 --maxi-batch-sort src"
mkdir -p post_norm pre_norm lists_of_words two_sentencepieces
for part in train val; do
  for language in en de; do spaced "$text/$part.$language" > "lists_of_words/$part.$language"; done
done
for language in en de; do
  [ -f "lists_of_words/vocab.$language.yml" ] ||
    "$marian" vocab --max-size 6000 < "lists_of_words/train.$language" > "lists_of_words/vocab.$language.yml"
done

shared=vocab.spm
train post_norm "$text/train.en" "$text/train.de" "post_norm/$shared post_norm/$shared" --dim-vocabs 4000 4000 \
  --tied-embeddings-all --transformer-ffn-activation relu
# shellcheck disable=SC2086
ask post_norm "$text/val.en" "post_norm/$shared post_norm/$shared" post_norm/model.npz $batches

shared=vocab.deen.spm
train pre_norm "$text/train.en" "$text/train.de" "pre_norm/$shared pre_norm/$shared" --dim-vocabs 4000 4000 \
  --tied-embeddings-all --transformer-ffn-activation swish --transformer-preprocess n --transformer-postprocess da \
  --transformer-postprocess-top n
# Marian's newer decoder, which is right for sentences by themselves alone. Its copy of the model is no folder's model.npz.
copy=$(mktemp --suffix .npz)
trap 'rm -f "$copy"' EXIT
python3 "$scripts/rename_marian_norms.py" pre_norm/model.npz "$copy"
TRANSFORMER_FLAVOR=experimental ask pre_norm "$text/val.en" "pre_norm/$shared pre_norm/$shared" "$copy" --mini-batch 1 \
  --maxi-batch 1

words="lists_of_words/vocab.en.yml lists_of_words/vocab.de.yml"
train lists_of_words lists_of_words/train.en lists_of_words/train.de "$words" --dim-vocabs 4000 5000 \
  --transformer-ffn-activation relu
# shellcheck disable=SC2086
ask lists_of_words lists_of_words/val.en "$words" lists_of_words/model.npz $batches

pieces="two_sentencepieces/vocab.en.spm two_sentencepieces/vocab.de.spm"
train two_sentencepieces "$text/train.en" "$text/train.de" "$pieces" --dim-vocabs 3000 4000 --tied-embeddings \
  --transformer-ffn-activation gelu --transformer-postprocess-emb nd --output-omit-bias
# shellcheck disable=SC2086
ask two_sentencepieces "$text/val.en" "$pieces" two_sentencepieces/model.npz $batches
