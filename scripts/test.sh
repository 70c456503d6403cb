#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything, runs every test. Arguments go to ctest, for example: -L unit
set -euo pipefail

usage="usage: scripts/test.sh [CTEST_ARGUMENT…]

Installs the packages (with sudo if needed), builds, and runs the tests: all, or those that ctest's arguments select,
for example: scripts/test.sh -L unit"
[[ ${1:-} == --help ]] && { echo "$usage"; exit 0; }
cd "$(dirname "$0")/.."

scripts/setup.sh --tests
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
cmake --build build/release
ctest --preset release --no-label-summary --parallel "$(nproc)" "$@"
