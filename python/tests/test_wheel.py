# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs in an installed wheel: python3 -m unittest discover python/tests"""

import json
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

import transmute
from test_transmute import LINES, TINY


@unittest.skipUnless(
    (Path(transmute.__file__).parent / "bin" / "transmute").exists(), "only the wheel contains the programs"
)
class ProgramsOfTheWheel(unittest.TestCase):
    command = [sys.executable, "-m", "transmute"]

    def test_each_describes_itself(self):
        usage = subprocess.run(self.command, stdout=subprocess.PIPE, check=True).stdout.decode()
        names = [line.strip() for line in usage.splitlines() if line.startswith("  ")]
        self.assertLessEqual({"models", "serve"}, set(names))
        for name in names:
            help_text = subprocess.run([*self.command, name, "--help"], stdout=subprocess.PIPE, check=True).stdout
            self.assertIn(f"transmute {name}", help_text.decode())
        failed = subprocess.run([*self.command, "train"], stderr=subprocess.PIPE)
        self.assertEqual(failed.returncode, 2)
        self.assertIn("there is no command 'train'", failed.stderr.decode())

    def test_translate_writes_what_the_package_returns(self):
        arguments = [*self.command, "translate", "--model", str(TINY)]
        text = "".join(line + "\n" for line in LINES)
        done = subprocess.run(arguments, input=text.encode(), stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode().split("\n")[:-1], transmute.Translator(TINY).translate(LINES))

    def test_serve_answers_and_ends(self):
        arguments = [*self.command, "serve", "--model", f"en-de={TINY}", "--port", "0"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
            try:
                address = server.stdout.readline().decode().split()[-1]
                body = json.dumps({"q": LINES[0], "source": "en", "target": "de"}).encode()
                request = urllib.request.Request(address + "/translate", body, {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=60) as answer:
                    translated = json.load(answer)["translatedText"]
                self.assertEqual(translated, transmute.Translator(TINY).translate(LINES[0]))
            finally:
                server.terminate()
            self.assertEqual(server.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
