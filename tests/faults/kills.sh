#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ends trainings at random instants: by SIGKILL, by stopping or killing one of two ranks, by a full disk; and damages
# their caches or sets the clock back before they continue. Each must end with the weights of a training that nothing
# happened to.
set -euo pipefail
export LC_ALL=C

usage="usage: tests/faults/kills.sh PROGRAMS [COUNT] [SEED]

PROGRAMS: the folder of the programs; COUNT: of trainings, 100 by default. A full disk needs root (a small tmpfs), a clock
set back needs faketime; without them these trainings are killed plainly, and the last line says so."
programs=${1:?$usage} count=${2:-100}
RANDOM=${3:-1}
folder=$(mktemp -d)
disk=$folder/disk
mkdir "$disk"
cleanup() {
  local jobs
  jobs=$(jobs -p)
  [[ -z $jobs ]] || kill -KILL $jobs 2>/dev/null || true
  ! mountpoint -q "$disk" || umount "$disk"
  rm -rf "$folder"
}
trap cleanup EXIT

for i in {1..400}; do echo "the red house number $i of street $((i * 7 % 31)) is old"; done >"$folder/text.en"
sed 's/the red house/das rote Haus/; s/number/Nummer/; s/of street/der Straße/; s/is old/ist alt/' "$folder/text.en" \
  >"$folder/text.de"
cat >"$folder/train.yaml" <<END
data: {folder: $folder, train_source: text.en, train_target: text.de, valid_source: text.en, valid_target: text.de}
tokenizer: {vocab_size: 90}
model: {num_encoder_layers: 1, num_decoder_layers: 1, d_model: 32, num_heads: 2, d_ff: 64, dropout: 0.1}
training: {batch_tokens: 512, max_steps: 120, warmup_steps: 20, checkpoint_every: 10, average_checkpoints: 3, keep_checkpoints: 3}
validation: {every: 25, max_sentences: 8}
END

train() { # train <run folder> <ranks> [command before it]
  local run=$1 ranks=$2
  shift 2
  exec "$@" "$programs/train" --config "$folder/train.yaml" --run-folder "$run" --local-ranks "$ranks" --threads 1
}
weights_of() { sha256sum <"$1/model/weights.safetensors"; }
now() { date +%s%3N; }
random_below() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
sleep_ms() { sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')"; }
# The training and its ranks, as a group of processes.
start() { # start <run folder> <ranks> [command]
  set -m
  (train "$@") >"$folder/log" 2>&1 &
  set +m
  group=$!
}
running() { kill -0 -- "-$group" 2>/dev/null; }
kill_all() {
  kill -KILL -- "-$group" 2>/dev/null || true
  wait "$group" 2>/dev/null || true
}
# A process of the group, at random.
member() { { pgrep -g "$group" || true; } | awk -v pick="$RANDOM" '{ a[NR] = $1 } END { if (NR) print a[pick % NR + 1] }'; }

declare -A sound duration done_kinds
for ranks in 1 2; do
  began=$(now)
  (train "$folder/sound_$ranks" "$ranks") >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
  duration[$ranks]=$(($(now) - began))
  sound[$ranks]=$(weights_of "$folder/sound_$ranks")
done
echo "kills: a training takes ${duration[1]} ms with one rank, ${duration[2]} ms with two"

may_mount=true
mount -t tmpfs -o size=1m none "$disk" 2>/dev/null && umount "$disk" || may_mount=false
command -v faketime >/dev/null && has_faketime=true || has_faketime=false
kinds=(kill kill_rank stop_rank cache kill disk kill_twice clock)
wrong=0
complain() { # complain <what>: of the present training
  echo "kills: error: training $i ($kind) $1" >&2
  complaints=1
}
for ((i = 0; i < count; ++i)); do
  kind=${kinds[i % ${#kinds[@]}]}
  ranks=1
  [[ $kind != *_rank ]] || ranks=2
  [[ $kind != disk ]] || $may_mount || kind=kill
  [[ $kind != clock ]] || $has_faketime || kind=kill
  done_kinds[$kind]=$((${done_kinds[$kind]:-0} + 1))
  run=$folder/run
  complaints=0
  rm -rf "$run"
  before=()
  case $kind in
    disk)
      # From too small for the tokenizer to nearly enough for all.
      mount -t tmpfs -o "size=$((40 + $(random_below 600)))k" none "$disk"
      run=$disk/run
      (train "$run" 1) >"$folder/log" 2>&1 && code=0 || code=$?
      [[ $code == 0 ]] || grep -q "error: " "$folder/log" ||
        complain "ends with code $code on a full disk: $(tail -2 "$folder/log")"
      mount -o remount,size=100m "$disk"
      ;;
    *)
      times=1
      [[ $kind != kill_twice ]] || times=2
      for ((k = 0; k < times; ++k)); do
        start "$run" "$ranks"
        sleep_ms "$(random_below "${duration[$ranks]}")"
        case $kind in
          kill_rank)
            victim=$(member)
            [[ -z $victim ]] || kill -KILL "$victim" 2>/dev/null || true
            for _ in {1..100}; do running || break; sleep 0.1; done
            ;;
          stop_rank)
            victim=$(member)
            [[ -z $victim ]] || kill -STOP "$victim" 2>/dev/null || true
            sleep 2
            [[ -z $victim ]] || kill -CONT "$victim" 2>/dev/null || true
            wait "$group" && code=0 || code=$?
            [[ $code == 0 ]] || complain "ends with code $code: $(tail -2 "$folder/log")"
            ;;
        esac
        kill_all
      done
      ;;
  esac
  case $kind in
    cache)
      # A byte changed, or the end cut off, in each file of the cache.
      [[ ! -d $run/cache ]] || find "$run/cache" -type f | while read -r file; do
        size=$(stat -c %s "$file")
        if [[ $size -eq 0 || $((RANDOM % 2)) == 0 ]]; then
          truncate -s $((size / 2)) "$file"
        else
          printf '\xa5' | dd of="$file" bs=1 seek="$(random_below "$size")" conv=notrunc status=none
        fi
      done
      ;;
    clock) before=(faketime -f "-3d") ;;
  esac
  code=0
  (train "$run" "$ranks" "${before[@]}") >"$folder/log" 2>&1 || code=$?
  if [[ $code != 0 ]]; then
    complain "does not continue, code $code: $(tail -2 "$folder/log")"
  elif [[ $(weights_of "$run") != "${sound[$ranks]}" ]]; then
    complain "ends with other weights"
  fi
  wrong=$((wrong + complaints))
  ! mountpoint -q "$disk" || umount "$disk"
done
summary=$(for kind in "${!done_kinds[@]}"; do echo "$kind ${done_kinds[$kind]}"; done | sort | paste -sd, | sed 's/,/, /g')
echo "kills: $((count - wrong)) of $count trainings ended with the weights of an undisturbed one ($summary)"
$may_mount || echo "kills: no full disks: a tmpfs cannot be mounted"
$has_faketime || echo "kills: no clock set back: there is no faketime"
[[ $wrong == 0 ]]
