# SPDX-License-Identifier: Apache-2.0
# The completion of `transmute` for zsh from the records of its --help-records: its commands, then each one's flags.
BEGIN { FS = "\t"; quote = "'" }
$1 == "command" {
  gsub(quote, quote "\\" quote quote, $3)
  commands = commands " " quote $2 ":" $3 quote
}
END {
  print "#compdef transmute"
  print "# zsh completion for transmute; made from its --help-records."
  printf "local -a commands=(%s)\n", substr(commands, 2)
  print "if ((CURRENT == 2)); then"
  print "  _describe command commands"
  print "else"
  print "  local command=${words[2]//-/_}"
  print "  shift words"
  print "  ((CURRENT--))"
  print "  (( $+functions[_transmute-$command] )) || autoload -Uz \"_transmute-$command\""
  print "  \"_transmute-$command\""
  print "fi"
}
