#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
shopt -s nullglob
export LC_ALL=C

usage="usage: scripts/parsing.sh [--config configs/parsing/craft.yaml] [--data data/craft] [--run-folder FOLDER]
  [--treebank FOLDER] [--train 'FILES' --dev 'FILES' --test 'FILES'] [--beam-size 12] [--programs FOLDER] [--threads N]
  [--set KEY=VALUE]…

The paper's constituency parser (section 6.3) from treebank to F1: fetches the trees of CRAFT, or takes others, writes
them as parallel text, trains, parses the test sentences with and without the constraint to well-formed trees, and
scores them as evalb does. It can be interrupted at any time; run again, it continues.

Without --train, the trees are CRAFT's (97 articles, CC BY 3.0), divided as in its shared task of 2019; --treebank is a
folder with its .tree files, which else are fetched with git. With --train, --dev and --test, each a quoted list of
files or patterns, they are yours, such as 'wsj/0[2-9]/*.mrg wsj/1?/*.mrg wsj/2[01]/*.mrg'. The paper's settings for the
Penn Treebank: --config configs/paper/parsing_wsj.yaml --data data/wsj --beam-size 21."
root="$(cd "$(dirname "$0")/.." && pwd)"
# shellcheck source=scripts/yaml.sh
source "$root/scripts/yaml.sh"
config=$root/configs/parsing/craft.yaml
data=data/craft
programs=$root/build/release/bin
run=
treebank=
train=
dev=
test=
beam=12
threads=0
settings=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --config) config=${2:?$usage}; shift 2 ;;
    --data) data=${2:?$usage}; shift 2 ;;
    --run-folder) run=${2:?$usage}; shift 2 ;;
    --treebank) treebank=${2:?$usage}; shift 2 ;;
    --train) train=${2:?$usage}; shift 2 ;;
    --dev) dev=${2:?$usage}; shift 2 ;;
    --test) test=${2:?$usage}; shift 2 ;;
    --beam-size) beam=${2:?$usage}; shift 2 ;;
    --programs) programs=${2:?$usage}; shift 2 ;;
    --threads) threads=${2:?$usage}; shift 2 ;;
    --set) settings+=(--set "${2:?$usage}"); shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "parsing: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
# What translate would refuse after the training.
[[ $beam =~ ^([1-9][0-9]{0,3}|10000)$ ]] ||
  { echo "parsing: error: --beam-size must be a whole number from 1 to 10000, not $beam" >&2; exit 2; }
run=${run:-runs/parsing_$(basename "$config" .yaml)}
fail() { echo "parsing: error: $1" >&2; exit 1; }
step() { printf '\n== %s\n' "$1"; }

commit=2abe82b8bb8089448b84937d5f61d8c218011322
fetch_craft() { # fetch_craft <folder>: the trees alone of CRAFT, at that commit
  command -v git >/dev/null || fail "git is not installed; name a folder of CRAFT's .tree files with --treebank"
  local clone=$1.clone
  rm -rf "$clone"
  git init --quiet "$clone"
  git -C "$clone" fetch --quiet --depth 1 --filter=blob:none https://github.com/UCDenver-ccp/CRAFT "$commit" ||
    fail "CRAFT cannot be fetched; run this again, or name a folder of its .tree files with --treebank"
  git -C "$clone" config remote.origin.url https://github.com/UCDenver-ccp/CRAFT
  git -C "$clone" config remote.origin.promisor true
  git -C "$clone" checkout --quiet FETCH_HEAD -- structural-annotation/treebank/penn
  mv "$clone/structural-annotation/treebank/penn" "$1"
  rm -rf "$clone"
}

find_files() { # find_files <part>: puts the files of its trees into files
  files=()
  if [[ -n $train ]]; then
    # The patterns are meant to become files.
    # shellcheck disable=SC2206
    files=(${!1})
  else
    local article
    while read -r article; do
      files+=("${treebank:-$data/penn}/$article.tree")
    done <"$root/configs/parsing/craft_$1.txt"
  fi
}

write_part() { # write_part <name> <files>…
  local name=$1
  shift
  cat "$@" | sha256sum >"$data/$name.sha256"
  "$programs/trees" --input "$@" --words "$data/$name.words.part" --labels "$data/$name.labels.part" \
    --simplified "$data/$name.trees.part"
  for kind in trees labels words; do mv "$data/$name.$kind.part" "$data/$name.$kind"; done
}

[[ -z $train || (-n $dev && -n $test) ]] || fail "--train needs --dev and --test"
[[ -n $train || -z $dev$test ]] || fail "--dev and --test need --train"
mkdir -p "$data"
# Text of one treebank is not that of another.
treebanks=$(printf '%s\n' "${train:-CRAFT}" "$dev" "$test")
known=CRAFT # of text without a record
[[ ! -f $data/treebanks ]] || known=$(<"$data/treebanks")
for part in train dev test; do
  [[ $known == "$treebanks" || ! -f $data/$part.words ]] ||
    fail "$data has the text of other trees; take another --data and --run-folder"
done
# All of them before the first is written.
for part in train dev test; do
  find_files "$part"
  if [[ -f $data/$part.words ]]; then
    there=()
    for file in "${files[@]}"; do [[ ! -f $file ]] || there+=("$file"); done
    ((${#there[@]} > 0)) || continue # text can do without its trees
    checksum=$(cat "${there[@]}" | sha256sum)
    [[ $(<"$data/$part.sha256") == "$checksum" ]] ||
      fail "the trees of $part have changed since $data/$part.words was written; take another --data and --run-folder"
  elif [[ -n $train ]]; then
    ((${#files[@]} > 0)) || fail "no files of trees for $part"
    for file in "${files[@]}"; do [[ -f $file ]] || fail "$file: no such file"; done
  fi
done
printf '%s\n' "$treebanks" >"$data/treebanks"
for part in train dev test; do
  [[ ! -f $data/$part.words ]] || continue
  step "The trees: $part"
  find_files "$part"
  if [[ -z $train ]]; then
    [[ -n $treebank || -d $data/penn ]] || fetch_craft "$data/penn"
    for file in "${files[@]}"; do
      [[ -f $file ]] || fail "$file: no such file; is it the folder of CRAFT's trees?"
    done
  fi
  write_part "$part" "${files[@]}"
done

step "Training"
"$programs/train" --config "$config" --run-folder "$run" --threads "$threads" --set "data.folder=$(yaml "$data")" \
  "${settings[@]}"

parse() { # parse <name> <arguments of translate>…: test sentences to trees, scored
  local name=$1
  shift
  step "Parsing: $name"
  "$programs/translate" --model "$run/model" --input "$data/test.words" --output "$run/$name.labels" \
    --beam-size "$beam" --length-alpha 0.3 --max-extra-length 300 --max-source-tokens 1000 --long-lines fail \
    --threads "$threads" "$@"
  "$programs/trees" --restore --words "$data/test.words" --labels "$run/$name.labels" --output "$run/$name.trees"
  "$programs/evaluate" --trees --hypothesis "$run/$name.trees" --reference "$data/test.trees"
}
parse unconstrained
parse constrained --trees "$data/train.labels" --tree-words "$data/train.words"
