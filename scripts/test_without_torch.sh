#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests what translates, in a Debian that has no LibTorch: a fresh system in a folder, with the packages that
# scripts/setup.sh --without-torch installs. Makes the archive of the programs with their libraries, and runs it in a
# second fresh system that has nothing but Debian's base.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: sudo scripts/test_without_torch.sh [--folder FOLDER] [--suite bookworm] [--other-suite trixie]

--folder: where the systems go (2 GB; default: a temporary one). Builds what is committed. Needs the package debootstrap.
Exit status: 0 if all tests pass and the archive runs, 2 for bad usage."
fail() { echo "test_without_torch: error: $1" >&2; exit "${2:-1}"; }
folder="" suite=bookworm other=trixie
while [[ $# -gt 0 ]]; do
  case "$1" in
    --help) echo "$usage"; exit 0 ;;
    --folder) folder=${2:?$usage}; shift 2 ;;
    --suite) suite=${2:?$usage}; shift 2 ;;
    --other-suite) other=${2:?$usage}; shift 2 ;;
    *) fail "unknown argument $1"$'\n'"$usage" 2 ;;
  esac
done
[[ $(id -u) -eq 0 ]] || fail "only root can make and enter such a system"
command -v debootstrap >/dev/null || fail "debootstrap is missing (Debian: apt install debootstrap)"
[[ -n $folder ]] || folder=$(mktemp -d)
mkdir -p "$folder"

for name in "$suite" "$other"; do
  [[ -e $folder/$name/etc/debian_version ]] || debootstrap --variant=minbase "$name" "$folder/$name" >"$folder/$name.log" ||
    fail "no system: $(tail -n 3 "$folder/$name.log")"
done

root=$folder/$suite
trap 'umount "$root/proc" "$root/dev" "$folder/$other/proc" 2>/dev/null || true' EXIT
mount -t proc proc "$root/proc"
mount -t proc proc "$folder/$other/proc" # the loader finds libraries beside a program by it
mount --bind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/"
rm -rf "$root/src"
mkdir "$root/src"
git archive HEAD | tar -x -C "$root/src"
chroot "$root" env HOME=/root DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c '
  cd /src
  apt-get update -qq
  scripts/setup.sh --without-torch
  if ls /usr/lib/*/libtorch* 2>/dev/null; then exit 1; fi
  cmake --preset release -DTRANSMUTE_WITH_TORCH=OFF -DTRANSMUTE_PORTABLE=ON -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
  cmake --build build/release
  ctest --test-dir build/release -j "$(nproc)" --output-on-failure
  cd build/release
  cpack -G TGZ'

# The archive, on a system without any of the libraries.
rm -rf "$folder/$other/opt/transmute"
mkdir -p "$folder/$other/opt/transmute"
tar -xzf "$root"/src/build/release/transmute-*.tar.gz --strip-components=1 -C "$folder/$other/opt/transmute"
if grep -l GLIBC_PRIVATE "$folder/$other"/opt/transmute/lib/*.so*; then fail "these libraries belong to the C library"; fi
for program in "$folder/$other"/opt/transmute/bin/transmute-*; do
  program=${program##*/}
  chroot "$folder/$other" "/opt/transmute/bin/$program" --version >/dev/null || fail "$program does not run"
done
ls -l "$root"/src/build/release/transmute-*.tar.gz
echo "test_without_torch: all passed"
