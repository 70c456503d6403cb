# SPDX-License-Identifier: Apache-2.0
# A completion for zsh from the records of --help-records. Set `program` to the name without transmute-.
BEGIN { FS = "\t"; quote = "'" }
function plain(text) { # within '--flag[text]'
  gsub(/[\\\[\]:]/, "\\\\&", text)
  gsub(quote, quote "\\" quote quote, text)
  return text
}
BEGIN { lines = "" }
$1 != "option" { next }
{
  value = ""
  if ($6 != "") {
    words = $6
    gsub(/,/, " ", words)
    value = ":value:(" words ")"
  } else if ($3 == "--device") {
    value = ":device:(cpu cuda auto)"
  } else if ($5 ~ /^(FILE|FOLDER|MODEL)/) {
    value = ":file:_files"
  } else if ($5 != "") {
    value = ":" tolower($5) ":"
  }
  several = $5 ~ /\.\.\.$/ ? "*" : ""
  if ($3 ~ /^-/) {
    lines = lines " \\\n  " quote several $3 "[" plain($9) "]" value quote
    if ($4 != "") lines = lines " \\\n  " quote several $4 "[" plain($9) "]" value quote
  } else {
    lines = lines " \\\n  " quote "*:" $3 ":_files" quote
  }
}
END {
  printf "#compdef transmute-%s\n", program
  printf "# zsh completion for transmute-%s; made from its --help-records.\n", program
  printf "_arguments%s\n", lines
}
