#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building transmute needs and this machine lacks, from the packages of Debian or Ubuntu. Says what it
# installs, asks nothing, and does nothing where all is there. Works as root or through sudo.
set -euo pipefail

packages=(
  g++ make cmake ninja-build ccache pkg-config ca-certificates
  libsentencepiece-dev libyaml-cpp-dev libcli11-dev libspdlog-dev nlohmann-json3-dev
  zlib1g-dev libdeflate-dev libmd4c-dev libicu-dev libgtest-dev libgmock-dev
  libboost-dev libssl-dev libcld2-dev libcurl4-openssl-dev libarchive-dev
  help2man # for the manual pages
  dpkg-dev file # for cpack
)
# Formatting and lint are checked by the tests; one version, because versions disagree. Later releases no longer have
# it: there the checks are skipped. doxygen finds public symbols without documentation.
test_packages=(doxygen)
case "$(. /etc/os-release 2>/dev/null; echo "${VERSION_CODENAME:-}")" in
  bookworm | jammy | noble) test_packages+=(clang-format-14 clang-tidy-14) ;;
esac

# OpenBLAS, because LibTorch's package is content with the reference BLAS, which multiplies ten times as slowly.
torch_packages=(libtorch-dev libgloo-dev libopenblas0-pthread)

usage="usage: scripts/setup.sh [--tests] [--without-torch]
  --tests          also what only the tests need
  --without-torch  what a build with -DTRANSMUTE_WITH_TORCH=OFF needs, which translates and does not train"
for option in "$@"; do
  case "$option" in
    --tests) packages+=("${test_packages[@]}") ;;
    --without-torch) torch_packages=() ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "setup: error: unknown argument $option"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
packages+=("${torch_packages[@]}")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is neither Debian nor Ubuntu. Install a C++17 compiler, CMake 3.25, Ninja and the libraries that" \
    "third_party/README.md lists, then run: cmake --preset release && cmake --build --preset release" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [[ $status == ii* ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing, and installing them takes root or sudo:" \
      "${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! "${as_root[@]}" apt-get update >"$log" 2>&1 ||
  ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup: the packages could not be installed (the end of apt's output is above)" >&2
  exit 1
fi
