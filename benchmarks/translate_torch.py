# SPDX-License-Identifier: Apache-2.0
"""The decoding of benchmark_translate's shapes written with torch.nn.Transformer: beam 4 over random weights, without a
cache of keys and values, which torch.nn.TransformerDecoder does not have. Prints sentences/s."""

import argparse
import math
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("python3 has no torch")

if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for each shape

SHAPES = {"small": (4, 256, 1024, 4), "base": (6, 512, 2048, 8), "big": (6, 1024, 4096, 16)}
VOCABULARY, SOURCE, TARGET, BEAM = 8000, 20, 30, 4


class Translator(torch.nn.Module):
    def __init__(self, layers, d_model, d_ff, heads):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, d_model)
        self.transformer = torch.nn.Transformer(d_model, heads, layers, layers, d_ff, batch_first=True)
        self.register_buffer("positions", torch.randn(64, d_model))
        self.scale = math.sqrt(d_model)

    def embed(self, ids):
        return self.embedding(ids) * self.scale + self.positions[: ids.size(1)]

    @torch.inference_mode()
    def beam_search(self, source):
        batch = source.size(0)
        memory = self.transformer.encoder(self.embed(source)).repeat_interleave(BEAM, 0)
        ids = torch.full((batch * BEAM, 1), 2, dtype=torch.long, device=source.device)
        scores = torch.tensor([0.0] + [-1e9] * (BEAM - 1), device=source.device).repeat(batch, 1)
        first = torch.arange(batch, device=source.device).unsqueeze(1) * BEAM
        for _ in range(TARGET):
            future = torch.nn.Transformer.generate_square_subsequent_mask(ids.size(1), device=ids.device)
            states = self.transformer.decoder(self.embed(ids), memory, tgt_mask=future, tgt_is_causal=True)[:, -1]
            steps = (states @ self.embedding.weight.t()).float().log_softmax(-1)
            scores, best = (scores.unsqueeze(2) + steps.view(batch, BEAM, -1)).flatten(1).topk(BEAM)
            ids = torch.cat([ids[(first + best // VOCABULARY).flatten()], (best % VOCABULARY).view(-1, 1)], 1)
        return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", choices=SHAPES, default="base")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    parser.add_argument("--device", default="cpu")
    a = parser.parse_args()
    torch.manual_seed(1)
    model = Translator(*SHAPES[a.shape]).eval().to(a.device, getattr(torch, a.dtype))
    source = torch.randint(4, VOCABULARY, (a.batch_size, SOURCE), device=a.device)
    model.beam_search(source).cpu()
    start = time.monotonic()
    batches = max(1, a.sentences // a.batch_size)
    for _ in range(batches):
        model.beam_search(source).cpu()
    rate = batches * a.batch_size / (time.monotonic() - start)
    print(f"{a.shape} torch.nn.Transformer {torch.__version__}, {a.dtype}, {a.device}, beam {BEAM}, batches of "
          f"{a.batch_size}: {rate:.1f} sentences/s", flush=True)


if __name__ == "__main__":
    main()
