#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Translates millions of lines, hostile ones among them, with `translate` and through the library, and watches lines and
# memory.
set -euo pipefail
export LC_ALL=C

usage="usage: tests/faults/soak.sh PROGRAMS SOAK MODEL LINES [PRECISION] [TEXT…]

PROGRAMS: the folder of the programs; SOAK: tests/faults/soak.cpp, compiled; MODEL: of translate; PRECISION: int8 by
default; TEXT: plain files whose lines are repeated. Fails where a line is lost, where the library gives another line
than translate, or where translate's memory in the last half of the text exceeds that of the first by more than 1%."
programs=${1:?$usage} soak=${2:?$usage} model=${3:?$usage} lines=${4:?$usage} precision=${5:-int8}
shift $(($# < 5 ? $# : 5))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# One line in 50 is hostile, one in 2,000 has up to 2,000 words, one in 100 is empty.
cat "$@" </dev/null | awk -v lines="$lines" '
  BEGIN { srand(1)
    n = split("\357\273\277BOM|\342\200\256right to left\342\200\254|\342\200\250line\342\200\251paragraph|e\314\201\314\202\314\203\314\204\314\205|\360\237\221\250\342\200\215\360\237\221\251\342\200\215\360\237\221\247|\357\277\277|\357\277\275|\344\275\240\345\245\275\357\274\214\344\270\226\347\225\214|\330\247\331\204\330\263\331\204\330\247\331\205|<b>|{0}|&amp;|\342\226\201\342\226\201|<unk>|</s>|<0x0A>|>>deu<<|  |\t|\001|\177|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|9999999999999999999999999|--model|$(rm)|\360\235\225\217|\341\232\200x\343\200\200", hostile, "|") }
  { text[texts++] = $0 }
  function word() { return texts ? text[int(rand() * texts)] : "word" int(rand() * 100000) }
  END {
    for (i = 0; i < lines; ++i) {
      pick = rand(); line = ""
      if (pick < 0.0005) { length_ = int(rand() * 2000); for (k = 0; k < length_;) { w = word(); line = line " " w; k += 3 } }
      else if (pick < 0.02) { length_ = 1 + int(rand() * 6); for (k = 0; k < length_; ++k) line = line (rand() < 0.5 ? " " : "") hostile[1 + int(rand() * n)] }
      else if (pick < 0.03) line = ""
      else line = word()
      print line
    }
  }' >"$folder/in"

"$programs/translate" --model "$model" --beam-size 1 --precision "$precision" --input "$folder/in" --output "$folder/out" \
  2>"$folder/log" &
process=$!
while kill -0 $process 2>/dev/null; do
  awk '/^VmRSS/ { print $2 }' "/proc/$process/status" 2>/dev/null >>"$folder/memory" || true
  sleep 1
done
wait $process || { cat "$folder/log" >&2; exit 1; }
in=$(wc -l <"$folder/in") out=$(wc -l <"$folder/out")
# The first tenth is the start: the model, the first buffers.
awk -v lines="$out" '{ kb[NR] = $1 } END {
  for (i = int(NR / 10) + 1; i <= NR; ++i) if (i <= NR / 2) { if (kb[i] > first) first = kb[i] } else if (kb[i] > last) last = kb[i]
  printf "soak: translate: %d lines, at most %.1f MB in the first half and %.1f MB in the last\n", lines, first / 1024, last / 1024
  exit last > 1.01 * first }' "$folder/memory" || { echo "soak: error: memory grows" >&2; failed=1; }
[[ $in == "$out" ]] || { echo "soak: error: $in lines in, $out out" >&2; exit 1; }
"$soak" "$model" "$folder/in" "$folder/out" "$precision" || failed=1
[[ -z ${failed:-} ]]
