#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the documented models from nothing and compares what they reach with the table in docs/benchmarks.md.
exec python3 "$(dirname "$0")/experiments.py" reproduce "$@"
