# SPDX-License-Identifier: Apache-2.0
# A completion for bash from the records of parse.awk. Set `program` to the program's name.
BEGIN { FS = "\t" }
$1 != "option" { next }
$3 ~ /^-/ {
  flags = flags " " $3
  if ($6 != "") {
    words = $6
    gsub(/,/, " ", words)
    cases = cases "    " $3 ") COMPREPLY=($(compgen -W '" words "' -- \"$current\")); return ;;\n"
  } else if ($3 == "--device") {
    cases = cases "    --device) COMPREPLY=($(compgen -W 'cpu cuda auto' -- \"$current\")); return ;;\n"
  } else if ($5 == "TEXT" || $5 == "TEXT..." || $5 ~ /^FOLDER/) {
    files = files (files == "" ? "" : " | ") $3
  } else if ($5 != "") {
    numbers = numbers (numbers == "" ? "" : " | ") $3
  }
}
END {
  printf "# bash completion for %s of transmute; made from its --help.\n", program
  printf "_transmute_%s() {\n", program
  print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}"
  print "  COMPREPLY=()"
  print "  case $previous in"
  printf "%s", cases
  if (files != "") print "    " files ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;"
  if (numbers != "") print "    " numbers ") return ;;"
  print "  esac"
  print "  if [[ $current == -* ]]; then"
  printf "    COMPREPLY=($(compgen -W '%s' -- \"$current\"))\n", substr(flags, 2)
  print "  else"
  print "    COMPREPLY=($(compgen -f -- \"$current\"))"
  print "  fi"
  print "}"
  printf "complete -o filenames -F _transmute_%s %s transmute-%s\n", program, program, program
}
