#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_man_page.sh HELP2MAN VERSION PROGRAM OUTPUT: a manual page from a program's --help.
set -eu
help2man=$1 version=$2 program=$3 output=$4
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" --help >"$work/help"
awk -f "$here/parse.awk" "$work/help" >"$work/records"
awk -v program="$name" -f "$here/gnu_help.awk" "$work/records" >"$work/gnu_help"
# The first words of the description, up to a comma or a stop, in lower case at the beginning.
summary=$(awk -F'\t' '$1 == "about" {
  text = $2; sub(/[,.:;(].*$/, "", text); gsub(/ +$/, "", text); print tolower(substr(text, 1, 1)) substr(text, 2) }' \
  "$work/records")

# help2man runs a program of this name.
cat >"$work/$name" <<END
#!/bin/sh
cat "$work/gnu_help"
END
chmod +x "$work/$name"
"$help2man" --no-info --no-discard-stderr --section=1 --name="$summary" --source="transmute $version" \
  --version-string="$name (transmute) $version" --manual="transmute" --include="$here/man_sections.txt" \
  --output="$output" "$work/$name"
