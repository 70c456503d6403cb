# SPDX-License-Identifier: Apache-2.0
"""The step of benchmark_train written with torch.nn.Transformer: same shapes, lengths, loss and optimizer. Prints a line
for float32 and one for bfloat16 autocast. Started by benchmark_train --torch."""

import argparse
import math
import random
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("python3 has no torch")

if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for each shape


class Model(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embedding = torch.nn.Embedding(a.vocabulary, a.d_model)
        self.transformer = torch.nn.Transformer(a.d_model, a.heads, a.layers, a.layers, a.d_ff, a.dropout, batch_first=True)
        self.dropout = torch.nn.Dropout(a.dropout)
        self.register_buffer("positions", torch.randn(4096, a.d_model))
        self.scale = math.sqrt(a.d_model)

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.size(1)])

    def forward(self, source, target):
        future = torch.nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
        padding = source.eq(0)
        states = self.transformer(self.embed(source), self.embed(target), tgt_mask=future, src_key_padding_mask=padding,
                                  memory_key_padding_mask=padding)
        return states @ self.embedding.weight.t()


def batches(a):
    """Pairs with the lengths of Multi30k's captions, sorted by length and cut as benchmark_train's are."""
    draw = random.Random(1)
    pairs = []
    for _ in range(20000):
        target = draw.gauss(13.6, 4)
        source = target + draw.gauss(0, 2)
        pairs.append(tuple(int(min(max(n, 4), 40)) + 1 for n in (target, source)))
    pairs.sort()
    cut, longest = [[]], 0
    for pair in pairs:
        longest = max(longest, *pair)
        if longest * (len(cut[-1]) + 1) > a.batch_tokens:
            cut.append([])
            longest = max(pair)
        cut[-1].append(pair)
    draw.shuffle(cut)
    for lengths in cut:
        ids = []
        for side in (1, 0):
            rows = torch.zeros(len(lengths), max(p[side] for p in lengths), dtype=torch.long)
            for row, pair in zip(rows, lengths):
                row[: pair[side]] = torch.randint(4, a.vocabulary, (pair[side],))
            ids.append(rows)
        yield ids[0], ids[1], sum(p[0] for p in lengths)


def wait_for(device):
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def measure(a, autocast):
    """The median over steps on the CPU; on a GPU, which computes while Python continues, the rate of many steps."""
    torch.manual_seed(1)
    model = Model(a).to(a.device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9)
    on_cpu = a.device == "cpu"
    rates, started, step, counted = [], None, 0, 0
    for source, target, tokens in batches(a):
        start = time.monotonic()
        with torch.autocast(a.device.split(":")[0], torch.bfloat16, enabled=autocast):
            logits = model(source.to(a.device), target.to(a.device))
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.to(a.device).flatten(),
                                                 ignore_index=0, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step == 3:
            wait_for(a.device)
            started = time.monotonic()
        elif step > 3:
            rates.append(tokens / (time.monotonic() - start))
            counted += tokens
            if step % 5 == 0:
                wait_for(a.device)
            if len(rates) >= 3 and time.monotonic() - started > a.seconds:
                break
    wait_for(a.device)
    rate = statistics.median(rates) if on_cpu else counted / (time.monotonic() - started)
    where = f"{a.threads} threads" if on_cpu else a.device
    print(f"{a.name:6} torch.nn.Transformer {torch.__version__}, {'bfloat16 autocast' if autocast else 'float32'}, "
          f"{where}: {rate:.0f} target tokens/s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="small")
    for name, default in (("layers", 4), ("d-model", 256), ("d-ff", 1024), ("heads", 4), ("vocabulary", 8000),
                          ("batch-tokens", 4096), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--device", default="cpu")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    for autocast in (False, True):
        measure(a, autocast)


if __name__ == "__main__":
    main()
