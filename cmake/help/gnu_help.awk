# SPDX-License-Identifier: Apache-2.0
# Help in GNU's style, which help2man understands, from the records of parse.awk. Set `program` to the program's name.
BEGIN { FS = "\t" }
$1 == "about" { about = $2 }
$1 == "usage" { printf "Usage: %s %s\n\n%s\n", program, $2, about }
$1 == "option" {
  if ($2 != group) {
    group = $2
    printf "\n%s:\n", group
  }
  name = $3
  if ($4 != "") name = $4 ", " name
  values = $6
  gsub(/,/, "|", values)
  value = values != "" ? values : $5
  # help2man takes --flag=VALUE for a flag with its value.
  if (value != "" && $3 ~ /^-/) name = name "=" value
  text = $9
  if ($8 != "") text = text " (required)"
  if ($7 != "") text = text " (default: " $7 ")"
  printf "  %s    %s\n", name, text
}
