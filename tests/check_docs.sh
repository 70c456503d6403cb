#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails on a dead relative link in a Markdown page, on a heading that a link names and no page has, and on a README of
# over 120 lines.
set -euo pipefail
cd "$(dirname "$0")/.."

# The anchors that GitHub makes of a page's headings.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed -E 's/^#+ +//; s/\[([^]]*)\]\([^)]*\)/\1/g' |
    tr '[:upper:]' '[:lower:]' | sed -E 's/[^[:alnum:]_ -]//g; s/ /-/g'
}

status=0
while IFS= read -r page; do
  while IFS= read -r link; do
    case "$link" in http://* | https://* | mailto:*) continue ;; esac
    path=${link%%#*}
    target=$page
    [[ -z $path ]] || target=$(dirname "$page")/$path
    if [[ ! -e $target ]]; then
      echo "$page: the link $link leads nowhere"
      status=1
    elif [[ $link == *#* ]] && ! anchors "$target" | grep -xF -- "${link#*#}" >/dev/null; then
      echo "$page: $target has no heading for the link $link"
      status=1
    fi
  done < <(awk '/^```/ { code = !code } !code' "$page" | tr '\n' ' ' | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\((.*)\)$/\1/')
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*' -not -path './runs/*' -not -path './data/*')

lines=$(wc -l <README.md)
if [[ $lines -gt 120 ]]; then
  echo "README.md has $lines lines; at most 120 are wanted: the details belong into docs/"
  status=1
fi
exit $status
