# SPDX-License-Identifier: Apache-2.0
# Parses what a program's --help prints (CLI11) into tab-separated records, from which the manual pages, the completions
# and docs/programs.md are made:
#
#   about   <sentence>
#   usage   <words after the program's name>
#   option  <group> <flag or positional> <short flag> <type> <choices, by comma> <default> <required> <description>
#
# CLI11 writes the description from column 31 on, or on the next line if the option itself reaches that column.
function flush_option() {
  if (option == "") return
  short = ""; flag = option; rest = ""
  if (match(option, / /)) { flag = substr(option, 1, RSTART - 1); rest = substr(option, RSTART + 1) }
  if (match(flag, /^-[A-Za-z0-9],/)) { short = substr(flag, 1, 2); flag = substr(flag, 4) }
  sub(/ *(Needs|Excludes): .*/, "", rest)
  required = sub(/ *REQUIRED/, "", rest) ? "required" : ""
  sub(/:[A-Z]+ in \[[^]]*\]/, "", rest)                       # a range
  fallback = ""; choices = ""
  if (match(rest, /:[{][^}]*[}]/)) {
    choices = substr(rest, RSTART + 2, RLENGTH - 3)
    rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)
  }
  if (rest ~ /^[A-Z]+=[A-Z]+( |$)/) {                         # KEY=VALUE is a type
    fallback = ""
  } else if (match(rest, /=.*$/)) {                           # CLI11 before 2.2
    fallback = substr(rest, RSTART + 1); rest = substr(rest, 1, RSTART - 1)
    sub(/ *\.\.\.$/, "", fallback); gsub(/^\[|\]$/, "", fallback)
  } else if (match(rest, / *\[[^]]*\]/)) {                    # and since
    fallback = substr(rest, RSTART, RLENGTH); gsub(/^ *\[|\]$/, "", fallback)
    rest = substr(rest, 1, RSTART - 1)
  }
  sub(/:[A-Z]+/, "", rest)                                    # POSITIVE and the like
  sub(/ *\.\.\. *$/, "...", rest)
  gsub(/^ +| +$/, "", rest)
  gsub(/  +/, " ", description)
  printf "option\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", group, flag, short, rest, choices, fallback, required, description
  option = ""; description = ""
}
function is_rest_of_option(text) { return text ~ /^(Needs:|Excludes:|REQUIRED|\.\.\.|--|in \[|- [0-9]|[0-9]+\])/ }

/^Usage: / { sub(/^Usage: [^ ]+ ?/, ""); usage = $0; print "about\t" about; print "usage\t" usage; next }
usage == "" { if ($0 != "") about = about (about == "" ? "" : " ") $0; next }
/^[^ ].*:$/ { flush_option(); group = substr($0, 1, length($0) - 1); next }
/^  [^ ]/ {
  flush_option()
  option = substr($0, 3); description = ""
  if (length($0) > 30 && substr($0, 30, 1) == " " && !is_rest_of_option(substr($0, 31))) {
    option = substr($0, 3, 28); description = substr($0, 31)
  }
  sub(/ +$/, "", option); sub(/^ +/, "", description)
  next
}
/^ +[^ ]/ { sub(/^ +/, ""); description = description (description == "" ? "" : " ") $0; next }
END { flush_option() }
