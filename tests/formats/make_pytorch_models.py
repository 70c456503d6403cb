#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes checkpoints of JoeyNMT and OpenNMT-py from random numbers, and what their own networks say.

    make_pytorch_models.py FOLDER joeynmt      # needs joeynmt 2.3 and sentencepiece 0.2.0, which has SetVocabulary
    make_pytorch_models.py FOLDER opennmt      # needs OpenNMT-py 3.5 and pyonmttok

The networks are the packages' own classes, in double precision. Each kind becomes a folder with the model's files and
`expected.json`, as make_fairseq_models.py writes it, whose search is used.
"""
import json
import os
import pathlib
import sys

import sentencepiece
import torch

from make_fairseq_models import TEXT, search

D, HEADS, INNER = 8, 2, 12
LINES = TEXT[::8] + ["the", "house house gone", "the Ω train"]
JOEY_CONFIG = """name: "{name}"
model_dir: "models/{name}"
data:
    src: {{lang: "en", level: "{level}", voc_file: "/far/away/vocab.txt"{tokenizer}}}
    trg: {{lang: "de", level: "{level}", voc_file: "/far/away/vocab.txt"{tokenizer}}}
testing:
    beam_size: 5
    beam_alpha: 1.0
training: {{batch_size: 80}}
model:
    initializer: "{initializer}"
    tied_embeddings: {tied}
    tied_softmax: {tied}
    encoder: &stack
        type: "transformer"
        num_layers: 2
        num_heads: 2
        embeddings: {{embedding_dim: 8, scale: True, dropout: 0.0}}
        hidden_size: 8
        ff_size: 12
        dropout: 0.3
        layer_norm: "{norm}"
        activation: "{activation}"
    decoder: *stack
"""
JOEY_KINDS = {
    "joeynmt": dict(norm="pre", tied="True", initializer="xavier_uniform", activation="relu", level="bpe", end=2.5,
                    tokenizer=', tokenizer_type: "sentencepiece", tokenizer_cfg: {model_file: "/far/away/pieces.model"}'),
    "joeynmt_deep": dict(norm="post", tied="False", initializer="xavier_normal", activation="gelu", level="word",
                         tokenizer="", end=2),
}
OPENNMT_KINDS = {
    "opennmt": dict(flags="-share_embeddings -share_decoder_embeddings -share_vocab", joined=True, end=4, old=False),
    "opennmt_fields": dict(flags="-position_encoding_type SinusoidalConcat -pos_ffn_activation_fn gelu -add_qkvbias "
                                 "-add_ffnbias", joined=False, end=2, old=True),
}


def pieces_of(folder, algorithm, size):
    """The pieces of a new SentencePiece model, which it writes into the folder."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_prefix=folder + "/pieces", vocab_size=size, model_type=algorithm,
        hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity")
    os.remove(folder + "/pieces.vocab")
    splitter = sentencepiece.SentencePieceProcessor(model_file=folder + "/pieces.model")
    return [splitter.id_to_piece(i) for i in range(3, splitter.get_piece_size())]


def draw(model, output, last_norm, end, end_number):
    """Random parameters, with which translations end before long."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.dim() == 1:
                values.copy_(0.2 * torch.randn(values.shape) + float("norm" in name and name.endswith("weight")))
            else:
                scale = 1.2 if "emb" in name or values is output else 1.6
                values.copy_(scale * torch.randn(values.shape) / values.shape[-1] ** 0.5)
        last_norm.bias.add_(end * output[end_number] / output[end_number].norm())
    return model.double().eval()


def shortened(tensors):
    """The sinusoids take 5,000 rows of a checkpoint, which nobody needs."""
    return {name: values.float().flatten(0, 1)[:4].clone() if name.endswith("pe.pe") else values.float()
            for name, values in tensors.items()}


class Joey:
    start, end, never = 2, 3, [0, 1, 2]

    def __init__(self, model):
        self.model = model

    def encode(self, ids):
        source = torch.tensor([ids + [self.end]])
        mask = torch.ones(1, 1, source.size(1)).bool()
        return self.model._encode(source, torch.tensor([source.size(1)]), mask)[0], mask

    def log_probabilities(self, memory, ids):
        states, mask = memory
        logits = self.model._decode(states, None, mask, torch.tensor([ids]), None,
                                    trg_mask=torch.ones(1, 1, len(ids)).bool())[0]
        return logits[0].log_softmax(-1).detach()


def make_joeynmt(folder, name, kind):
    import yaml
    from joeynmt.config import _check_special_symbols
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary
    from types import SimpleNamespace

    words = sorted({word for line in TEXT for word in line.split()})
    splitter = None
    if kind["level"] == "bpe":
        known = pieces_of(folder, "bpe", 60)[::2] + list("abcdefghijklmnoprstuvw.▁")  # others are not split into
        known = sorted(set(known))
        splitter = sentencepiece.SentencePieceProcessor(model_file=folder + "/pieces.model")
    else:
        known = words
    symbols = SimpleNamespace(**_check_special_symbols({}))
    source = Vocabulary(known, symbols)
    target = source if kind["tied"] == "True" else Vocabulary([word + "n" for word in words[:-2]], symbols)
    for side, vocabulary in (("src", source), ("trg", target)):
        vocabulary.to_file(pathlib.Path(folder, side + "_vocab.txt"))
    if splitter is not None:
        splitter.SetVocabulary(source._itos)
    config = JOEY_CONFIG.format(name=name, **kind)
    with open(folder + "/config.yaml", "w", encoding="utf-8") as file:
        file.write(config)
    model = build_model(yaml.safe_load(config)["model"], src_vocab=source, trg_vocab=target)
    last = model.decoder.layer_norm or model.decoder.layers[-1].feed_forward.layer_norm
    draw(model, model.decoder.output_layer.weight, last, kind["end"], 3)
    torch.save({"model_state": shortened(model.state_dict()), "optimizer_state": {"state": {0: {"step": 3}}},
                "scaler_state": None, "train_iter_state": torch.Generator().get_state()[:8].clone(),
                "stats_state": {"steps": 7, "best_ckpt_score": float("inf")}}, folder + "/7.ckpt",
               _use_new_zipfile_serialization=splitter is None)
    return Joey(model), source._itos, target._itos, splitter


class OpenNMT:
    start, end, never = 2, 3, [0, 1, 2]

    def __init__(self, model):
        self.model = model

    def encode(self, ids):
        self.source = torch.tensor(ids).view(1, -1, 1)
        length = torch.tensor([len(ids)])
        return self.model.encoder(self.source, length)[0], length

    def log_probabilities(self, memory, ids):
        states, length = memory
        self.model.decoder.init_state(self.source, None, None)
        output = self.model.decoder(torch.tensor(ids).view(1, -1, 1), states, src_len=length)[0]
        return self.model.generator(output)[0].log_softmax(-1).detach()


class TextMultiField:
    """As OpenNMT-py 2 saved vocabularies: a field of torchtext, here by the names of its attributes alone."""

    def __init__(self, pieces):
        vocabulary = TextMultiField.__new__(TextMultiField)
        vocabulary.itos = pieces
        field = TextMultiField.__new__(TextMultiField)
        field.vocab = vocabulary
        self.fields = [("src", field)]


def make_opennmt(folder, name, kind):
    import pyonmttok
    from onmt.model_builder import build_base_model
    from onmt.opts import train_opts
    from onmt.utils.parse import ArgumentParser

    known = pieces_of(folder, "unigram", 40)
    os.rename(folder + "/pieces.model", folder + "/sentencepiece.model")
    splitter = sentencepiece.SentencePieceProcessor(model_file=folder + "/sentencepiece.model")
    special = ["<unk>", "<blank>", "<s>", "</s>"]
    source = pyonmttok.build_vocab_from_tokens(known, special_tokens=special)
    target = source if kind["joined"] else pyonmttok.build_vocab_from_tokens(known[::-1][2:], special_tokens=special)
    vocabularies = {"src": source, "tgt": target, "data_task": "seq2seq", "decoder_start_token": "<s>"}
    parser = ArgumentParser()
    train_opts(parser)
    options, _ = parser.parse_known_args(
        f"-data x -src_vocab x -save_model x -encoder_type transformer -decoder_type transformer -enc_layers 1 -dec_layers 2 -hidden_size "
        f"{D} -word_vec_size {D} -heads {HEADS} -transformer_ff {INNER} -position_encoding -param_init 0 "
        f"{kind['flags']}".split())
    ArgumentParser.update_model_opts(options)
    model = build_base_model(options, vocabularies)
    draw(model, model.generator.weight, model.decoder.layer_norm, kind["end"], 3)
    generator = {name: values.float() for name, values in model.generator.state_dict().items()}
    saved = {"src": source.ids_to_tokens, "tgt": target.ids_to_tokens, "data_task": "seq2seq",
             "decoder_start_token": "<s>"}
    if kind["old"]:
        generator = {"0." + name: values for name, values in generator.items()}
        saved = {"src": TextMultiField(source.ids_to_tokens), "tgt": TextMultiField(target.ids_to_tokens)}
    torch.save({"model": shortened({n: v for n, v in model.state_dict().items() if "generator" not in n}),
                "generator": generator, "vocab": saved, "opt": options, "optim": {"training_step": 7}},
               folder + "/model_step_7.pt", _use_new_zipfile_serialization=not kind["old"])
    return OpenNMT(model), source.ids_to_tokens, target.ids_to_tokens, splitter


def make(folder, name, kind, maker):
    os.makedirs(folder, exist_ok=True)
    network, source, target, splitter = maker(folder, name, kind)
    lines = []
    for line in LINES:
        pieces = splitter.encode(line, out_type=str) if splitter else line.split()
        tokens = [piece if piece in source else "<unk>" for piece in pieces]
        # Lists of words get a mark that SentencePiece needs.
        shown = tokens if splitter else [token if token == "<unk>" else "▁" + token for token in tokens]
        memory = network.encode([source.index(token) for token in tokens])
        item = {"source": line, "source_pieces": shown + ["</s>"], "min_length": 0, "max_length": len(tokens) + 9}
        for way, beam in (("greedy", 1), ("beam", 4)):
            ids, score = search(network, memory, beam, item["max_length"])
            item[way] = {"pieces": [target[i] if splitter else "▁" + target[i] for i in ids], "ended": True,
                         "score": score}
            if way == "greedy":
                rows = network.log_probabilities(memory, [network.start] + ids)
                item["greedy_log_probabilities"] = [float(r[i]) for r, i in zip(rows, ids + [network.end])]
        lines.append(item)
    with open(folder + "/expected.json", "w", encoding="utf-8") as file:
        json.dump({"languages": {}, "lines": lines}, file, ensure_ascii=False, indent=0)
    print(name, len(source), "and", len(target), "pieces;",
          sum(len(line["beam"]["pieces"]) < line["max_length"] for line in lines), "of", len(lines),
          "end by themselves")


def main():
    torch.set_num_threads(1)
    kinds, maker = {"joeynmt": (JOEY_KINDS, make_joeynmt), "opennmt": (OPENNMT_KINDS, make_opennmt)}[sys.argv[2]]
    for name, kind in kinds.items():
        make(os.path.join(sys.argv[1], name), name, kind, maker)


if __name__ == "__main__":
    main()
