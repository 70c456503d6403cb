#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fills a folder with all that scripts/gpu_check.sh needs on a machine with a GPU and a torch of the same version, but
# without network, compiler or checkout: programs, tests, the libraries that they link but LibTorch, configs and text.
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/gpu_pack.sh --output FOLDER [--build build/cuda] [--multi30k data/multi30k] [--ctranslate2 WHEEL]

--build: a build against a LibTorch with CUDA:
  cmake --preset cuda -DCMAKE_PREFIX_PATH=\"\$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')\" \\
    && cmake --build --preset cuda
--multi30k: the folder with train, val and test_2016_flickr as .en.gz and .de.gz.
--ctranslate2: a wheel of CTranslate2 for the other machine's Python, to be measured beside transmute:
  pip download --no-deps ctranslate2
Then, on the other machine: FOLDER/gpu_check.sh"
fail() { echo "gpu_pack: error: $1" >&2; exit "${2:-1}"; }
root="$(cd "$(dirname "$0")/.." && pwd)"
build=$root/build/cuda
multi30k=data/multi30k
output=
ctranslate2=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --output) output=${2:?$usage}; shift 2 ;;
    --build) build=${2:?$usage}; shift 2 ;;
    --multi30k) multi30k=${2:?$usage}; shift 2 ;;
    --ctranslate2) ctranslate2=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
  esac
done
[[ -n $output ]] || fail "--output is missing"$'\n'"$usage" 2
[[ ! -e $output || -z $(ls -A "$output") ]] || fail "$output exists and is not empty"

programs=(train translate evaluate gpu_tests benchmark_train benchmark_translate)
for program in "${programs[@]}"; do
  [[ -x $build/bin/$program ]] || fail "$build/bin/$program: no such program; build first, see --help"
done
texts=()
for name in train val test_2016_flickr; do texts+=("$multi30k/$name.en.gz" "$multi30k/$name.de.gz"); done
for text in "${texts[@]}"; do [[ -f $text ]] || fail "$text: no such file; name --multi30k"; done

[[ -z $ctranslate2 || -f $ctranslate2 ]] || fail "--ctranslate2: $ctranslate2: no such file"

mkdir -p "$output"/{bin,lib,configs,text}
for program in "${programs[@]}"; do strip -o "$output/bin/$program" "$build/bin/$program"; done

# What the programs link, but LibTorch with CUDA's libraries, which the other machine's torch has, and the system's own.
torch=$(sed -n 's/^TORCH_INSTALL_PREFIX[^=]*=//p;s/^Torch_DIR:PATH=//p' "$build/CMakeCache.txt")
torch=${torch%%$'\n'*}
torch=$(cd "${torch%/share/cmake/Torch}" && pwd)
of_the_system='ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libstdc\+\+|libgcc_s'
for program in "${programs[@]}"; do ldd "$build/bin/$program"; done |
  awk '/=> \// { print $3 }' | sort -u |
  grep -Ev "^$torch/|/nvidia/|/usr/local/cuda|/lib(torch|c10|cud|cu[a-z]+|nvrtc|nccl|nvToolsExt|nvperf|cupti|nvshmem)[^/]*$" |
  grep -Ev "/($of_the_system)\.so" |
  while read -r library; do strip -o "$output/lib/$(basename "$library")" "$(readlink -f "$library")"; done

# translate loads it when it is asked for a GPU.
library=$(find "$build" -maxdepth 1 -name 'libtransmute_torch.so.*.*.*')
[[ -f $library ]] || fail "$build has no libtransmute_torch.so; build first, see --help"
strip -o "$output/lib/$(basename "${library%.*}")" "$library"

gzip --best "$output"/{bin,lib}/* # ICU's data alone have 30 MiB
cp "$root/configs/multi30k_en_de_small.yaml" "$output/configs/"
cp "${texts[@]}" "$output/text/"
cp "$root"/benchmarks/{train_torch,translate_torch,translate_ctranslate2}.py "$output/"
if [[ -n $ctranslate2 ]]; then
  python3 -m zipfile -e "$ctranslate2" "$output/ctranslate2"
  find "$output/ctranslate2" -name '*.so*' -exec strip {} + # its extension has 60 MiB of symbols
  python3 -c 'import shutil, sys; shutil.make_archive(sys.argv[1], "xztar", sys.argv[1])' "$output/ctranslate2"
  rm -r "$output/ctranslate2"
fi
cp "$root/scripts/gpu_check.sh" "$root/scripts/yaml.sh" "$output/"
git -C "$root" describe --always --dirty >"$output/commit" 2>/dev/null || echo unknown >"$output/commit"

mebibytes=$(du --summarize --apparent-size --block-size=1M "$output" | cut -f 1)
echo "gpu_pack: $output has $mebibytes MiB; on the machine with the GPU: $output/gpu_check.sh"
((mebibytes <= 60)) || fail "$output is larger than 60 MiB"
