# SPDX-License-Identifier: Apache-2.0
# Markdown tables from the records of parse.awk, one table for each group of options.
BEGIN { FS = "\t" }
function cell(text) { gsub(/\|/, "\\|", text); gsub(/</, "\\&lt;", text); return text }
$1 == "about" { print cell($2) }
$1 == "option" && $3 != "--help" {
  if ($2 != group) {
    group = $2
    printf "\n%s\n\n| %s | default | meaning |\n|---|---|---|\n", group, group == "Positionals" ? "argument" : "flag"
  }
  value = $6 != "" ? gensub_comma($6) : $5
  printf "| `%s%s` | %s | %s |\n", $3, value == "" ? "" : " " value, $7 == "" ? $8 : "`" $7 "`", cell($9)
}
function gensub_comma(choices) { gsub(/,/, "\\|", choices); return choices }
