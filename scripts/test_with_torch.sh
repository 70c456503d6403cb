#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests transmute against the LibTorch of a torch wheel, from nothing: a virtual environment, the wheel, a build,
# every test. The wheel of PyTorch's default index has several gigabytes. Interrupted, it continues where it was.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: scripts/test_with_torch.sh VERSION|newest [--folder build/torch-VERSION] [--jobs N] [-- CTEST ARGUMENTS]

VERSION: of torch, such as 2.11.0. --folder: where the virtual environment and the build go. --jobs: compilers and tests
at once (default: one per core). Whatever follows -- goes to ctest, such as: -L unit. PIP_INDEX_URL chooses another
index, such as https://download.pytorch.org/whl/cpu for wheels without CUDA.
Exit status: 0 if all tests pass, 2 for bad usage."
fail() { echo "test_with_torch: error: $1" >&2; exit "${2:-1}"; }
[[ $# -ge 1 ]] || fail "which version of torch?"$'\n'"$usage" 2
[[ $1 != --help ]] || { echo "$usage"; exit 0; }
version=$1
shift
folder=build/torch-$version
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --folder) folder=${2:?$usage}; shift 2 ;;
    --jobs) jobs=${2:?$usage}; shift 2 ;;
    --) shift; break ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
  esac
done
[[ $version == newest || $version =~ ^[0-9]+(\.[0-9]+)*$ ]] || fail "\"$version\" is no version of torch" 2

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
venv=$folder/venv
if [[ ! -f $folder/installed ]]; then
  free=$(($(stat --file-system --format='%a * %S' "$folder") / 1024 / 1024 / 1024))
  ((free >= 12)) || fail "$folder has $free GiB free; torch and a build need up to 12"
  python3 -m venv "$venv" || fail "python3 -m venv failed (Debian: python3-venv)"
  wheel=torch
  [[ $version == newest ]] || wheel=torch==$version
  "$venv/bin/pip" install --quiet "$wheel" numpy
  touch "$folder/installed"
fi
export PATH=$venv/bin:$PATH # the tests that load exported files in Python find this one
prefix=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')
python3 -c 'import torch; print("torch", torch.__version__, "with CUDA", torch.version.cuda)'

preset=release
[[ $(python3 -c 'import torch; print(torch.version.cuda is not None)') != True ]] || preset=cuda
cmake --preset "$preset" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -DTRANSMUTE_PYTHON3="$venv/bin/python3" \
  -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
cmake --build "$folder/build" --parallel "$jobs"
exec ctest --test-dir "$folder/build" --output-on-failure --no-label-summary --parallel "$jobs" "$@"
