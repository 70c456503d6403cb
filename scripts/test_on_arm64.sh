#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds transmute for ARM64 on an x86-64 machine and tests it in an emulator, from nothing: a folder with Debian's
# libraries for ARM64, a cross compiler's build against them, tests. Emulation is some 10 to 30 times as slow as a real
# machine and says nothing about speed. Interrupted, it continues where it was.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: scripts/test_on_arm64.sh [--folder build/arm64] [--jobs N] [--without-torch] [-- CTEST ARGUMENTS]

--folder: where Debian's libraries and the build go (3 GB; 1 GB without LibTorch). --jobs: compilers and tests at once
(default: one per core). --without-torch: only what translates, the Python package included.
Whatever follows -- goes to ctest (default: -L unit). The emulated CPU is QEMU_CPU (default: neoverse-n1, then for the
tests of the engine's kernels max, which has bfloat16 too). Needs the packages g++-aarch64-linux-gnu, mmdebstrap and
qemu-user-static.
Exit status: 0 if all tests pass, 2 for bad usage."
fail() { echo "test_on_arm64: error: $1" >&2; exit "${2:-1}"; }
folder=build/arm64
jobs=$(nproc)
torch_packages=,libtorch-dev,libgloo-dev,libopenblas0-pthread with_torch=ON
while [[ $# -gt 0 ]]; do
  case "$1" in
    --help) echo "$usage"; exit 0 ;;
    --folder) folder=${2:?$usage}; shift 2 ;;
    --jobs) jobs=${2:?$usage}; shift 2 ;;
    --without-torch) torch_packages="" with_torch=OFF; shift ;;
    --) shift; break ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
  esac
done
[[ $# -gt 0 ]] || set -- -L unit

for program in aarch64-linux-gnu-g++ mmdebstrap qemu-aarch64-static; do
  command -v "$program" >/dev/null ||
    fail "$program is missing (Debian: apt install g++-aarch64-linux-gnu mmdebstrap qemu-user-static)"
done
[[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]] ||
  fail "Linux does not know what to run ARM64 programs with. As root: mount -t binfmt_misc none /proc/sys/fs/binfmt_misc;
cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
if [[ ! -f $folder/installed ]]; then
  rm -rf "$root"
  mmdebstrap --quiet --architectures=arm64 --variant=extract --skip=check/qemu --include="libc6-dev,libstdc++-12-dev,\
python3,libsentencepiece-dev,libyaml-cpp-dev,libcli11-dev,libspdlog-dev,nlohmann-json3-dev,zlib1g-dev,libdeflate-dev,\
libmd4c-dev,libicu-dev,libgtest-dev,libgmock-dev,libboost-dev,libssl-dev,libcld2-dev,libcurl4-openssl-dev,\
libarchive-dev$torch_packages" \
    bookworm "$root"
  # Links to absolute paths would lead out of it.
  find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done
  # What configuring the packages would do.
  [[ $with_torch == OFF ]] || ln -sfn openblas-pthread/lib{blas.so.3,lapack.so.3,openblas.so.0} "$root/usr/lib/aarch64-linux-gnu/"
  touch "$folder/installed"
fi

cat >"$folder/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT "$root")
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
EOF
export PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig
export QEMU_LD_PREFIX=$root # where the emulator finds libraries
cmake --preset release -B "$folder/build" -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" \
  -DTRANSMUTE_WITH_TORCH=$with_torch -DTRANSMUTE_PYTHON3="$root/usr/bin/python3" -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
cmake --build "$folder/build" --parallel "$jobs"

run_tests() { ctest --test-dir "$folder/build" --output-on-failure --no-label-summary --parallel "$jobs" "$@"; }
# What the emulator does not do: ulimit -v, flags in /proc/self/smaps, SO_BINDTODEVICE.
beyond_emulation='^(common\.(Memory|ThreadsThatCannotBeStarted)$|training\..*ProcessGroup)'
# LibTorch 1.13's oneDNN fails at bfloat16 products on ARM64, which the tests need as references: a CPU without them.
QEMU_CPU=${QEMU_CPU:-neoverse-n1} run_tests -E "$beyond_emulation" "$@"
# The seven suites that CTest runs, or leaves out, together with ProcessGroups.
group=$(ctest --test-dir "$folder/build" -N -R '^training\..*ProcessGroup' "$@" | sed -n 's/.*: training\.//p')
[[ -z $group ]] || QEMU_CPU=${QEMU_CPU:-neoverse-n1} "$folder/build/bin/training_tests" --gtest_brief=1 \
  --gtest_filter="${group//,/.*:}.*-ProcessGroups.*"
[[ -n ${QEMU_CPU:-} ]] || QEMU_CPU=max run_tests -R '^(engine|search)\..*(InferenceModel|PackedLinear|CandidateFinder|Attend|LayerNormOfRows)'
