#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_man_page.sh HELP2MAN VERSION PROGRAM NAME OUTPUT: a manual page from a program's --help.
set -eu
help2man=$1 version=$2 program=$3 name=$4 output=$5
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first words of the description, up to a comma or a stop, in lower case at the beginning.
summary=$("$program" --help-records | awk -F'\t' '$1 == "about" {
  text = $2; sub(/[,.:;(].*$/, "", text); gsub(/ +$/, "", text); print tolower(substr(text, 1, 1)) substr(text, 2) }')

# help2man runs a program of the installed name.
cat >"$work/$name" <<END
#!/bin/sh
exec "$work/target/$name" --help
END
chmod +x "$work/$name"
mkdir "$work/target"
ln -s "$(cd "$(dirname "$program")" && pwd)/$(basename "$program")" "$work/target/$name"
COLUMNS=80 "$help2man" --no-info --no-discard-stderr --section=1 --name="$summary" --source="transmute $version" \
  --version-string="$name (transmute) $version" --manual="transmute" --include="$here/man_sections.txt" \
  --output="$work/page" "$work/$name"

# help2man makes one paragraph of the examples: each is to keep its line. An example that pipes from another program calls
# that by its short name.
awk '
  /^\.SH / { if (inside) print ".fi"; inside = $0 == ".SH EXAMPLES" }
  inside { sub(/^translate /, "transmute\\-translate ") }
  { print }
  inside && /^\.IP$/ { print ".nf" }
  END { if (inside) print ".fi" }' "$work/page" >"$output"
