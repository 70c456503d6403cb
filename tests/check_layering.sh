#!/usr/bin/env bash
# Fails on an include that looks up the order of the folders: a file may include what stands to its folder's left.
# Also on <torch/…> in the folders and headers that promise to do without.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A rank=([common]=0 [tokenizer]=1 [model]=1 [translation]=2 [training]=3 [scripts]=4 [tests]=5 [benchmarks]=5)
torch_free=(common tokenizer translation/language_model.h translation/translator.h translation/search_options.h translation/bleu.h model/options.h)
status=0

while IFS=: read -r file line text; do
  from=${file%%/*}
  to=${text#*<transmute/}
  to=${to%%/*}
  if [[ -z ${rank[$to]:-} ]]; then
    echo "$file:$line: <transmute/$to/…> is no folder of the project"
    status=1
  elif [[ $from != "$to" && ${rank[$to]} -ge ${rank[$from]} && ${rank[$from]} -lt 5 ]]; then
    echo "$file:$line: $from may not include from $to"
    status=1
  fi
done < <(grep -rn --include='*.h' --include='*.cpp' '#include <transmute/' "${!rank[@]}")

if grep -rnE '#include <(torch|ATen|c10)/' "${torch_free[@]}"; then
  echo "the files above must do without LibTorch"
  status=1
fi
if grep -rnE --include='*.h' --include='*.cpp' '#include "' "${!rank[@]}"; then
  echo "the includes above must be spelled <transmute/…>"
  status=1
fi
exit $status
