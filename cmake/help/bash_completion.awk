# SPDX-License-Identifier: Apache-2.0
# A completion for bash from the records of --help-records. Set `program` to the name without transmute-.
BEGIN { FS = "\t" }
$1 != "option" { next }
$3 ~ /^-/ {
  flags = flags " " $3
  names = $4 == "" ? $3 : $3 " | " $4
  if ($6 != "") {
    words = $6
    gsub(/,/, " ", words)
    cases = cases "    " names ") COMPREPLY=($(compgen -W '" words "' -- \"$current\")); return ;;\n"
  } else if ($3 == "--device") {
    cases = cases "    --device) COMPREPLY=($(compgen -W 'cpu cuda auto' -- \"$current\")); return ;;\n"
  } else if ($5 ~ /^(FILE|FOLDER|MODEL)/) {
    files = files (files == "" ? "" : " | ") names
  } else if ($5 != "") {
    numbers = numbers (numbers == "" ? "" : " | ") names
  }
}
END {
  printf "# bash completion for transmute-%s; made from its --help-records.\n", program
  printf "_transmute_%s() {\n", program
  print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}"
  print "  COMPREPLY=()"
  print "  case $previous in"
  printf "%s", cases
  if (files != "") print "    " files ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;"
  if (numbers != "") print "    " numbers ") return ;;"
  print "  esac"
  print "  if [[ $current == -* ]]; then"
  printf "    COMPREPLY=($(compgen -W '%s' -- \"$current\"))\n", substr(flags, 2)
  print "  else"
  print "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
  print "  fi"
  print "}"
  printf "complete -o filenames -F _transmute_%s transmute-%s\n", program, program
}
