# SPDX-License-Identifier: Apache-2.0
# The completion of `transmute` for bash from the records of its --help-records: its commands, then each one's flags.
BEGIN { FS = "\t" }
$1 == "command" { commands = commands (commands == "" ? "" : " ") $2 }
END {
  print "# bash completion for transmute; made from its --help-records."
  print "_transmute() {"
  print "  if ((COMP_CWORD == 1)); then"
  printf "    COMPREPLY=($(compgen -W 'help %s' -- \"${COMP_WORDS[1]}\"))\n", commands
  print "    return"
  print "  fi"
  print "  local command=${COMP_WORDS[1]//-/_}"
  print "  if ! declare -F \"_transmute_$command\" >/dev/null; then"
  print "    local folder=${BASH_SOURCE[0]%/*}"
  print "    [[ -r $folder/transmute-$command ]] || return"
  print "    source \"$folder/transmute-$command\""
  print "  fi"
  print "  COMP_WORDS=(\"transmute-$command\" \"${COMP_WORDS[@]:2}\")"
  print "  ((COMP_CWORD--))"
  print "  \"_transmute_$command\""
  print "}"
  print "complete -o filenames -F _transmute transmute"
}
