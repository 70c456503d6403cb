#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes checkpoints as fairseq saves them, from random numbers, and what a network of their layout says.

    make_fairseq_models.py FOLDER

The forward pass is written here, in double precision, after the layout that fairseq documents: its own packages are not
needed. Each kind becomes a folder with the model's files and `expected.json`, as make_models.py writes it. Needs torch
and sentencepiece.
"""
import argparse
import json
import math
import os
import sys

import sentencepiece
import torch

WORDS = "the old red blue green house train bridge river is near far here there gone closed".split()
TEXT = [f"the {color} {thing} is {place}." for color in WORDS[1:5] for thing in WORDS[5:9] for place in WORDS[10:]]
BEGIN, PADDING, END, UNKNOWN = range(4)
D, HEADS, INNER, POSITIONS = 8, 2, 12, 60
KINDS = {
    "fairseq": dict(seed=2, joined=True, pre_norm=False, learned=False, activation="relu", old=False, end=1),
    "fairseq_old_layout": dict(seed=6, joined=False, pre_norm=True, learned=True, activation="gelu", old=True, end=3),
}


class Network:
    """The parameters, under fairseq's names, and the forward pass."""

    start, end, never = END, END, [PADDING, UNKNOWN]

    def __init__(self, kind, source_size, target_size):
        self.kind, self.w = kind, {}
        generator = torch.Generator().manual_seed(kind["seed"])

        def put(name, *shape, scale=1.3, mean=0.0):
            scale = scale / shape[-1] ** 0.5 if len(shape) > 1 else 0.2
            values = mean + scale * torch.randn(shape, generator=generator)
            self.w[name] = values.float().double()

        def linear(name, outputs, inputs, scale=1.3):
            put(name + ".weight", outputs, inputs, scale=scale)
            put(name + ".bias", outputs)

        def norm(name):
            put(name + ".weight", D, mean=1.0)
            put(name + ".bias", D)

        for stack, layers, size in (("encoder", 1, source_size), ("decoder", 2, target_size)):
            put(stack + ".embed_tokens.weight", size, D, scale=1.2)
            if kind["learned"]:
                put(stack + ".embed_positions.weight", POSITIONS + 2, D, scale=2)
            for layer in range(layers):
                name = f"{stack}.layers.{layer}."
                for attention in ("self_attn", "encoder_attn")[: 1 if stack == "encoder" else 2]:
                    for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                        linear(name + attention + "." + projection, D, D)
                    norm(name + attention + "_layer_norm")
                linear(name + "fc1", INNER, D)
                linear(name + "fc2", D, INNER, scale=4)  # tied networks say something else than they read
                norm(name + "final_layer_norm")
            if kind["pre_norm"]:
                norm(stack + ".layer_norm")
        if kind["joined"]:
            self.w["decoder.embed_tokens.weight"] = self.w["encoder.embed_tokens.weight"]
            output = self.w["decoder.embed_tokens.weight"]
        else:
            put("decoder.output_projection.weight", target_size, D, scale=4)
            output = self.w["decoder.output_projection.weight"]
        # Translations end before long.
        last = "decoder.layer_norm" if kind["pre_norm"] else "decoder.layers.1.final_layer_norm"
        more = kind["end"] * output[END] / output[END].norm()
        self.w[last + ".bias"] = (self.w[last + ".bias"] + more).float().double()
        self.output = output

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, name, x):
        return torch.nn.functional.layer_norm(x, (D,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-5)

    def embed(self, stack, ids):
        if self.kind["learned"]:
            positions = self.w[stack + ".embed_positions.weight"][2 : 2 + len(ids)]
        else:
            frequencies = torch.exp(torch.arange(D // 2).double() * -(math.log(10000) / (D // 2 - 1)))
            angles = torch.arange(2, 2 + len(ids)).double()[:, None] * frequencies
            positions = torch.cat([angles.sin(), angles.cos()], 1)
        return math.sqrt(D) * self.w[stack + ".embed_tokens.weight"][torch.tensor(ids)] + positions

    def attend(self, name, x, memory, mask):
        width = D // HEADS

        def heads(projection, states):
            return self.linear(f"{name}.{projection}", states).view(len(states), HEADS, width).transpose(0, 1)

        scores = heads("q_proj", x) @ heads("k_proj", memory).transpose(1, 2) / width ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        context = scores.softmax(-1) @ heads("v_proj", memory)
        return self.linear(name + ".out_proj", context.transpose(0, 1).reshape(len(x), D))

    def sublayer(self, norm, x, body):
        if self.kind["pre_norm"]:
            return x + body(self.norm(norm, x))
        return self.norm(norm, x + body(x))

    def stack(self, stack, layers, x, memory, mask):
        activation = {"relu": torch.relu, "gelu": torch.nn.functional.gelu}[self.kind["activation"]]
        for layer in range(layers):
            name = f"{stack}.layers.{layer}."
            x = self.sublayer(name + "self_attn_layer_norm", x, lambda y: self.attend(name + "self_attn", y, y, mask))
            if memory is not None:
                x = self.sublayer(name + "encoder_attn_layer_norm", x,
                                  lambda y: self.attend(name + "encoder_attn", y, memory, None))
            x = self.sublayer(name + "final_layer_norm", x,
                              lambda y: self.linear(name + "fc2", activation(self.linear(name + "fc1", y))))
        return self.norm(stack + ".layer_norm", x) if self.kind["pre_norm"] else x

    def encode(self, ids):
        return self.stack("encoder", 1, self.embed("encoder", ids), None, None)

    def log_probabilities(self, memory, ids):
        """After each of the ids, of which the first is the end."""
        mask = torch.ones(len(ids), len(ids)).bool().tril()
        states = self.stack("decoder", 2, self.embed("decoder", ids), memory, mask)
        return (states @ self.output.T).log_softmax(-1)


def search(network, memory, beam, longest):
    """Beam search that divides log-probabilities by lengths, and goes on as long as a hypothesis may win. Hypotheses that
    are `longest` end."""
    live, finished = [(0.0, [])], []
    for length in range(longest + 1):
        candidates = []
        for total, ids in live:
            row = network.log_probabilities(memory, [network.start] + ids)[-1]
            row[network.never] = float("-inf")
            if length == longest:
                finished.append(((total + float(row[network.end])) / (longest + 1), ids))
                continue
            candidates += [(total + value, ids + [token]) for token, value in enumerate(row.tolist())]
        if length == longest:
            break
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * beam]
        finished += [(total / len(ids), ids[:-1]) for total, ids in candidates[:beam] if ids[-1] == network.end]
        live = [c for c in candidates if c[1][-1] != network.end][:beam]
        if finished and (beam == 1 or live[0][0] / (longest + 1) <= max(finished)[0]):
            break
    score, ids = max(finished)
    return ids, score * (len(ids) + 1) if beam == 1 else score


def save(folder, kind, network):
    settings = {
        "arch": "transformer_iwslt_de_en", "task": "translation", "source_lang": "en", "target_lang": "de",
        "bpe": "sentencepiece", "encoder_layers": 1, "decoder_layers": 2, "encoder_embed_dim": D,
        "decoder_embed_dim": D, "encoder_ffn_embed_dim": INNER, "decoder_ffn_embed_dim": INNER,
        "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_normalize_before": kind["pre_norm"], "decoder_normalize_before": kind["pre_norm"],
        "encoder_learned_pos": kind["learned"], "decoder_learned_pos": kind["learned"],
        "activation_fn": kind["activation"], "share_all_embeddings": kind["joined"],
        "share_decoder_input_output_embed": kind["joined"], "dropout": 0.3, "adaptive_softmax_cutoff": None,
        "lr": [0.0005]}
    tensors = {name: values.float() for name, values in network.w.items()}
    for stack in ("encoder", "decoder"):
        tensors[stack + ".version"] = torch.Tensor([3])
        if not kind["learned"]:
            tensors[stack + ".embed_positions._float_tensor"] = torch.zeros(1)
    if kind["old"]:  # joined projections, and other names for norms and the output
        for name in [n for n in tensors if n.endswith(".q_proj.weight") or n.endswith(".q_proj.bias")]:
            parts = [name.replace("q_proj", f"{letter}_proj") for letter in "qkv"]
            joined = name.replace("q_proj.", "in_proj_")
            tensors[joined] = torch.cat([tensors.pop(part) for part in parts])
        for name in list(tensors):
            order = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
            if name.startswith("encoder.layers"):
                order.remove("encoder_attn_layer_norm")
            for number, old in enumerate(order):
                if f".{old}." in name:
                    tensors[name.replace(old, f"layer_norms.{number}")] = tensors.pop(name)
        tensors["decoder.embed_out"] = tensors.pop("decoder.output_projection.weight")
        task, model = dict(settings, _name="translation"), dict(settings, _name=settings["arch"])
        model.pop("task")
        state = {"args": None, "cfg": {"_name": None, "task": task, "model": argparse.Namespace(**model)}}
    else:
        tensors["decoder.output_projection.weight"] = tensors["decoder.embed_tokens.weight"]
        state = {"args": argparse.Namespace(**settings)}
    state.update(model=tensors, last_optimizer_state={"state": {0: {"step": 3, "exp_avg": torch.zeros(2)}}},
                 extra_state={"epoch": 1, "val_loss": 1.25})
    torch.save(state, folder + "/checkpoint_best.pt", _use_new_zipfile_serialization=not kind["old"])


def make(folder, kind):
    os.makedirs(folder, exist_ok=True)
    size = 40 if kind["joined"] else 36
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_prefix=folder + "/sentencepiece.bpe", vocab_size=size,
        model_type="unigram", hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity")
    os.remove(folder + "/sentencepiece.bpe.vocab")
    splitter = sentencepiece.SentencePieceProcessor(model_file=folder + "/sentencepiece.bpe.model")
    known = [splitter.id_to_piece(i) for i in range(3, splitter.get_piece_size())]
    dictionaries = {"en": known, "de": known if kind["joined"] else known[::-1][:-2]}
    for language, pieces in dictionaries.items():
        with open(f"{folder}/dict.{language}.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{piece} {100 - number}\n" for number, piece in enumerate(pieces))
            file.writelines(f"madeupword{number:04d} 0\n" for number in range(-(len(pieces) + 4) % 8))
        dictionaries[language] = ["<s>", "<pad>", "</s>", "<unk>"] + [
            line.rsplit(" ", 1)[0] for line in open(f"{folder}/dict.{language}.txt", encoding="utf-8")]
    source, target = dictionaries["en"], dictionaries["de"]
    target[BEGIN] = "<special:0>"  # as transmute calls it, whose own <s> begins every target
    network = Network(kind, len(source), len(target))
    save(folder, kind, network)

    lines = []
    for line in TEXT[::8] + ["the", "house house gone", "the Ω train"]:
        tokens = [piece if piece in source else "<unk>" for piece in splitter.encode(line, out_type=str)]
        memory = network.encode([source.index(token) for token in tokens] + [END])
        item = {"source": line, "source_pieces": tokens + ["</s>"], "min_length": 0, "max_length": len(tokens) + 9}
        for name, beam in (("greedy", 1), ("beam", 4)):
            ids, score = search(network, memory, beam, item["max_length"])
            item[name] = {"pieces": [target[i] for i in ids], "ended": True, "score": score}
            if name == "greedy":
                rows = network.log_probabilities(memory, [END] + ids)
                item["greedy_log_probabilities"] = [float(row[i]) for row, i in zip(rows, ids + [END])]
        lines.append(item)
    with open(folder + "/expected.json", "w", encoding="utf-8") as file:
        json.dump({"languages": {}, "lines": lines}, file, ensure_ascii=False, indent=0)
    print(os.path.basename(folder), len(source), "and", len(target), "pieces;",
          sum(len(line["beam"]["pieces"]) < line["max_length"] for line in lines), "of", len(lines), "end by themselves")


def main():
    torch.set_num_threads(1)
    for name, kind in KINDS.items():
        make(os.path.join(sys.argv[1], name), kind)


if __name__ == "__main__":
    main()
