#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""translate.py MODEL.pt [--text] [--beam-size N] [--batch-size N] [--freeze] < input > output

Runs an exported model with PyTorch alone: one sentence a line, as token ids. With --text as text, for which
SentencePiece is asked in a process of its own: Debian's cannot share one with PyTorch.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("SKIPPED: this Python has no torch (Debian: apt install python3-torch)")
    sys.exit(77)

TOKENIZE = """
import json, sys
import sentencepiece
model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
items = json.load(sys.stdin)
json.dump([model.encode(item) if isinstance(item, str) else model.decode(item) for item in items], sys.stdout)
"""


def ask_sentencepiece(model, items):
    """Ids of texts, or texts of ids."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(model)
        file.flush()
        command = [sys.executable, "-c", TOKENIZE, file.name]
        done = subprocess.run(command, input=json.dumps(items), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--freeze", action="store_true")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    extra = {"tokenizer.model": "", "tokenizer.source.model": "", "tokenizer.target.model": ""}
    model = torch.jit.load(arguments.model, _extra_files=extra)
    if arguments.freeze:
        model = torch.jit.freeze(model.eval(), preserved_attrs=["translate"])
    source_tokenizer = extra["tokenizer.model"] or extra["tokenizer.source.model"]
    target_tokenizer = extra["tokenizer.model"] or extra["tokenizer.target.model"]

    lines = sys.stdin.read().splitlines()
    if arguments.text:
        sources = ask_sentencepiece(source_tokenizer, lines)
    else:
        sources = [[int(word) for word in line.split()] for line in lines]
    with torch.no_grad():
        for _ in range(2):  # LibTorch observes the first call and compiles at the second
            model.translate([[3]], max_extra_length=1)
        found = model.translate(sources, beam_size=arguments.beam_size, batch_size=arguments.batch_size)
    best = [hypotheses[0].ids for hypotheses in found]
    if arguments.text:
        print("\n".join(ask_sentencepiece(target_tokenizer, best)))
    else:
        for ids in best:
            print(*ids)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # PyTorch 1.13 of Debian can crash while Python shuts down
