#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything, runs every test. Arguments go to ctest, for example: -L unit
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --tests
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING
cmake --build build/release
ctest --preset release --no-label-summary --parallel "$(nproc)" "$@"
