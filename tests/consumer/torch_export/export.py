#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export.py FOLDER OUTPUT [--compare MODEL.pt SOURCES.txt]

Runs a model through torch.export and AOTInductor. FOLDER is what `convert --to safetensors` writes. OUTPUT gets
encoder.pt2 and step.pt2, compiled for this machine, which LibTorch loads without Python (main.cpp). --compare decodes
greedily, in eager mode, from the exported graphs and from the compiled packages, and compares the ids with those of the
exported TorchScript file.

It knows the paper's network: post-norm, sinusoids, ReLU, shared embeddings.
"""

import argparse
import json
import math
import os
import struct
import sys

try:
    import torch
    from torch import nn
    from torch.export import Dim, export
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 6):
    print(f"SKIPPED: torch {torch.__version__}; packages of AOTInductor need 2.6")
    sys.exit(77)

PAD, BEGIN, END = 0, 2, 3
EXTRA_LENGTH = 50  # as translate's --max-extra-length


def read_config(path):
    """The keys of the section `model`."""
    values, section = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if not line.startswith(" "):
                section = key
            elif section == "model":
                values[key.strip()] = value.strip()
    expected = {"architecture": "encoder_decoder", "norm_position": "post", "positional_encoding": "sinusoidal",
                "position_layout": "interleaved", "position_frequencies": "paper", "first_position": "0",
                "decoder_self_attention": "attention", "activation": "relu", "score_function": "scaled_dot_product",
                "embedding_tying": "all", "embedding_scale": "true", "source_begin": "false", "source_end": "true"}
    for key, value in expected.items():
        if values.get(key, value) != value:  # a key that the file lacks has its default
            sys.exit(f"export.py: error: model.{key} is {values[key]}; this example knows {value}")
    return values


def read_tensors(path):
    with open(path, "rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_bytes))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[begin:end], dtype=torch.float32).reshape(entry["shape"]).clone()
    return tensors


def positions(count, width):
    """Section 3.5: sines and cosines in turn."""
    angles = torch.arange(count, dtype=torch.float64)[:, None] * torch.exp(
        torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(count, width).float()


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, nn.Linear(width, width, bias=False))

    def split(self, x):
        """[B,T,D] to [B,H,T,K]"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def keys_and_values(self, x):
        return self.split(self.key(x)), self.split(self.value(x))

    def forward(self, x, keys, values, mask):
        attended = nn.functional.scaled_dot_product_attention(self.split(self.query(x)), keys, values, attn_mask=mask)
        return self.output(attended.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class Layer(nn.Module):
    def __init__(self, config, has_cross_attention):
        super().__init__()
        width, heads, epsilon = int(config["d_model"]), int(config["num_heads"]), float(config["norm_epsilon"])
        self.self_attention = Attention(width, heads)
        self.self_attention_norm = nn.LayerNorm(width, epsilon)
        if has_cross_attention:
            self.cross_attention = Attention(width, heads)
            self.cross_attention_norm = nn.LayerNorm(width, epsilon)
        self.feed_forward = FeedForward(width, int(config["d_ff"]))
        self.feed_forward_norm = nn.LayerNorm(width, epsilon)


class Stack(nn.Module):
    def __init__(self, config, layers, has_cross_attention):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, has_cross_attention) for _ in range(layers))


class Network(nn.Module):
    """Parameters under the names of the file."""

    def __init__(self, config, tensors):
        super().__init__()
        self.width = int(config["d_model"])
        self.embedding = nn.Embedding(*tensors["embedding.weight"].shape)
        self.encoder = Stack(config, int(config["num_encoder_layers"]), False)
        self.decoder = Stack(config, int(config["num_decoder_layers"]), True)
        self.register_buffer("positions", positions(int(config["max_positions"]), self.width), persistent=False)
        self.load_state_dict(tensors)
        self.eval()


class Encoder(nn.Module):
    """source [B,S] -> what the decoder's layers attend to: keys and values [N,B,H,S,K], mask [B,1,1,S]"""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, source):
        network = self.network
        mask = (source != PAD)[:, None, None, :]
        x = network.embedding(source) * math.sqrt(network.width) + network.positions[: source.shape[1]]
        for layer in network.encoder.layers:
            keys, values = layer.self_attention.keys_and_values(x)
            x = layer.self_attention_norm(x + layer.self_attention(x, keys, values, mask))
            x = layer.feed_forward_norm(x + layer.feed_forward(x))
        memory = [layer.cross_attention.keys_and_values(x) for layer in network.decoder.layers]
        return torch.stack([keys for keys, _ in memory]), torch.stack([values for _, values in memory]), mask


class Step(nn.Module):
    """token [B], position [] -> logits [B,V], and the caches [N,B,H,T,K] with this position filled in"""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, token, position, cached_keys, cached_values, memory_keys, memory_values, memory_mask):
        network = self.network
        places = torch.arange(cached_keys.shape[3], device=token.device)
        here, past = (places == position)[None, None, :, None], (places <= position)[None, None, None, :]
        x = network.embedding(token)[:, None] * math.sqrt(network.width)
        x = x + network.positions.index_select(0, position.reshape(1))
        all_keys, all_values = [], []
        for n, layer in enumerate(network.decoder.layers):
            key, value = layer.self_attention.keys_and_values(x)
            all_keys.append(torch.where(here, key, cached_keys[n]))
            all_values.append(torch.where(here, value, cached_values[n]))
            x = layer.self_attention_norm(x + layer.self_attention(x, all_keys[n], all_values[n], past))
            attended = layer.cross_attention(x, memory_keys[n], memory_values[n], memory_mask)
            x = layer.cross_attention_norm(x + attended)
            x = layer.feed_forward_norm(x + layer.feed_forward(x))
        logits = x[:, 0] @ network.embedding.weight.T
        return logits, torch.stack(all_keys), torch.stack(all_values)


def exported(network):
    batch, capacity = Dim("batch", min=2), Dim("capacity", min=2)
    length = Dim("length", min=2, max=network.positions.shape[0])
    encoder, step = Encoder(network), Step(network)
    source = torch.tensor([[5, 6, END], [7, END, PAD]])
    keys, values, mask = encoder(source)
    cache = torch.zeros(*keys.shape[:3], 8, keys.shape[4])
    with torch.no_grad():
        graph_of_encoder = export(encoder, (source,), dynamic_shapes=({0: batch, 1: length},))
        graph_of_step = export(
            step, (torch.tensor([BEGIN, BEGIN]), torch.tensor(0), cache, cache.clone(), keys, values, mask),
            dynamic_shapes=({0: batch}, None, {1: batch, 3: capacity}, {1: batch, 3: capacity},
                            {1: batch, 3: length}, {1: batch, 3: length}, {0: batch, 3: length}))
    return graph_of_encoder, graph_of_step


def greedy(encoder, step, sources):
    """The best next token each time, for sentences of any lengths at once."""
    longest = max(len(source) for source in sources) + 1
    rows = [source + [END] + [PAD] * (longest - len(source) - 1) for source in sources]
    rows += [rows[-1]] * (2 - len(rows))  # the graphs are for batches of two and more
    memory_keys, memory_values, mask = encoder(torch.tensor(rows))
    capacity = longest + EXTRA_LENGTH
    keys = memory_keys.new_zeros(*memory_keys.shape[:3], capacity, memory_keys.shape[4])
    values = keys.clone()
    token = torch.full([len(rows)], BEGIN)
    found, done = [[] for _ in rows], [False] * len(rows)
    for position in range(capacity):
        logits, keys, values = step(token, torch.tensor(position), keys, values, memory_keys, memory_values, mask)
        logits[:, [PAD, 1, BEGIN]] = -math.inf
        token = logits.argmax(1)
        for row, best in enumerate(token.tolist()):
            limit = len(sources[min(row, len(sources) - 1)]) + EXTRA_LENGTH
            done[row] = done[row] or best == END or len(found[row]) == limit
            if not done[row]:
                found[row].append(best)
        if all(done):
            break
    return found[: len(sources)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("output")
    parser.add_argument("--compare", nargs=2, metavar=("MODEL.pt", "SOURCES.txt"))
    arguments = parser.parse_args()
    torch.manual_seed(1)
    config = read_config(os.path.join(arguments.folder, "config.yaml"))
    network = Network(config, read_tensors(os.path.join(arguments.folder, "model.safetensors")))
    graphs = exported(network)
    os.makedirs(arguments.output, exist_ok=True)
    packages = [os.path.join(arguments.output, name) for name in ("encoder.pt2", "step.pt2")]
    for graph, package in zip(graphs, packages):
        torch._inductor.aoti_compile_and_package(graph, package_path=package)
        print(f"wrote {package}")
    if not arguments.compare:
        return
    model, sources_file = arguments.compare
    with open(sources_file, encoding="utf-8") as file:
        sources = [[int(id) for id in line.split()] for line in file]
    script = torch.jit.load(model)
    with torch.no_grad():
        wanted = [found[0].ids for found in script.translate(sources, beam_size=1)]
        ways = {"eager": (Encoder(network), Step(network)), "exported": tuple(graph.module() for graph in graphs),
                "compiled": tuple(torch._inductor.aoti_load_package(package) for package in packages)}
        for way, (encoder, step) in ways.items():
            found = greedy(encoder, step, sources)
            different = sum(a != b for a, b in zip(found, wanted))
            print(f"{way}: {len(sources) - different} of {len(sources)} sentences have the ids of {model}")
            if different:
                sys.exit(1)


if __name__ == "__main__":
    main()
