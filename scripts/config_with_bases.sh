#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints a config after those that its `base:` names, for scripts that notice when one of them has changed.
# usage: config_with_bases.sh FILE
set -euo pipefail

with_bases() { # with_bases <config> <depth>
  local base
  if (($2 > 16)); then
    echo "config_with_bases: error: $1: more than 16 files in the chain of \"base\"; does it name itself?" >&2
    exit 1
  fi
  base=$(sed -nE "1s/^\xef\xbb\xbf//; s/^(base|\"base\"|'base')[[:space:]]*:[[:space:]]+//p" "$1" | sed -E '
    s/^"(([^"\]|\\.)*)".*/\1/; t escaped
    s/^'\''([^'\'']*)'\''.*/\1/; t
    s/[[:space:]]+(#.*)?$//; b
    :escaped
    s/\\(.)/\1/g')
  case $base in
    /*) with_bases "$base" $(($2 + 1)) ;;
    ?*) with_bases "$(dirname "$1")/$base" $(($2 + 1)) ;;
  esac
  cat "$1"
}
with_bases "$1" 0
