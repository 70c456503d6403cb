# SPDX-License-Identifier: Apache-2.0
"""The translations of benchmark_translate's shapes by CTranslate2: random weights, 20 source tokens and 30 target tokens
with their ends. Prints lines such as benchmark_translate's."""

import argparse
import random
import sys
import tempfile
import time

try:
    import ctranslate2
    import numpy
    from ctranslate2.specs import TransformerSpec, common_spec
except ImportError as error:
    sys.exit(f"translate_ctranslate2: {error}; it needs the packages ctranslate2, numpy and pyyaml")

SHAPES = {"small": (4, 256, 1024, 4), "base": (6, 512, 2048, 8), "big": (6, 1024, 4096, 16)}
VOCABULARY, SOURCE, TARGET = 8000, 20, 30
PIECES = ["<pad>", "<unk>", "<s>", "</s>"] + [f"p{id}" for id in range(4, VOCABULARY)]


def save_random_model(shape, folder):
    layers, d_model, d_ff, heads = SHAPES[shape]
    spec = TransformerSpec.from_config(layers, heads, pre_norm=False, activation=common_spec.Activation.RELU)
    draw = numpy.random.default_rng(1)

    def matrix(rows, columns):
        return (draw.standard_normal((rows, columns)) * columns**-0.5).astype(numpy.float32)

    def fill_linear(linear, rows, columns):
        linear.weight, linear.bias = matrix(rows, columns), numpy.zeros(rows, numpy.float32)

    def fill_attention(attention, is_cross):
        sizes = [d_model, 2 * d_model, d_model] if is_cross else [3 * d_model, d_model]
        for linear, rows in zip(attention.linear, sizes):
            fill_linear(linear, rows, d_model)
        fill_norm(attention.layer_norm)

    def fill_norm(norm):
        norm.gamma, norm.beta = numpy.ones(d_model, numpy.float32), numpy.zeros(d_model, numpy.float32)

    for stack in (spec.encoder, spec.decoder):
        embeddings = stack.embeddings[0] if stack is spec.encoder else stack.embeddings
        embeddings.weight = matrix(VOCABULARY, d_model)
        stack.scale_embeddings = True
        for layer in stack.layer:
            fill_attention(layer.self_attention, False)
            if stack is spec.decoder:
                fill_attention(layer.attention, True)
            fill_linear(layer.ffn.linear_0, d_ff, d_model)
            fill_linear(layer.ffn.linear_1, d_model, d_ff)
            fill_norm(layer.ffn.layer_norm)
    fill_linear(spec.decoder.projection, VOCABULARY, d_model)
    spec.register_source_vocabulary(PIECES)
    spec.register_target_vocabulary(PIECES)
    spec.config.add_source_eos = True
    spec.validate()
    spec.save(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", choices=SHAPES, default="base")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--single-sentences", type=int, default=20)
    parser.add_argument("--compute-type", default="float32")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    a = parser.parse_args()
    device, _, index = a.device.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        save_random_model(a.shape, folder)
        translator = ctranslate2.Translator(folder, device=device, device_index=int(index or 0),
                                            compute_type=a.compute_type)
    draw = random.Random(2)
    sources = [draw.choices(PIECES[4:], k=SOURCE - 1) for _ in range(max(a.sentences, a.batch_size))]
    print(f"CTranslate2 {ctranslate2.__version__}, {a.shape}, {a.compute_type}, {a.device}", flush=True)

    def translate(some, beam):
        results = translator.translate_batch(some, beam_size=beam, max_batch_size=a.batch_size,
                                             min_decoding_length=TARGET - 1, max_decoding_length=TARGET - 1)
        assert all(len(result.hypotheses[0]) == TARGET - 1 for result in results)

    for name, beam in (("beam 4", 4), ("greedy", 1)):
        translate(sources[: a.batch_size], beam)
        start = time.monotonic()
        translate(sources, beam)
        rate = len(sources) / (time.monotonic() - start)
        print(f"  {a.compute_type} {name} batch {a.batch_size}: {rate:.1f} sentences/s", flush=True)
        singles = []
        for source in sources[: a.single_sentences + 1]:
            start = time.monotonic()
            translate([source], beam)
            singles.append(1000 * (time.monotonic() - start))
        singles = sorted(singles[1:])
        print(f"  {a.compute_type} {name} batch 1: p50 {singles[(len(singles) - 1) // 2]:.2f} ms, p90 "
              f"{singles[(len(singles) * 9 - 1) // 10]:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
