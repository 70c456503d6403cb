# SPDX-License-Identifier: Apache-2.0
# For scripts that source it, and have a function fail <message>.

# Keeps in a file what its folder is made with; a missing file counts as an empty one. Other settings need another
# folder, unless nothing has come of the old ones yet, as after a slip that a program refused.
settle() { # settle <file> <settings> <what they are> <what comes of them>…
  local file=$1 settings=$2 what=$3 made
  shift 3
  if [[ $(cat "$file" 2>/dev/null) != "$settings" ]]; then
    for made; do
      [[ ! -e $made ]] || fail "$(dirname "$file") was begun with another $what; delete it, or use another --output"
    done
  fi
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$settings" >"$file"
}
