#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails on an include that points up the ladder of folders, on a cycle of files, and on <torch/…> in the folders and
# headers that promise to do without.
set -euo pipefail
cd "$(dirname "$0")/.."

# Lowest first. What stands on one line is independent of each other. The longest matching path decides where a file
# belongs; a path with a dot in its end stands for a header and its source.
ladder='
common
tokenizer metrics
model/options. model/libtorch. model/plain_errors. model/torch_compat. model/threading.
model/kernels
model
translation/precision. translation/search_options.
translation/types.
translation/checks
translation/files
translation/files/formats
translation/files/load_model.
translation/search
translation/inference
translation/text
translation/torchscript translation/explorer
translation
training/data training/distributed training/reporting
training serving parsing
programs
tests benchmarks fuzz
'
torch_free=(common tokenizer metrics serving training/config.h translation/files/model_config.h translation/language_model.h
  translation/precision.h translation/search_options.h translation/translator.h translation/transmute.h translation/types.h
  model/options.h)
folders=(common tokenizer metrics model translation training serving parsing programs tests benchmarks fuzz)
sources=(--include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh')
status=0

# includes <file with its line>: "file:line included", all of the project's.
includes=$(grep -rnoE "${sources[@]}" '#include <transmute/[^>]+>' "${folders[@]}" |
  sed -E 's/:#include <transmute\/(.*)>$/ \1/')

# One awk knows the ladder; from the top, a test or a benchmark may include what it likes.
if ! LADDER=$ladder awk '
  BEGIN {
    lines = split(ENVIRON["LADDER"], line, "\n")
    for (i = 1; i <= lines; i++) {
      paths = split(line[i], path, " ")
      for (j = 1; j <= paths; j++) rank[path[j]] = i
    }
    top = rank["tests"]
  }
  function room(file,   path, best) {
    for (path in rank) {
      prefix = path ~ /\.$/ ? path : path "/"
      if (index(file, prefix) == 1 && length(path) > length(best)) best = path
    }
    return best
  }
  {
    place = $1
    sub(/:[0-9]+$/, "", $1)
    from = room($1)
    to = room($2)
    if (to == "") {
      print place ": <transmute/" $2 "> is in no folder of the project"
      wrong = 1
    } else if (from != to && rank[from] < top && rank[to] >= rank[from]) {
      print place ": " from " may not include from " to " (<transmute/" $2 ">)"
      wrong = 1
    }
  }
  END { exit wrong }' <<<"$includes"; then
  status=1
fi

# A header and its source count as one.
pairs=$(awk '{ sub(/\.(h|cpp|cu):[0-9]+$/, "", $1); sub(/\.h$/, "", $2); if ($1 != $2) print $1, $2 }' <<<"$includes")
if ! cycle=$(tsort <<<"$pairs" 2>&1 >/dev/null); then
  echo "files that include each other in a circle:"
  sed 's/^tsort: //' <<<"$cycle"
  status=1
fi

if grep -rnE '#include <(torch|ATen|c10)/' "${torch_free[@]}"; then
  echo "the files above must do without LibTorch"
  status=1
fi
if grep -rnE --include='*.h' --include='*.cpp' '#include "' "${folders[@]}"; then
  echo "the includes above must be spelled <transmute/…>"
  status=1
fi
exit $status
