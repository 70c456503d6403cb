#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage="usage: scripts/compound_split_bleu.sh --tokenizer mosesdecoder/scripts/tokenizer/tokenizer.perl [--language de]
  [--programs build/release/bin] HYPOTHESIS REFERENCE

Prints BLEU as English-German results were published before sacreBLEU, the paper's 27.3 and 28.4 among them: of text
that Moses' tokenizer has taken apart and whose compounds are split at hyphens (rich-text: rich ##AT##-##AT## text). It
comes out some points above sacreBLEU's. Needs Moses' tokenizer.perl, from https://github.com/moses-smt/mosesdecoder."
programs="$(cd "$(dirname "$0")/.." && pwd)/build/release/bin"
language=de
tokenizer=
files=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --tokenizer) tokenizer=${2:?$usage}; shift 2 ;;
    --language) language=${2:?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    -*) echo "compound_split_bleu: error: unknown option $1"$'\n'"$usage" >&2; exit 2 ;;
    *) files+=("$1"); shift ;;
  esac
done
[[ ${#files[@]} -eq 2 && -n $tokenizer ]] || { echo "$usage" >&2; exit 2; }
for file in "$tokenizer" "${files[@]}"; do
  [[ -f $file ]] || { echo "compound_split_bleu: error: $file: no such file" >&2; exit 1; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for i in 0 1; do
  perl "$tokenizer" -l "$language" -q <"${files[$i]}" |
    perl -Mutf8 -CSD -pe 's/(\S)-(\S)/$1 ##AT##-##AT## $2/g' >"$folder/$i"
done
"$programs/evaluate" --hypothesis "$folder/0" --reference "$folder/1" --tokenize none
