#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes models of CTranslate2 from random numbers, and what CTranslate2 says of them.

    make_ctranslate2_models.py FOLDER

Each becomes a folder with the model's files and `expected.json`, as make_models.py writes it. Needs ctranslate2 and
sentencepiece.
"""
import json
import os
import sys

import ctranslate2
import numpy
import sentencepiece

WORDS = "the old red blue green house train bridge river is near far here there gone closed".split()
TEXT = [f"the {color} {thing} is {place}." for color in WORDS[1:5] for thing in WORDS[5:9] for place in WORDS[10:]]
WIDTH, INNER, POSITIONS = 8, 12, 80


def randomize(generator, layer_specs, path=""):
    """Fills the variables of a specification whose layers have their shapes."""
    def number(*shape, scale=1.3):
        size = shape[-1] ** 0.5 if len(shape) > 1 else 6
        return (scale * generator.standard_normal(shape) / size).astype("float32")

    def linear(spec, outputs, inputs):
        spec.weight, spec.bias = number(outputs, inputs), number(outputs)

    def norm(spec):
        spec.gamma, spec.beta = 1 + number(WIDTH), number(WIDTH)

    for layer in layer_specs:
        attentions = [layer.self_attention] + ([layer.attention] if hasattr(layer, "attention") else [])
        for attention in attentions:
            sizes = [3 * WIDTH, WIDTH] if len(attention.linear) == 2 else [WIDTH, 2 * WIDTH, WIDTH]
            for spec, outputs in zip(attention.linear, sizes):
                linear(spec, outputs, WIDTH)
            norm(attention.layer_norm)
        linear(layer.ffn.linear_0, INNER, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, INNER)
        norm(layer.ffn.layer_norm)
    return number, norm


def make(folder, settings):
    os.makedirs(folder, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_prefix=folder + "/sentencepiece", vocab_size=40, model_type="unigram",
        hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity")
    os.remove(folder + "/sentencepiece.vocab")
    splitter = sentencepiece.SentencePieceProcessor(model_file=folder + "/sentencepiece.model")
    pieces = [splitter.id_to_piece(i) for i in range(splitter.get_piece_size())]

    spec = ctranslate2.specs.TransformerSpec.from_config((1, 2), 2, pre_norm=True)
    generator = numpy.random.default_rng(settings["seed"])
    for stack in (spec.encoder, spec.decoder):
        number, norm = randomize(generator, stack.layer)
        norm(stack.layer_norm)
        stack.position_encodings.encodings = number(POSITIONS, WIDTH, scale=3)
    spec.encoder.embeddings[0].weight = number(len(pieces), WIDTH, scale=2)
    spec.decoder.embeddings.weight = number(len(pieces), WIDTH, scale=2)
    spec.decoder.projection.weight = number(len(pieces), WIDTH, scale=4)
    spec.decoder.projection.bias = number(len(pieces))
    for piece, more in (("<unk>", -20), ("<s>", -20), ("</s>", settings["end"])):
        spec.decoder.projection.bias[pieces.index(piece)] += more
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    for name in ("add_source_bos", "add_source_eos"):
        setattr(spec.config, name, settings[name])
    spec.validate()
    spec.save(folder)

    translator = ctranslate2.Translator(folder, intra_threads=1, inter_threads=1)
    lines = []
    for line in TEXT[::8] + ["the", "house house gone", ""]:
        tokens = splitter.encode(line, out_type=str)
        item = {"source": line, "source_pieces": [t if t in pieces else "<unk>" for t in tokens] + ["</s>"],
                "min_length": 0, "max_length": len(tokens) + 9}
        if not tokens:
            continue
        for search, beam in (("greedy", 1), ("beam", 4)):
            found = translator.translate_batch(
                [tokens], beam_size=beam, max_decoding_length=item["max_length"], min_decoding_length=0, patience=64,
                return_scores=True)[0]
            said, mean = found.hypotheses[0], found.scores[0]
            item[search] = {"pieces": said, "ended": len(said) < item["max_length"],
                            "score": mean * (len(said) + 1) if beam == 1 else mean}
            if search == "greedy":
                item["greedy_log_probabilities"] = list(translator.score_batch([tokens], [said])[0].log_probs)
        lines.append(item)
    with open(folder + "/expected.json", "w", encoding="utf-8") as file:
        json.dump({"languages": {}, "lines": lines}, file, ensure_ascii=False, indent=0)
    print(os.path.basename(folder), len(pieces), "pieces;",
          sum(line[search]["ended"] for line in lines for search in ("greedy", "beam")), "of", 2 * len(lines), "end")


def main():
    make(os.path.join(sys.argv[1], "ctranslate2_source_begin"),
         {"seed": 2, "end": 4, "add_source_bos": True, "add_source_eos": True})


if __name__ == "__main__":
    main()
