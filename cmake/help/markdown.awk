# SPDX-License-Identifier: Apache-2.0
# Markdown from the records of --help-records: what the program does, a table for each group of options, examples.
BEGIN { FS = "\t" }
function cell(text) { gsub(/\|/, "\\|", text); gsub(/</, "\\&lt;", text); return text }
$1 == "about" { print cell($2) }
$1 == "example" { examples = examples $2 "\n" }
$1 == "option" && $3 != "--help" && $3 != "--version" {
  if ($2 != group) {
    group = $2
    printf "\n%s\n\n| %s | default | meaning |\n|---|---|---|\n", group, group == "Arguments" ? "argument" : "flag"
  }
  value = $6 != "" ? $6 : $5
  gsub(/,/, "|", value)
  name = $4 == "" ? $3 : $4 ", " $3
  gsub(/\|/, "\\|", value)
  if (group == "Arguments" && index(value, name) == 1) { name = value; value = "" }  # TEXT TEXT...
  printf "| `%s%s` | %s | %s |\n", name, value == "" ? "" : " " value, $7 == "" ? $8 : "`" $7 "`", cell($9)
}
END { if (examples != "") printf "\nExamples\n\n```sh\n%s```\n", examples }
