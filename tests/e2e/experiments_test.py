# SPDX-License-Identifier: Apache-2.0
"""scripts/experiments.py with small programs that say what they were asked, and once with the real ones.

usage: TRANSMUTE_PROGRAMS=FOLDER experiments_test.py"""

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ["TRANSMUTE_PROGRAMS"])

# A config is a line for the stub of train: the seconds of its training, or "meet", which waits for another training.
STUBS = {
    "train": r"""
        import hashlib, json, pathlib, sys, time
        arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
        config = pathlib.Path(arguments["--config"])
        if "max_step=4" in " ".join(sys.argv): sys.exit('train: error: unknown key: did you mean "max_steps"?')
        if "--print-config" in sys.argv:
            print(hashlib.sha256(config.read_bytes()).hexdigest(), *sys.argv[3:], sep="\n")
            print("data:\n  folder: \"\"\n  train_text: [\"four.en\"]")
            sys.exit()
        with open("trainings", "a") as file: file.write(config.stem + "\n")
        if config.stem == "bad": sys.exit("train: error: bad")
        while config.read_text() == "meet" and len(open("trainings").readlines()) < 2: time.sleep(0.05)
        time.sleep(int(config.read_text()) if config.read_text().isdigit() else 0)
        run = pathlib.Path(arguments["--run-folder"])
        (run / "checkpoints/step-000001700").mkdir(parents=True, exist_ok=True)
        (run / "train.log").write_text('''[2026-01-01 00:00:00] LibTorch 1.13.0, device cpu, 2 workers, 1,234,567 parameters
        [2026-01-01 00:01:00] finished after step 1,700 (2,345 target tokens, 1:02 of training); mean''')
        (run / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in (
            {"type": "validation", "perplexity": 5.4, "seconds": 1}, {"type": "train", "loss": 1},
            {"type": "validation", "perplexity": 5.47394, "seconds": 2})))
        sys.exit(3 if config.stem == "worthless" else 0)""",
    "translate": r"""
        import pathlib, sys
        arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
        with open("translations", "a") as file: file.write(arguments.get("--beam-size", "default") + "\n")
        pathlib.Path(arguments["--output"]).write_text("one\n100\n007\na\tb\n")
        if pathlib.Path("cannot_translate").exists(): sys.exit("translate: error: no such thing")""",
    "evaluate": "print('12.34')",
}


class Experiments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in STUBS.items():
            self.write(f"stubs/{name}", f"#!{sys.executable}\n{textwrap.dedent(text)}").chmod(0o755)
        self.write("four.en", "a\nb\nc\nd\n")
        self.write("four.de", "one\nwo\nthree\na\tb\n")
        for name in ("good", "last", "bad", "worthless"):
            self.write(f"{name}.yaml", "0")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def lines(self, name):
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def run_experiments(self, *words, status=0, programs="stubs"):
        result = subprocess.run([sys.executable, ROOT / "scripts/experiments.py", *words, "--programs", programs],
                                cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def compare(self, *words, **options):
        return self.run_experiments("compare", "--output", "out", "--source", "four.en", "--target", "four.de", *words,
                                    **options)

    def rows(self):
        return [line.split(" | ")[0].strip("| ") for line in (self.folder / "out/table.md").read_text().splitlines()[2:]]

    def test_a_row_has_what_the_programs_say(self):
        self.assertIn("| good | 1,234,567 | 1,700 | 5.474 | 12.34 | 50.0 | 1:02 |", self.compare("good.yaml"))

    def test_lines_are_compared_as_text_without_byte_order_marks_and_carriage_returns(self):
        with gzip.open(self.folder / "windows.de.gz", "wb") as file:
            file.write(b"\xef\xbb\xbfone\r\n1e2\r\n7\r\na\tc\r\n")
        self.assertIn("| 12.34 | 25.0 |", self.compare("--target", "windows.de.gz", "good.yaml"))

    def test_a_worthless_model_is_a_row_too(self):
        self.compare("worthless.yaml")
        self.assertEqual(self.rows(), ["worthless"])

    def test_what_is_done_is_not_done_again(self):
        self.compare("good.yaml")
        self.compare("good.yaml")
        self.assertEqual(self.lines("translations"), ["4"])
        self.compare("good.yaml", "--beam-size", "5")
        self.assertEqual(self.lines("trainings"), ["good"])
        self.write("four.en", "a\nb\nc\ne\n")
        self.assertIn("another content of", self.compare("good.yaml", status=1))
        self.assertEqual(self.lines("translations"), ["4", "5"])

    def test_the_beginning_of_a_translation_that_failed_is_not_taken_for_all_of_it(self):
        self.write("cannot_translate", "")
        self.assertIn("translate: error: no such thing", self.compare("good.yaml", status=1))
        (self.folder / "cannot_translate").unlink()
        self.compare("good.yaml")
        self.assertEqual(self.lines("translations"), ["4", "4"])

    def test_other_settings_need_another_folder(self):
        self.compare("good.yaml")
        self.assertIn("out/good was begun with another config or --set", self.compare("good.yaml", "--set", "training.seed=2",
                                                                                     status=1))

    def test_a_slip_leaves_nothing_behind(self):
        self.assertIn('did you mean "max_steps"?', self.compare("good.yaml", "--set", "training.max_step=4", status=1))
        self.compare("good.yaml")

    def test_vary_makes_a_row_of_each_combination(self):
        self.compare("good.yaml", "--vary", "model.d_k=8,16", "--vary", "model.num_heads=2,4", "--jobs", "2")
        self.assertEqual(self.rows(), ["good-8-2", "good-8-4", "good-16-2", "good-16-4"])
        self.assertIn("--set\nmodel.d_k=16\n--set\nmodel.num_heads=2", (self.folder / "out/good-16-2/made_of.json")
                      .read_text().replace("\\n", "\n"))

    def test_what_cannot_be_done_is_said_before_a_training(self):
        self.write("three.de", "one\ntwo\nthree\n")
        self.write("other/good.yaml", "0")
        self.assertIn("four.en has 4, three.de 3", self.compare("--target", "three.de", "good.yaml", status=2))
        for beam in ("x", "0", "4.0", "10001"):
            self.assertIn(f"from 1 to 10000, not {beam}", self.compare("good.yaml", "--beam-size", beam, status=2))
        self.assertIn("two configs are named good", self.compare("good.yaml", "other/good.yaml", status=2))
        self.assertIn("is not KEY=VALUE,VALUE", self.compare("good.yaml", "--vary", "model.d_k", status=2))
        self.assertIn("none.yaml: no such file", self.compare("none.yaml", status=2))
        self.assertEqual(self.lines("trainings"), [])

    def test_rows_are_trained_side_by_side_and_stay_in_order(self):
        self.write("last.yaml", "meet")
        self.write("good.yaml", "meet")
        self.compare("last.yaml", "good.yaml", "--jobs", "2")
        self.assertEqual(self.rows(), ["last", "good"])

    def test_after_a_row_that_failed_no_other_begins(self):
        self.write("good.yaml", "3")
        said = self.compare("good.yaml", "bad.yaml", "last.yaml", "--jobs", "2", status=1)
        self.assertIn("train: error: bad", said)
        self.assertEqual(sorted(self.lines("trainings")), ["bad", "good"])
        self.assertTrue((self.folder / "out/good/four.en.translated").exists(), "the row beside it was not finished")

    def test_an_interrupt_begins_no_other_row(self):
        self.write("good.yaml", "60")
        command = [sys.executable, ROOT / "scripts/experiments.py", "compare", "--output", "out", "--source", "four.en",
                   "--target", "four.de", "--programs", "stubs", "good.yaml", "last.yaml"]
        with subprocess.Popen(command, cwd=self.folder, start_new_session=True, stderr=subprocess.DEVNULL) as running:
            while not self.lines("trainings"):
                time.sleep(0.05)
            os.killpg(running.pid, signal.SIGINT)
            self.assertEqual(running.wait(), 130)
        self.assertEqual(self.lines("trainings"), ["good"])

    def reproduce(self, *words, **options):
        return self.run_experiments("reproduce", "--output", "again", "--multi30k", "photos", "--table", "figures.md", *words,
                                    **options)

    def figures(self, bleu):
        self.write("figures.md", f"""
| `configs/demo.yaml` | test | BLEU | 99 | 0.1 |
<!-- reproduced figures -->
| model | text | measure | value | tolerance |
|---|---|---|---|---|
| `configs/demo.yaml` | test | BLEU | {bleu} | 0.1 |
| `configs/demo.yaml` | test | exact, % | 50.5 | 1 |
| `configs/demo.yaml` | valid | perplexity | 5.4 | 0.05 |
| `configs/multi30k_en_de.yaml` | val | BLEU | 40 | 1 |
<!-- end of reproduced figures -->
""")
        for language in ("en", "de"):
            self.write(f"again/data/demo/test.{language}", (self.folder / f"four.{language}").read_text())

    def test_documented_figures_are_measured(self):
        stub = self.folder / "stubs/train"
        self.figures(bleu=12.3)
        said = self.reproduce()
        self.assertEqual(said.count("as documented"), 3, said)
        self.assertIn("left out: no photos/train.en.gz", said)
        self.figures(bleu=13)
        self.assertIn("DEVIATES by -0.66", self.reproduce(status=1))
        self.assertEqual(self.reproduce("--only", "configs/multi30k_en_de.yaml").count("left out"), 1)
        self.assertIn("has no figures of --only configs/none.yaml", self.reproduce("--only", "configs/none.yaml", status=2))
        stub.write_text(stub.read_text() + "# another build\n")
        self.assertIn("was begun with another build", self.reproduce(status=1))

    def test_real_text_is_divided_by_source_lines(self):
        parts = {"tatoeba": range(2000), "docs": range(1000, 3000), "ui": range(5000, 7000)}  # two share half of theirs
        for part, numbers in parts.items():
            for side, letter in (("en", b"e"), ("de", b"d")):
                path = self.folder / f"real/{part}.{side}.gz"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(gzip.compress(b"".join(b"%s%d\n" % (letter, number) for number in numbers)))
        self.write("figures.md", """
<!-- reproduced figures -->
| `configs/real_text_en_de.yaml` | test_ui | BLEU | 12.34 | 0.1 |
<!-- end of reproduced figures -->
""")
        self.assertIn("left out: no none/tatoeba.en.gz", self.reproduce("--real-text", "none"))
        self.assertIn("as documented", self.reproduce("--real-text", "real"))
        text = {name: self.lines(f"again/data/real_text/{name}.en")
                for name in ("train", "valid", "test_tatoeba", "test_docs", "test_ui")}
        for name in text:
            targets = self.lines(f"again/data/real_text/{name}.de")
            self.assertEqual(targets, ["d" + source[1:] for source in text[name]])
        self.assertEqual([len(text[name]) for name in ("valid", "test_tatoeba", "test_docs", "test_ui")],
                         [1500, 1000, 1000, 1000])
        held_out = {line for name in text if name != "train" for line in text[name]}
        everything = [f"e{number}" for numbers in parts.values() for number in numbers]
        self.assertEqual(text["train"], [line for line in everything if line not in held_out])
        self.assertGreater(len(text["train"]), 1000)
        (self.folder / "real/ui.de.gz").write_bytes(gzip.compress(b"one\n"))
        self.assertIn("ui has 2000 English and 1 German lines", self.reproduce("--real-text", "real", status=1))

    def test_the_real_programs(self):
        for name, count in (("train", 200), ("valid", 20)):
            lines = [f"{number} houses and {number % 7} trees" for number in range(count)]
            self.write(f"text/{name}.en", "\n".join(lines) + "\n")
            self.write(f"text/{name}.de", "\n".join(lines).replace("houses", "Häuser").replace("trees", "Bäume") + "\n")
        words = ["compare", "--output", "real", "--source", "text/valid.en", "--target", "text/valid.de", "--beam-size", "1",
                 "--threads", "1", "--vary", "model.score_function=additive,scaled_dot_product",
                 ROOT / "configs/demo.yaml"]
        for setting in ('data.folder="text"', "tokenizer.vocab_size=60", "training.max_steps=2", "training.checkpoint_every=1",
                        "training.batch_tokens=128", "model.d_model=32", "model.d_ff=64", "validation.every=1"):
            words += ["--set", setting]
        said = self.run_experiments(*words, programs=PROGRAMS)
        self.assertRegex(said, r"\| demo-additive \| [0-9,]+ \| 2 \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| 0:0[0-9] \|")
        self.assertRegex(said, r"\| demo-scaled_dot_product \| [0-9,]+ \| 2 \|")
        self.assertIn("score_function: additive", (self.folder / "real/demo-additive/config.yaml").read_text())
        self.assertEqual(self.run_experiments(*words, programs=PROGRAMS).splitlines()[2:], said.splitlines()[2:])


if __name__ == "__main__":
    unittest.main()
