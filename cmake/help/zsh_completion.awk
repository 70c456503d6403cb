# SPDX-License-Identifier: Apache-2.0
# A completion for zsh from the records of parse.awk. Set `program` to the program's name.
BEGIN { FS = "\t"; quote = "'" }
function plain(text) { # within '--flag[text]'
  gsub(/\\/, "\\\\", text); gsub(/\[/, "\\[", text); gsub(/\]/, "\\]", text); gsub(/:/, "\\:", text)
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
  } else if ($5 ~ /^(TEXT|FOLDER)/) {
    value = ":file:_files"
  } else if ($5 != "") {
    value = ":" tolower($5) ":"
  }
  several = $5 ~ /\.\.\.$/ ? "*" : ""
  if ($3 ~ /^-/) {
    lines = lines " \\\n  " quote several $3 "[" plain($9) "]" value quote
    if ($4 != "") lines = lines " \\\n  " quote $4 "[" plain($9) "]" quote
  } else {
    lines = lines " \\\n  " quote "*:" $3 ":_files" quote
  }
}
END {
  printf "#compdef %s transmute-%s\n", program, program
  printf "# zsh completion for %s of transmute; made from its --help.\n", program
  printf "_arguments%s\n", lines
}
