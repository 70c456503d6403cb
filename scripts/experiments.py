#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the models of configs and measures them.

compare    puts what several configs reach into one table: parameters, updates, perplexity, BLEU, lines that equal
           the reference, time.
reproduce  trains the documented models from nothing and compares them with the table in docs/benchmarks.md. Run it
           before every release, and after any change of numerics or of the initial weights.

Both can be interrupted at any time; the same command continues. A model is trained again only in another folder.
"""

import argparse
import functools
import gzip
import hashlib
import itertools
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("tatoeba", "docs", "ui")  # of the real text
WORTHLESS = 3  # train's exit status for a model that is no better than trivial translators; it is measured all the same


class Failure(Exception):
    """Something went wrong; the text says what and where."""


class Usage(Failure):
    """The command line asks for what cannot be done."""


@functools.cache  # rows share their text
def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def lines_of(path):
    """The lines of a plain or gzipped file, read as the programs read text: without byte order mark and carriage
    returns."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def last_match(pattern, path):
    found = re.findall(pattern, path.read_text())
    return found[-1] if found else "-"


class Model:
    """A training in its folder, and what its model translates."""

    def __init__(self, programs, threads, folder, config, settings, of_this_build):
        self.programs, self.threads, self.folder = programs, threads, folder
        self.arguments = ["--config", str(config), *(word for setting in settings for word in ("--set", setting))]
        self.made_of = self._made_of(of_this_build)
        self.finished = folder / "finished"

    def _made_of(self, of_this_build):
        """What a model comes from: its whole config, the checksums of its text and, if asked for, the program."""
        command = [self.programs / "train", *self.arguments, "--print-config"]
        printed = subprocess.run(command, capture_output=True, text=True)
        if printed.returncode != 0:
            raise Failure(printed.stderr.strip())
        made_of = {"config": printed.stdout, "text": {}}
        data = dict(re.findall(r"^  ((?:train|valid)_(?:source|target|pairs|text|alignments)|folder): (.*)$",
                               printed.stdout, re.MULTILINE))
        folder = Path(json.loads(data.pop("folder", '""')))
        for files in data.values():
            for name in filter(None, json.loads(files)):
                path = folder / name
                file = next((part for part in [path, *path.parents] if part.is_file()), None)  # an archive, or itself
                if file:
                    made_of["text"][str(file.resolve())] = checksum(file)
        if of_this_build:
            made_of["program"] = checksum(self.programs / "train")
        return made_of

    def _check_folder(self):
        """Refuses a folder in which a model of something else was begun."""
        record = self.folder / "made_of.json"
        if record.exists() and (self.finished.exists() or any((self.folder / "checkpoints").glob("step-*"))):
            before = json.loads(record.read_text())
            changed = [name for name, digest in self.made_of["text"].items() if before["text"].get(name) != digest]
            for difference, what in ((before["config"] != self.made_of["config"], "config or --set"),
                                     (changed, "content of " + ", ".join(changed)),
                                     (before != self.made_of, "build")):
                if difference:
                    raise Failure(f"{self.folder} was begun with another {what}; delete it, or use another --output")
        self.folder.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(self.made_of, indent=1))

    def _run(self, what, arguments, log, accepted=(0,)):
        log = self.folder / log
        with open(log, "wb") as output:
            command = [self.programs / arguments[0], *arguments[1:], "--threads", str(self.threads)]
            status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
        if status not in accepted:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise Failure(f"{what} failed (all of its messages: {log}):\n{last}")

    def train(self):
        self._check_folder()
        if self.finished.exists():
            return
        self._run(f"training {self.folder}", ["train", *self.arguments, "--run-folder", str(self.folder)], "output.log",
                  accepted=(0, WORTHLESS))
        self.finished.touch()

    def translate(self, source, beam=None):
        """The file with the translation, which is made unless this model has made it before."""
        of = f"{checksum(source)}\n{beam}\n"
        translation, record = self.folder / f"{source.name}.translated", self.folder / f"{source.name}.translated.of"
        if not record.exists() or record.read_text() != of:
            record.unlink(missing_ok=True)
            search = ["--beam-size", str(beam)] if beam else []
            self._run(f"translating {source} with {self.folder}",
                      ["translate", "--model", str(self.folder / "model"), "--input", str(source), "--output",
                       str(translation), "--shortlist", "none", *search], "translate.log")
            record.write_text(of)
        return translation

    def bleu(self, translation, reference):
        scored = subprocess.run([self.programs / "evaluate", "--hypothesis", translation, "--reference", reference,
                                 "--score-only"], capture_output=True, text=True)
        if scored.returncode != 0:
            raise Failure(scored.stderr.strip())
        return scored.stdout.strip()

    def perplexities(self):
        records = map(json.loads, (self.folder / "metrics.jsonl").read_text().splitlines())
        return [record["perplexity"] for record in records if record.get("type") == "validation"]

    def row(self, name, translation, reference):
        log = self.folder / "train.log"
        perplexities = self.perplexities()
        cells = [name, last_match(r" ([0-9,]+) parameters", log), last_match(r"finished after step ([0-9,]+) ", log),
                 f"{perplexities[-1]:.3f}" if perplexities else "-", self.bleu(translation, reference),
                 exact_percent(translation, reference), last_match(r"target tokens, ([0-9:]+) of training", log)]
        return f"| {' | '.join(cells)} |"


def exact_percent(translation, reference):
    """The share of lines that equal their reference."""
    references = lines_of(reference)
    right = sum(line == other for line, other in zip(lines_of(translation), references))
    return f"{100 * right / len(references):.1f}"


def rows_to_train(configs, varied):
    """(name, config, settings) of each config with each combination of the values of --vary."""
    choices = []
    for item in varied:
        key, equals, values = item.partition("=")
        if not equals or not all(values.split(",")):
            raise Usage(f"--vary {item}: is not KEY=VALUE,VALUE…")
        choices.append([(f"{key}={value}", value) for value in values.split(",")])
    rows = [("-".join([config.stem, *(value for _, value in chosen)]), config, [setting for setting, _ in chosen])
            for config in configs for chosen in itertools.product(*choices)]
    names = [name for name, _, _ in rows]
    for name in names:
        if names.count(name) > 1:
            raise Usage(f"two configs are named {name}; each row needs its own name")
        if "/" in name:
            raise Usage(f"{name} would be a folder's name; a value of --vary has no slash")
    return rows


def compare(arguments):
    sources, targets = len(lines_of(arguments.source)), len(lines_of(arguments.target))
    if sources != targets:
        raise Usage(f"--source and --target differ in their numbers of lines: {arguments.source} has {sources}, "
                    f"{arguments.target} {targets}")
    if not sources:
        raise Usage(f"{arguments.source} is empty")
    models = {name: Model(arguments.programs, arguments.threads, arguments.output / name, config,
                          [*arguments.set, *settings], of_this_build=False)
              for name, config, settings in rows_to_train(arguments.configs, arguments.vary)}
    failed = []

    def row_of(name):
        if failed:
            return None  # of another row: what has begun ends, and nothing else begins
        try:
            print(f"{name}: training, or finished before", flush=True)
            models[name].train()
            return models[name].row(name, models[name].translate(arguments.source, arguments.beam_size), arguments.target)
        except Failure as failure:
            failed.append(str(failure))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        try:
            rows = list(pool.map(row_of, models))
        except KeyboardInterrupt:
            failed.append("stopped")
            raise
    if failed:
        raise Failure("\n".join(failed))
    table = "\n".join(["| config | parameters | updates | perplexity | BLEU | exact, % | training |",
                       "|---|---|---|---|---|---|---|", *rows, ""])
    (arguments.output / "table.md").write_text(table)
    print(f"{table}\nperplexity: per subword, of the last validation; BLEU and exact: {arguments.source}, finished model, "
          f"beam {arguments.beam_size}; training: without validations\nthe table is in {arguments.output / 'table.md'}")


def documented_figures(table):
    """(config, text, measure, value, tolerance) of each row between the table's two marks."""
    marked = re.search(r"<!-- reproduced figures -->(.*?)<!-- end of reproduced figures -->", table.read_text(), re.DOTALL)
    rows = re.findall(r"^\| `(configs/[^`]*)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", marked[1] if marked else "",
                      re.MULTILINE)
    if not rows:
        raise Failure(f"{table}: has no table of reproduced figures")
    return [(config, text, measure, float(value), float(tolerance)) for config, text, measure, value, tolerance in rows]


def hold_out(text, folder):
    """Divides real text by source lines: of each part 1,000 lines for a test and 500 for validation. They are those
    with the lowest checksums, which are the same wherever the text is."""
    held, pairs, files = set(), [], {"valid": []}
    for part in PARTS:
        sides = [lines_of(text / f"{part}.{side}.gz") for side in ("en", "de")]
        if len(sides[0]) != len(sides[1]):
            raise Failure(f"{text}: {part} has {len(sides[0])} English and {len(sides[1])} German lines")
        pairs += zip(*sides)
        target_of = dict(zip(*map(reversed, sides)))  # the first one of each source
        chosen = [(source, target_of[source])
                  for source in sorted(target_of, key=lambda line: hashlib.sha256(line).digest())[:1500]]
        files[f"test_{part}"] = chosen[:1000]
        files["valid"] += chosen[1000:]
        held.update(source for source, _ in chosen)
    files["train"] = [pair for pair in pairs if pair[0] not in held]
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        for side, number in (("en", 0), ("de", 1)):
            (folder / f"{name}.{side}").write_bytes(b"".join(pair[number] + b"\n" for pair in lines))


def text_of(config, arguments):
    """The folder with the text of a documented config, which is made where it can be; or why there is none."""
    if "real_text" in config:
        data = arguments.output / "data/real_text"
        files = [arguments.real_text / f"{part}.{side}.gz" for part in PARTS for side in ("en", "de")]
        missing = next((file for file in files if not file.exists()), None)
        if not missing:
            hold_out(arguments.real_text, data)
        return data, missing
    if "multi30k" in config or "table3_small" in config:
        first = arguments.multi30k / "train.en.gz"
        return arguments.multi30k, None if first.exists() else first
    data = arguments.output / "data/demo"
    if not (data / "test.de").exists():
        subprocess.run([arguments.programs / "make_demo_corpus", "--output", data, "--max-number", "999"], check=True)
    return data, None


def measure_figure(model, data, text, measure):
    if measure == "perplexity":
        return min(model.perplexities())
    suffix = ".gz" if (data / f"{text}.en.gz").exists() else ""
    reference = data / f"{text}.de{suffix}"
    translation = model.translate(data / f"{text}.en{suffix}")
    if measure not in ("BLEU", "exact, %"):
        raise Failure(f'unknown measure "{measure}"')
    return float(model.bleu(translation, reference) if measure == "BLEU" else exact_percent(translation, reference))


def reproduce(arguments):
    figures = documented_figures(arguments.table)
    for config in arguments.only:
        if config not in (figure[0] for figure in figures):
            raise Usage(f"{arguments.table} has no figures of --only {config}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    texts, models, report, deviations = {}, {}, [], 0
    for config, text, measure, documented, tolerance in figures:
        if arguments.only and config not in arguments.only:
            continue
        if config not in texts:
            texts[config] = text_of(config, arguments)
        data, missing = texts[config]
        found, verdict = "-", f"left out: no {missing}"
        if not missing:
            if config not in models:
                folder = arguments.output / config.removeprefix("configs/").removesuffix(".yaml").replace("/", "_")
                models[config] = Model(arguments.programs, arguments.threads, folder, ROOT / config,
                                       [f"data.folder={json.dumps(str(data), ensure_ascii=False)}"], of_this_build=True)
                print(f"{config}: training in {folder}, or finished before", flush=True)
                models[config].train()
            found = round(measure_figure(models[config], data, text, measure), 2)
            deviation = round(found - documented, 3)
            verdict = "as documented" if abs(deviation) <= tolerance else f"DEVIATES by {deviation:+g}"
            deviations += abs(deviation) > tolerance
        report.append(f"{config:42} {text:18} {measure:11} {documented:10} {found:>10} {verdict}")
    heading = f"{'config':42} {'text':18} {'measure':11} {'documented':>10} {'found':>10} verdict"
    print("\n".join([heading, *report]))
    (arguments.output / "report.txt").write_text("\n".join([heading, *report, ""]))
    if deviations:
        raise Failure(f"{deviations} of the figures above deviate: mend the recipe, or take the figures out of "
                      f"{arguments.table}")


def parse(words):
    def existing_file(text):
        if not Path(text).is_file():
            raise argparse.ArgumentTypeError(f"{text}: no such file")
        return Path(text)

    def whole_number(least, most):
        def parsed(text):
            if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
                raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {text}")
            return int(text)
        return parsed

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="compare|reproduce")
    for run, text in ((compare, "one table of several configs"), (reproduce, "the documented figures again")):
        command = commands.add_parser(run.__name__, help=text)
        command.set_defaults(run=run)
        command.add_argument("--programs", type=Path, default=ROOT / "build/release/bin", metavar="FOLDER",
                             help="folder of train, translate and evaluate")
        command.add_argument("--threads", type=whole_number(0, 1024), default=0, metavar="N", help="of each program")
        if run is compare:
            command.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="of the runs and the table")
            command.add_argument("--source", type=existing_file, required=True, metavar="FILE", help="text to translate")
            command.add_argument("--target", type=existing_file, required=True, metavar="FILE", help="its reference")
            command.add_argument("--jobs", type=whole_number(1, 1024), default=1, metavar="N",
                                 help="configs that are trained side by side; one per core, with --threads 1, is most "
                                 "efficient, and takes as many times the memory")
            command.add_argument("--beam-size", type=whole_number(1, 10000), default=4, metavar="N")
            command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for all configs")
            command.add_argument("--vary", action="append", default=[], metavar="KEY=VALUE,…",
                                 help="a row for each value, such as model.num_heads=1,4; repeated: for each combination")
            command.add_argument("configs", type=existing_file, nargs="+", metavar="CONFIG")
        else:
            command.add_argument("--output", type=Path, default=Path("runs/reproduce"), metavar="FOLDER")
            command.add_argument("--multi30k", type=Path, default=Path("data/multi30k"), metavar="FOLDER",
                                 help="with train, val and test_2016_flickr as .en.gz and .de.gz; without it, models of "
                                 "that text are left out and named")
            command.add_argument("--real-text", type=Path, default=Path("data/ende"), metavar="FOLDER",
                                 help="with tatoeba, docs and ui (sentences, documentation, programs' messages) as .en.gz "
                                 "and .de.gz; without it, models of that text are left out and named")
            command.add_argument("--only", action="append", default=[], metavar="CONFIG",
                                 help="such as configs/demo.yaml; may be repeated; default: all of the table")
            command.add_argument("--table", type=existing_file, default=ROOT / "docs/benchmarks.md", metavar="FILE")
    arguments = parser.parse_args(words)
    if not (arguments.programs / "train").exists():
        parser.error(f"{arguments.programs}/train: no such program; build first, or name --programs")
    return arguments


def main():
    try:
        arguments = parse(sys.argv[1:])
        arguments.run(arguments)
    except Failure as failure:
        print(f"experiments: error: {failure}", file=sys.stderr)
        return 2 if isinstance(failure, Usage) else 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
