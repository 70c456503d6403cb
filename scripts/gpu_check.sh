#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In a folder that scripts/gpu_pack.sh filled, on a machine with a GPU: runs the tests for GPUs, measures training and
# translation beside PyTorch's own and CTranslate2, trains Multi30k to its BLEU, compares the GPU's translations with the
# CPU's, and looks for errors of kernels with compute-sanitizer. Takes less than nine minutes, and continues after a stage
# that fails.
set -uo pipefail
export LC_ALL=C

usage="usage: gpu_check.sh [--device cuda] [--output results] [--minutes 8.5] [--python python3] [--old FOLDER]

--device: cuda, cuda:N, or cpu to rehearse with smaller sizes. --output: gets a log for each stage, table.txt and
table.json. --minutes: for all of it; training gets what the rest leaves. --python: one that has the torch which the
programs were built against. --old: a folder that gpu_pack.sh filled at an earlier commit, for the same torch: its
training and translation are measured beside this one's, and their lines are compared.
Exit status: 0 if every stage ran and its tests passed, else 1; 2 for bad usage."
fail() { echo "gpu_check: error: $1" >&2; exit "${2:-1}"; }
device=cuda
output=results
minutes=8.5
python=python3
old=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --device) device=${2:?$usage}; shift 2 ;;
    --output) output=${2:?$usage}; shift 2 ;;
    --minutes) minutes=${2:?$usage}; shift 2 ;;
    --python) python=${2:?$usage}; shift 2 ;;
    --old) old=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
  esac
done
here="$(cd "$(dirname "$0")" && pwd)"
# shellcheck source=scripts/yaml.sh
source "$here/yaml.sh"
[[ -f $here/bin/train.gz ]] || fail "$here/bin/train.gz: no such program; fill a folder with gpu_pack.sh and run the copy there"
mkdir -p "$output" && output=$(cd "$output" && pwd) || fail "$output cannot be written"

if [[ -n $old ]]; then
  [[ -f $old/bin/translate.gz ]] || fail "--old: $old/bin/translate.gz: no such program"
  old=$(cd "$old" && pwd)
fi
unpacked=$(mktemp -d) && trap 'rm -rf "$unpacked"' EXIT
for folder in "$here" ${old:+"$old"}; do
  to=$unpacked/new
  [[ $folder == "$here" ]] || to=$unpacked/old
  mkdir "$to"
  for file in "$folder"/{bin,lib}/*.gz; do
    gzip -dc "$file" >"$to/$(basename "$file" .gz)" || fail "$file cannot be unpacked into $to"
  done
  for program in "$folder"/bin/*.gz; do chmod +x "$to/$(basename "$program" .gz)"; done
done

# The programs find LibTorch, and CUDA's libraries, where Python's torch has them.
torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))') || fail "$python has no torch"
libraries=$unpacked/new:$torch/lib
for folder in "$torch"/../nvidia/*/lib; do [[ -d $folder ]] && libraries+=:$folder; done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

on_gpu=true
[[ $device != cpu ]] || on_gpu=false
chip="no GPU"
peak=0 # dense bfloat16 TFLOP/s, as NVIDIA's data sheets state it
if $on_gpu; then
  chip=$("$python" -c 'import sys, torch; print(torch.cuda.get_device_name(sys.argv[1]))' "$device") ||
    fail "$python's torch finds no GPU $device"
  case "$chip" in
    *B200*) peak=2250 ;;
    *H200* | *H100*HBM3*) peak=989 ;;
    *H100*PCIe*) peak=756 ;;
    *A100*) peak=312 ;;
    *L40S*) peak=362 ;;
    *L40*) peak=181 ;;
    *L4*) peak=121 ;;
  esac
fi

rows=$output/rows.tsv # measurement, value, unit
: >"$rows"
failures=0
# At once on standard output, too: of a run that is cut off, that is what remains.
row() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$rows"; }
SECONDS=0
left() { awk -v all="$minutes" -v gone="$SECONDS" 'BEGIN { printf "%d\n", 60 * all - gone }'; }

# stage <name> <seconds> <command>...: its output goes to a log. What runs longer than that, or than the time left, is
# stopped.
stage() {
  local name=$1 limit=$2
  shift 2
  ((limit <= $(left))) || limit=$(left)
  ((limit > 0)) || { row "$name" "left out: no time" ""; failures=$((failures + 1)); return 1; }
  echo "gpu_check: $name (at most $limit s)"
  timeout --kill-after=15 "$limit" "$@" >"$output/$name.log" 2>&1 && return
  row "$name" "FAILED: see $name.log" ""
  tail -n 25 "$output/$name.log" >&2
  failures=$((failures + 1))
  return 1
}

row machine "$chip" ""
row "transmute" "$(<"$here/commit")" ""
row "LibTorch" "$("$python" -c 'import torch; print(torch.__version__)')" ""

# A share of the tests for each of four processes: their references are computed by CPUs.
gpu_tests() {
  local shard status=0 processes=()
  export OMP_NUM_THREADS=$((($(nproc) + 3) / 4)) # more would wait for each other's
  for shard in 0 1 2 3; do
    GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=$shard "$1" >"$2.$shard.log" 2>&1 &
    processes+=($!)
  done
  for shard in 0 1 2 3; do wait "${processes[shard]}" || status=1; done
  cat "$2".[0-3].log && rm "$2".[0-3].log
  return $status
}
export -f gpu_tests
count_of() { sed -nE "s/^\\[  $1 *\\] ([0-9]+) tests?.*/\\1/p" "$output/gpu_tests.log" | awk '{ sum += $1 } END { print sum + 0 }'; }
stage gpu_tests 90 bash -c 'gpu_tests "$@"' gpu_tests "$unpacked/new/gpu_tests" "$output/gpu_tests"
for count in PASSED FAILED SKIPPED; do row "gpu tests ${count,,}" "$(count_of $count)" tests; done

shapes=(small base big)
seconds=5
batch=25000
$on_gpu || { shapes=(tiny); seconds=1; batch=2048; }
of_old=(env "LD_LIBRARY_PATH=$unpacked/old:$LD_LIBRARY_PATH")
# training <stage> <shape> <what its rows end with> <command>...: measures that benchmark_train.
training() {
  local stage=$1 shape=$2 suffix=$3 name precision target step flops of_roof of_peak
  shift 3
  stage "$stage" 60 "$@" --device "$device" --shape "$shape" --seconds "$seconds" --batch-tokens "$batch" \
    --precision bfloat16 float32 --peak-tflops "$peak" || return
  while read -r name precision _ target step flops _ of_roof of_peak; do
    name="train $name $precision$suffix"
    row "$name" "$target" "target tokens/s"
    row "$name, step" "$step" ms
    row "$name, model" "$flops" "TFLOP/s"
    row "$name, of one large product's rate" "$of_roof" ""
    [[ $precision != bfloat16 || $peak == 0 ]] || row "$name, of the chip's peak" "$of_peak" ""
  done < <(grep -E "^$shape +(bfloat16|float32) " "$output/$stage.log")
}
for shape in "${shapes[@]}"; do
  training "train_$shape" "$shape" "" "$unpacked/new/benchmark_train"
  [[ -z $old ]] || training "train_old_$shape" "$shape" ", $(<"$old/commit")" "${of_old[@]}" "$unpacked/old/benchmark_train"
done

torch_shape=(--name base --layers 6 --d-model 512 --d-ff 2048 --heads 8)
$on_gpu || torch_shape=(--name tiny --layers 4 --d-model 128 --d-ff 256 --heads 4 --vocabulary 10000)
if stage train_torch 60 "$python" "$here/train_torch.py" "${torch_shape[@]}" --device "$device" --seconds "$seconds" \
  --batch-tokens "$batch"; then
  while read -r line; do
    precision=float32
    [[ $line != *bfloat16* ]] || precision=bfloat16
    row "train ${torch_shape[1]} $precision, torch.nn.Transformer" "$(sed -E 's/.*: ([0-9]+) target.*/\1/' <<<"$line")" \
      "target tokens/s"
  done < <(grep 'target tokens/s' "$output/train_torch.log")
fi

shape=base
sizes=(--batch-size 256 --sentences 2048 --single-sentences 20)
precisions=half,bfloat16
peers_precision=float16
$on_gpu || { shape=small; sizes=(--batch-size 8 --sentences 8 --single-sentences 4); precisions=float32; peers_precision=float32; }
# translation_rows <stage> <what its rows end with>: the rates in its log.
translation_rows() {
  local stage=$1 suffix=$2 precision search rest
  while read -r precision search rest; do
    [[ $search != beam ]] || search="beam 4"
    if [[ $rest == *sentences/s* ]]; then
      row "translate $shape $precision $search$suffix" "$(sed -E 's|.*: ([0-9.]+) sentences/s.*|\1|' <<<"$rest")" "sentences/s"
    else
      row "translate $shape $precision $search, one sentence$suffix" "$(sed -E 's|.*p50 ([0-9.]+) ms, p90.*|\1|' <<<"$rest")" ms
    fi
  done < <(grep -E '^  [a-z0-9]+ +(beam 4|greedy) +batch' "$output/$stage.log")
}
# translation <stage> <what its rows end with> <command>...: measures that benchmark_translate.
translation() {
  stage "$1" 90 "${@:3}" --device "$device" --shapes "$shape" --modes beam,greedy,single,single-greedy \
    --precisions "$precisions" "${sizes[@]}" && translation_rows "$1" "$2"
}
# New, old, new: a machine that slows down shows.
translation translate "" "$unpacked/new/benchmark_translate"
if [[ -n $old ]]; then
  translation translate_old ", $(<"$old/commit")" "${of_old[@]}" "$unpacked/old/benchmark_translate"
  translation translate_again ", again" "$unpacked/new/benchmark_translate"
fi
if stage translate_torch 60 "$python" "$here/translate_torch.py" --shape "$shape" --device "$device" \
  --dtype "$peers_precision" "${sizes[@]:0:4}"; then
  row "translate $shape $peers_precision beam 4, torch.nn.Transformer" \
    "$(sed -nE 's|.*: ([0-9.]+) sentences/s.*|\1|p' "$output/translate_torch.log")" "sentences/s"
fi

# CTranslate2's wheel is for CUDA 12, of which it needs cuBLAS; that of CUDA 13 has the functions, too.
if [[ -f $here/ctranslate2.tar.xz ]]; then
  "$python" -m tarfile -e "$here/ctranslate2.tar.xz" "$unpacked/ctranslate2"
  for folder in ${libraries//:/ } /usr/local/cuda/lib64; do
    for name in libcublas libcublasLt; do
      [[ ! -e $folder/$name.so.13 || -e $unpacked/new/$name.so.12 ]] || ln -s "$folder/$name.so.13" "$unpacked/new/$name.so.12"
    done
  done
  stage translate_ctranslate2 90 env "PYTHONPATH=$unpacked/ctranslate2" "$python" "$here/translate_ctranslate2.py" \
    --shape "$shape" --device "$device" --compute-type "$peers_precision" "${sizes[@]}" &&
    translation_rows translate_ctranslate2 ", CTranslate2"
fi

# Multi30k: training gets what is left but the time for the translations, and compute-sanitizer, after it.
after=130
$on_gpu || after=40
[[ -z $old ]] || after=$((after + 15))
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
$on_gpu || sanitizer=
[[ -z $sanitizer ]] || after=$((after + 60))
reserve=$(($(left) - after))
training=(--set "training.max_minutes=$(awk -v s="$reserve" 'BEGIN { printf "%.2f", (s - 20) / 60 }')")
lines=1000
$on_gpu || { training=(--set training.max_steps=20 --set training.warmup_steps=10 --set validation.every=20
  --set training.checkpoint_every=20 --set tokenizer.vocab_size=2000); lines=20; }
((reserve > 40)) || reserve=0 # no time for it
# What an earlier check left may be of another build; training would continue from it.
[[ ! -f $output/multi30k/train.log ]] || rm -rf "$output/multi30k"
if stage multi30k "$reserve" "$unpacked/new/train" --config "$here/configs/multi30k_en_de_small.yaml" \
  --run-folder "$output/multi30k" --device "$device" --set "data.folder=$(yaml "$here/text")" \
  --set training.micro_batch_tokens=0 "${training[@]}"; then
  row "Multi30k, steps" "$(sed -nE 's/.*finished after step ([0-9,]+) .*/\1/p' "$output/multi30k.log")" steps
  model=$output/multi30k/model
  for text in val test_2016_flickr; do
    stage "translate_$text" 30 "$unpacked/new/translate" --model "$model" --device "$device" --precision float32 \
      --input "$here/text/$text.en.gz" --output "$output/$text.de" || continue
    stage "bleu_$text" 30 "$unpacked/new/evaluate" --hypothesis "$output/$text.de" \
      --reference "$here/text/$text.de.gz" --score-only || continue
    row "Multi30k, BLEU on $text" "$(tail -n 1 "$output/bleu_$text.log")" BLEU
  done
  gzip -dc "$here/text/val.en.gz" | sed -n "1,${lines}p" >"$output/parity.en"
  # same_lines <file> <file>: how many of all.
  same_lines() {
    paste -d $'\001' "$1" "$2" | awk -F $'\001' '("x" $1) == ("x" $2) { same++ } END { print same + 0 " of " NR }'
  }
  # parity <name> <device> <command>...
  parity() {
    stage "parity_$1" 60 "${@:3}" --model "$model" --device "$2" --precision float32 --input "$output/parity.en" \
      --output "$output/parity.$1.de"
  }
  parity "$device" "$device" "$unpacked/new/translate" && parity cpu cpu "$unpacked/new/translate" &&
    row "lines translated the same on $device and cpu" \
      "$(same_lines "$output/parity.$device.de" "$output/parity.cpu.de")" lines
  [[ -z $old ]] || { parity old "$device" "${of_old[@]}" "$unpacked/old/translate" &&
    row "lines translated the same by $(<"$old/commit")" \
      "$(same_lines "$output/parity.$device.de" "$output/parity.old.de")" lines; }
  # Twice: the first start reads LibTorch from the disk.
  first_line() {
    local start line
    for _ in 1 2; do
      start=${EPOCHREALTIME/./}
      "$@" <<<"A man is riding a bike." |
        { read -r line && echo "$line: $(((${EPOCHREALTIME/./} - start) / 1000)) ms from start to first line"; }
    done
  }
  export -f first_line
  stage first_line 60 bash -c 'first_line "$@"' first_line "$unpacked/new/translate" --model "$model" --device "$device" &&
    row "translate, from start to first line" \
      "$(sed -nE '$s/.*: ([0-9]+) ms from start.*/\1/p' "$output/first_line.log")" ms
fi
for tool in ${sanitizer:+memcheck racecheck}; do
  stage "sanitizer_$tool" 30 "$sanitizer" --tool "$tool" --error-exitcode 1 "$unpacked/new/gpu_tests" \
    --gtest_filter='*GpuKernels.*EqualTheirPlainTwins*:GpuAttention.*' && row "compute-sanitizer, $tool" "no errors" ""
done
row "time" "$SECONDS" s

awk -F '\t' '{ printf "%-58s %16s  %s\n", $1, $2, $3 }' "$rows" | tee "$output/table.txt"
awk -F '\t' 'function text(x) { gsub(/["\\]/, "\\\\&", x); return "\"" x "\"" }
  BEGIN { print "[" }
  { printf "%s  {\"measurement\": %s, \"value\": %s, \"unit\": %s}", (NR > 1 ? ",\n" : ""), text($1), text($2), text($3) }
  END { print "\n]" }' "$rows" >"$output/table.json"
((failures == 0)) || { echo "gpu_check: $failures stages failed or were left out; their logs are in $output" >&2; exit 1; }
