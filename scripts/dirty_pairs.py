#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spoils pairs of a clean text in known ways, and tells how many of them a filter has found.

  dirty_pairs.py make clean.en clean.de third-language.txt FOLDER
      writes dirty.en, dirty.de and kinds.txt to FOLDER: a tenth of the pairs each with the target of another pair
      (shuffled), half of the target (truncated), the source as the target (copied), a line of the third language as the
      target (language), and mojibake on both sides (mojibake); the rest are right.
  dirty_pairs.py score FOLDER KEPT.en KEPT.de
      prints which part of each kind is not among the kept pairs. Mojibake is found also if it was mended.
"""
import gzip
import os
import random
import sys

KINDS = ["shuffled", "truncated", "copied", "language", "mojibake"]


def lines_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def mojibake(text):
    return "".join(bytes([b]).decode("cp1252", "replace") if b >= 0x80 else chr(b) for b in text.encode("utf-8"))


def make(source_path, target_path, third_path, folder):
    chance = random.Random(1)
    sources, targets, third = lines_of(source_path), lines_of(target_path), lines_of(third_path)
    numbers = list(range(len(sources)))
    chance.shuffle(numbers)
    tenth = len(sources) // 10
    kinds = ["right"] * len(sources)
    dirty_sources, dirty_targets = list(sources), list(targets)
    for k, kind in enumerate(KINDS):
        chosen = numbers[k * tenth:(k + 1) * tenth]
        for i, number in enumerate(chosen):
            source, target = sources[number], targets[number]
            if kind == "shuffled":
                dirty_targets[number] = targets[chosen[(i + 1) % len(chosen)]]
            elif kind == "truncated":
                words = target.split(" ")
                dirty_targets[number] = " ".join(words[:max(1, len(words) // 2)])
            elif kind == "copied":
                dirty_targets[number] = source
            elif kind == "language":
                dirty_targets[number] = chance.choice(third)
            else:
                dirty_sources[number], dirty_targets[number] = mojibake(source), mojibake(target)
                if (dirty_sources[number], dirty_targets[number]) == (source, target):
                    continue  # nothing beyond ASCII
            kinds[number] = kind
    os.makedirs(folder, exist_ok=True)
    for name, lines in [("dirty.en", dirty_sources), ("dirty.de", dirty_targets), ("kinds.txt", kinds),
                        ("clean.en", sources), ("clean.de", targets)]:
        with open(f"{folder}/{name}", "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(line + "\n" for line in lines))


def score(folder, kept_source, kept_target):
    def squeezed(line):
        return " ".join(line.split())

    kinds = lines_of(f"{folder}/kinds.txt")
    dirty = [tuple(map(squeezed, pair)) for pair in zip(lines_of(f"{folder}/dirty.en"), lines_of(f"{folder}/dirty.de"))]
    kept = {}
    for pair in zip(map(squeezed, lines_of(kept_source)), map(squeezed, lines_of(kept_target))):
        kept[pair] = kept.get(pair, 0) + 1
    counts = {kind: [0, 0] for kind in ["right"] + KINDS}
    for kind, pair in zip(kinds, dirty):
        counts[kind][1] += 1
        if kept.get(pair, 0) > 0:
            kept[pair] -= 1
        else:
            counts[kind][0] += 1
    for kind, (gone, whole) in counts.items():
        print(f"{kind:10} {gone:6} of {whole:6} gone ({100 * gone / max(whole, 1):.1f}%)")
    bad = sum(gone for kind, (gone, _) in counts.items() if kind != "right")
    all_bad = sum(whole for kind, (_, whole) in counts.items() if kind != "right")
    print(f"precision {bad / max(bad + counts['right'][0], 1):.3f}, recall {bad / max(all_bad, 1):.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 6 and sys.argv[1] == "make":
        make(*sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "score":
        score(*sys.argv[2:])
    elif sys.argv[1:] == ["--help"]:
        print(__doc__)
    else:
        print(f"dirty_pairs: error: this is no call of it: {' '.join(sys.argv[1:])}\n{__doc__}", file=sys.stderr)
        sys.exit(2)
