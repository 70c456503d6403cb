#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs transmute into a clean folder, builds the foreign project beside this file against it, and runs it. What needs
# LibTorch is left out where the build did without.
# usage: run.sh BUILD_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "consumer: $*" >&2
  exit 1
}

with_torch=$(sed -n 's/^TRANSMUTE_WITH_TORCH:BOOL=//p' "$build/CMakeCache.txt")

# Where something has not been built, nothing is installed.
cmake -S "$here/../.." -B "$work/unbuilt" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRANSMUTE_BUILD_TESTS=OFF \
  "-DTRANSMUTE_WITH_TORCH=$with_torch" \
  $(sed -n 's/^\(CMAKE_PREFIX_PATH\|Torch_DIR\):[^=]*=\(..*\)/-D\1=\2/p' "$build/CMakeCache.txt") >"$work/unbuilt.log" 2>&1 ||
  fail "$(tail "$work/unbuilt.log")"
for component in "" "--component runtime" "--component dev"; do
  # shellcheck disable=SC2086
  if cmake --install "$work/unbuilt" --prefix "$work/nothing" $component >"$work/unbuilt.log" 2>&1; then
    fail "an installation of what was not built"
  fi
  grep -q -- "--target installation" "$work/unbuilt.log" || fail "$(cat "$work/unbuilt.log")"
  [ ! -e "$work/nothing" ] || fail "half an installation: $(find "$work/nothing")"
done

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "$(cat "$work/install.log")"
mv "$work/first" "$work/prefix" # it must not matter where it is
prefix=$work/prefix
libraries=$(dirname "$(find "$prefix" -name libtransmute.so)")

# A small model, trained by the installed programs where they can.
"$prefix/bin/transmute" make_demo_corpus --output "$work/data" --max-number 99 >/dev/null
model=$here/../data/formats/marian_ctranslate2
if [ "$with_torch" = ON ]; then
  cat >"$work/tiny.yaml" <<END
data: {folder: "$work/data", train_source: train.en, train_target: train.de}
tokenizer: {vocab_size: 200}
model: {num_encoder_layers: 1, num_decoder_layers: 1, d_model: 32, num_heads: 2, d_ff: 64}
training: {max_steps: 30, batch_tokens: 1000, warmup_steps: 10}
END
  "$prefix/bin/transmute-train" --config "$work/tiny.yaml" --run-folder "$work/run" >"$work/train.log" 2>&1 ||
    fail "$(tail "$work/train.log")"
  model=$work/run/model
fi
head -n 40 "$work/data/test.en" >"$work/lines.en"
"$prefix/bin/transmute-translate" --model "$model" <"$work/lines.en" >"$work/lines.de" 2>"$work/translate.log" ||
  fail "$(cat "$work/translate.log")"

# CMake. What is installed compiles with what is installed, and none of it is internal.
cp -r "$here" "$work/project"
(cd "$prefix/include" && find . -name '*.h' -printf '#include <%P>\n' | sort) >"$work/project/all_headers.cpp"
grep -q '<transmute/translation/translator.h>' "$work/project/all_headers.cpp" || fail "no headers"
if grep -E 'kernels|autograd|engine|reporting' "$work/project/all_headers.cpp"; then fail "internal headers are installed"; fi
cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  "-DWITH_TORCH=$with_torch" >"$work/configure.log" 2>&1 || fail "$(cat "$work/configure.log")"
cmake --build "$work/build" >"$work/build.log" 2>&1 || fail "$(cat "$work/build.log")"
cmake --install "$work/build" --prefix "$work/application" >"$work/install.log" || fail "$(cat "$work/install.log")"
for program in build/thread_pool build/static_thread_pool application/bin/static_thread_pool; do
  "$work/$program" "$model" 4 <"$work/lines.en" | cmp - "$work/lines.de" || fail "$program: other translations"
done
if [ "$with_torch" = ON ]; then
  "$work/build/modules" "$model" "$(head -n 1 "$work/lines.en")" || fail "modules"
  "$work/build/train" "$work/tiny.yaml" "$work/own" "$(head -n 1 "$work/lines.en")" >/dev/null 2>"$work/train.log" ||
    fail "train: $(tail "$work/train.log")"
  [ -d "$work/own/model" ] || fail "train left no model"
else
  if cmake -S "$work/project" -B "$work/refused" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DWITH_TORCH=ON \
    >"$work/configure.log" 2>&1; then fail "a component that needs LibTorch was found"; fi
  grep -q "built without LibTorch" "$work/configure.log" || fail "$(cat "$work/configure.log")"
  if grep -rl 'torch/' "$prefix/include" || find "$prefix" -name '*_torch.*' -o -name transmute-train | grep .; then
    fail "this needs LibTorch"
  fi
fi

# An optional component without what it needs leaves the rest.
mkdir "$work/optional"
cat >"$work/optional/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(optional LANGUAGES CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_Torch TRUE)
find_package(transmute 0.1 REQUIRED OPTIONAL_COMPONENTS modules nonsense)
if(transmute_modules_FOUND OR transmute_nonsense_FOUND OR NOT TARGET transmute::transmute)
  message(FATAL_ERROR "found: \${transmute_modules_FOUND} \${transmute_nonsense_FOUND} \${transmute_FOUND}")
endif()
END
cmake -S "$work/optional" -B "$work/optional/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log" 2>&1 ||
  fail "$(cat "$work/configure.log")"

# The source tree within another project: what applications include is found there, and nothing internal.
torch=$(sed -n 's/^Torch_DIR:PATH=//p' "$build/CMakeCache.txt")
mkdir "$work/outer"
cat >"$work/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(outer LANGUAGES C CXX)
add_subdirectory("$(cd "$here/../.." && pwd)" transmute)
file(GENERATE OUTPUT folders CONTENT "\$<TARGET_PROPERTY:transmute::transmute,INTERFACE_INCLUDE_DIRECTORIES>")
END
cmake -S "$work/outer" -B "$work/outer/build" -G Ninja -DTorch_DIR="$torch" "-DTRANSMUTE_WITH_TORCH=$with_torch" \
  >"$work/configure.log" 2>&1 ||
  fail "$(cat "$work/configure.log")"
included=$(cat "$work/outer/build/folders")
[[ $included != *";"* ]] || fail "several include folders: $included"
"${CC:-cc}" -fsyntax-only -I"$included" "$here/translate.c" || fail "add_subdirectory: transmute.h is not found"
"${CXX:-c++}" -std=c++17 -fsyntax-only -I"$included" "$here/thread_pool.cpp" || fail "add_subdirectory: no translator.h"
if [ -e "$included/transmute/translation/engine.h" ]; then fail "internal headers are public"; fi

# pkg-config, in C.
if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046 # flags
  "${CC:-cc}" "$here/translate.c" -o "$work/translate_c" \
    $(PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --cflags --libs transmute) || fail "pkg-config"
  LD_LIBRARY_PATH="$libraries" "$work/translate_c" "$model" "$(head -n 1 "$work/lines.en")" 2>/dev/null |
    head -n 1 | cut -f 1 >"$work/first.c"
  # A translation that is streamed is not searched for again.
  head -n 1 "$work/lines.en" | "$prefix/bin/transmute-translate" --model "$model" --guard warn 2>/dev/null |
    cmp "$work/first.c" || fail "translate_c: another translation"
fi

# The program in the docs, by the command in the docs.
if command -v pkg-config >/dev/null; then
  page=$here/../../docs/embedding_in_applications.md
  in_section_c() { awk -v fence="\`\`\`$1" '/^## /{ c = $2 == "C" } c && $0 == "```" { inside = 0 } inside; c && $0 == fence { inside = 1 }' "$page"; }
  mkdir -p "$work/docs/runs/demo"
  ln -s "$model" "$work/docs/runs/demo/model"
  in_section_c c >"$work/docs/translate.c"
  [ -s "$work/docs/translate.c" ] || fail "the docs have no program in C"
  in_section_c sh | sed "s|\$HOME/transmute/lib|$libraries|g" >"$work/docs/commands.sh"
  (cd "$work/docs" && bash -eu commands.sh) >"$work/docs/output" 2>"$work/docs/errors" || fail "the docs' C: $(cat "$work/docs/errors")"
  echo '9 hours, 30 minutes' | "$prefix/bin/transmute" translate --model "$model" 2>/dev/null | cmp - "$work/docs/output" ||
    fail "the docs' C program: another translation"
fi

# Links between the installed pages lead somewhere.
pages=$prefix/share/doc/transmute
links=0
while IFS=: read -r page link; do
  [ -e "$(dirname "$page")/${link%%#*}" ] || fail "$page links $link, which is not installed"
  links=$((links + 1))
done < <(grep -rHoE '\]\([^)#:]+(#[^)]*)?\)' --include=*.md "$pages" | sed -E 's/:\]\(/:/; s/\)$//')
[ "$links" -gt 0 ] || fail "$pages has no links"

# What is installed has names that others do not have, a manual each, and completions.
for program in "$prefix"/bin/*; do
  name=$(basename "$program")
  case $name in transmute | transmute-*) ;; *) fail "installed as $name" ;; esac
  if [ -d "$prefix/share/man/man1" ]; then
    [ -f "$prefix/share/man/man1/$name.1" ] || fail "no manual for $name"
  fi
  bash -n "$prefix/share/bash-completion/completions/$name" || fail "completion of $name"
done
completed=$(bash -c "source '$prefix/share/bash-completion/completions/transmute'
  COMP_WORDS=(transmute translate --beam-s) COMP_CWORD=2; _transmute; echo \${COMPREPLY[*]}")
for file in "$prefix"/share/zsh/site-functions/_*; do  # bash reads as much of zsh as they use
  bash -n "$file" || fail "completion for zsh: $file"
done
[ "$completed" = --beam-size ] || fail "completion of transmute translate: $completed"
if "$work/build/translate_c" "$work/missing" text 2>"$work/error"; then fail "translate_c found a missing model"; fi
grep -q missing "$work/error" || fail "no word about the missing model: $(cat "$work/error")"
echo "consumer: all ran"
