#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs deploy/spark/translate_lines.py on a Spark of two threads, with a program that translates a line to "[line]".

usage: translate_lines_test.py translate_lines.py
"""
import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
import unittest

TRANSLATOR = f"""#!{sys.executable}
import sys
lines = sys.stdin.buffer.read().split(b"\\n")[:-1]
if "--lose" in sys.argv:
    lines.pop()
sys.stdout.buffer.writelines(b"[" + line + b"]\\n" for line in lines)
"""


class TranslateLines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        translator = self.folder / "translator"
        translator.write_text(TRANSLATOR)
        translator.chmod(0o755)

    def run_recipe(self, text, *flags):
        (self.folder / "text").write_bytes(text)
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell",
                       "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        return subprocess.run([sys.executable, RECIPE, "--model", "unused", "--input", f"file:{self.folder}/text",
                               "--output", f"file:{self.folder}/output", "--translate", self.folder / "translator",
                               *flags], env=environment, capture_output=True, text=True, timeout=300)

    def test_every_line_becomes_one_line_in_order(self):
        lines = [f"line {number}" + " and more" * (number % 5) for number in range(200)]
        lines[7:11] = ["", "a carriage return \r within", "\u2028a line separator", "  spaces and a tab\t"]
        outcome = self.run_recipe("\n".join(lines).encode(), "--partitions", "7")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        parts = sorted(self.folder.glob("output/part-*"))
        self.assertGreaterEqual(len(parts), 7)
        self.assertEqual(b"".join(part.read_bytes() for part in parts).decode().split("\n"),
                         [f"[{line}]" for line in lines] + [""])

    def test_invalid_utf8_is_an_error_unless_it_may_be_replaced(self):
        outcome = self.run_recipe(b"one\ntw\xffo\n")
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn("'tw\N{REPLACEMENT CHARACTER}o'; repair the text", outcome.stderr)
        shutil.rmtree(self.folder / "output")
        outcome = self.run_recipe(b"one\ntw\xffo\n", "--partitions", "1", "--", "--invalid-utf8", "replace")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual((self.folder / "output" / "part-00000").read_text(), "[one]\n[tw\N{REPLACEMENT CHARACTER}o]\n")

    def test_a_lost_translation_is_an_error(self):
        outcome = self.run_recipe(b"one\ntwo\n", "--", "--lose")
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn("1 translations are missing", outcome.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        print("skipped: PySpark or Java is not installed")
        sys.exit(77)
    RECIPE = sys.argv.pop(1)
    unittest.main()
