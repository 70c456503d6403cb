# SPDX-License-Identifier: Apache-2.0
"""Runs the programs: python -m transmute translate --help."""

import os
import sys
from pathlib import Path


def main() -> int:
    """Becomes the program `transmute`, which runs the others by their names."""
    program = Path(__file__).parent / "bin" / "transmute"
    try:
        os.execv(program, ["transmute", *sys.argv[1:]])
    except OSError as error:
        print(f"transmute: error: {program} cannot be run: {error.strerror}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
