#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where a public header includes one of the project's that is not installed, or where the list names a file that
# is not there. The list: cmake/public_headers.cmake.
set -euo pipefail
cd "$(dirname "$0")/.."

listed=$(grep -oE '\b[a-z0-9_]+(/[a-z0-9_]+)+\.h\b' cmake/public_headers.cmake)
status=0
for header in $listed; do
  if [[ ! -f $header ]]; then
    echo "cmake/public_headers.cmake names $header, which does not exist"
    status=1
    continue
  fi
  while read -r included; do
    if ! grep -qxF "$included" <<<"$listed"; then
      echo "$header: includes <transmute/$included>, which cmake/public_headers.cmake does not list"
      status=1
    fi
  done < <(sed -nE 's/^#include <transmute\/(.*)>$/\1/p' "$header")
done
exit $status
