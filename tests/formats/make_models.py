#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes models of other programs from random numbers, and what those programs say of them.

    make_models.py FOLDER [--size tiny|small|true] [--kinds marian,nllb,…] [--text train.en train.de]

"true" is the shape of OPUS-MT, M2M-100 (418M) and NLLB-200 (600M), whose tables get pieces that no text has.

Each kind becomes a folder with the model's files and `expected.json`: input lines, their token ids, greedy and beam
results, and the logits of teacher forcing. Needs torch, transformers and sentencepiece; exits with 77, which CTest takes
for "skipped", where they are missing.
"""
import argparse
import json
import os
import random
import sys

try:
    import sentencepiece
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

transformers.logging.set_verbosity_error()

COLORS = {"en": ["red", "blue", "green", "old"], "de": ["rote", "blaue", "grüne", "alte"]}
THINGS = {"en": ["house", "train", "bridge", "river"], "de": ["Haus", "Zug", "Brücke", "Fluss"]}
PLACES = {"en": ["near", "far", "here", "there", "gone", "closed"],
          "de": ["nah", "fern", "hier", "dort", "weg", "geschlossen"]}
FRAMES = {"en": "the {} {} is {}.", "de": "das {} {} ist {}."}


NORMALIZATION = "nmt_nfkc"  # SentencePiece's default, whose table takes 240 KB in each file


TEXT = {}  # of --text, by language


def text_in(language):
    if TEXT:
        return TEXT[language]
    return [FRAMES[language].format(c, t, p)
            for c in COLORS[language] for t in THINGS[language] for p in PLACES[language]]


def odd_lines():
    return ["", "  two  spaces ", "Ünïcödé ﬁligree ① ½", "tab\there", "日本語のテキスト", "a" * 60, "e\u0301 é",
            "the train is <unk> here", "👍 near"]


def fill_sentencepiece(path, table):
    """With pieces that no text has, up to `table` of them."""
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(open(path, "rb").read())
    lowest = min(piece.score for piece in model.pieces)
    for number in range(len(model.pieces), table):
        model.pieces.add(piece=f"\ue000{number}", score=lowest - 1 - number)
    open(path, "wb").write(model.SerializeToString())


def train_sentencepiece(prefix, lines, vocab_size, kind, table=0, **more):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=vocab_size, model_type=kind,
        hard_vocab_limit=False, minloglevel=2, normalization_rule_name=NORMALIZATION, **more)
    os.remove(prefix + ".vocab")
    if table:
        fill_sentencepiece(prefix + ".model", table)
    processor = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


SIZES = {
    "tiny": dict(d_model=8, encoder_layers=1, decoder_layers=2, heads=2, d_ff=12, positions=80, pieces=60),
    "small": dict(d_model=128, encoder_layers=3, decoder_layers=3, heads=4, d_ff=256, positions=160, pieces=90),
}
TRUE_SIZES = {
    "marian": dict(d_model=512, encoder_layers=6, decoder_layers=6, heads=8, d_ff=2048, positions=512, pieces=8000,
                   table=58101),
    "m2m": dict(d_model=1024, encoder_layers=12, decoder_layers=12, heads=16, d_ff=4096, positions=1024, pieces=8000,
                table=128004),
    "nllb": dict(d_model=1024, encoder_layers=12, decoder_layers=12, heads=16, d_ff=4096, positions=1024, pieces=8000,
                 table=256000),
}


def size_of(kind, name):
    if name != "true":
        return SIZES[name]
    if kind not in TRUE_SIZES:
        sys.exit(f"make_models: error: --size true has no {kind}; it has {', '.join(TRUE_SIZES)}")
    return TRUE_SIZES[kind]


def randomize(model, seed, end=3.5):
    """Weights that make decided choices, other biases and norms than a new network's."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name and "mbart" not in model.config.model_type:
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.copy_((1.0 if name.endswith("weight") else 0.0) + 0.2 * noise)
            else:
                parameter.copy_(noise * (1.5 if "shared" in name or "embed_tokens" in name else 1.3)
                                / parameter.shape[1] ** 0.5)
        if hasattr(model.model.decoder, "layer_norm"):  # the end must come some day here too
            row = model.model.shared.weight[2]
            model.model.decoder.layer_norm.bias += end * row / row.norm()
        if getattr(model, "final_logits_bias", None) is not None:
            bias = 0.3 * torch.randn(model.final_logits_bias.shape, generator=generator)
            bias[0, model.config.eos_token_id] += end
            model.final_logits_bias.copy_(bias)


def save_marian(folder, size, separate=False):
    source = train_sentencepiece(folder + "/s", text_in("en"), size["pieces"], "unigram")
    target = train_sentencepiece(folder + "/t", text_in("de"), size["pieces"], "unigram")
    os.rename(folder + "/s.model", folder + "/source.spm")
    os.rename(folder + "/t.model", folder + "/target.spm")
    # As in OPUS-MT: numbers of a table's own, some of SentencePiece's pieces missing, tags that no text is split into.
    def table(pieces, tags):
        kept = sorted(set(pieces) - {"<unk>", "<s>", "</s>"})[:-3]
        random.Random(5).shuffle(kept)
        known = ["</s>", "<unk>"] + kept + tags
        filler = [f"\ue000{number}" for number in range(len(known), size.get("table", 0) - 1)]
        return {piece: i for i, piece in enumerate(known + filler + ["<pad>"])}
    tags = [">>deu<<", ">>nld<<"]
    vocab = table(source, tags) if separate else table(source + target, tags)
    json.dump(vocab, open(folder + "/vocab.json", "w"), ensure_ascii=False)
    target_vocab = table(target, [])
    if separate:
        # Both sides' padding has one number in Marian's files.
        longest = max(len(vocab), len(target_vocab))
        for short in (vocab, target_vocab):
            del short["<pad>"]
            while len(short) < longest - 1:
                short[f"madeup{len(short)}"] = len(short)
            short["<pad>"] = longest - 1
        json.dump(vocab, open(folder + "/vocab.json", "w"), ensure_ascii=False)
        json.dump(target_vocab, open(folder + "/target_vocab.json", "w"), ensure_ascii=False)
    config = transformers.MarianConfig(
        vocab_size=len(vocab), decoder_vocab_size=len(target_vocab) if separate else len(vocab),
        max_position_embeddings=size["positions"],
        encoder_layers=size["encoder_layers"], decoder_layers=size["decoder_layers"], d_model=size["d_model"],
        encoder_attention_heads=size["heads"], decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["d_ff"], decoder_ffn_dim=size["d_ff"], activation_function="swish",
        scale_embedding=True, pad_token_id=vocab["<pad>"], decoder_start_token_id=vocab["<pad>"], eos_token_id=0,
        forced_eos_token_id=None, share_encoder_decoder_embeddings=not separate, tie_word_embeddings=True)
    model = transformers.MarianMTModel(config).eval()
    randomize(model, 21, end=3.5)
    with torch.no_grad():  # as a conversion from Marian leaves it
        for table_of in {model.model.encoder.embed_tokens, model.model.decoder.embed_tokens}:
            table_of.weight[vocab["<pad>"]] = 0
    model.generation_config.bad_words_ids = [[vocab["<pad>"]]]
    tokenizer = transformers.MarianTokenizer(
        source_spm=folder + "/source.spm", target_spm=folder + "/target.spm", vocab=folder + "/vocab.json",
        target_vocab_file=folder + "/target_vocab.json" if separate else None, separate_vocabs=separate)
    return model, tokenizer, {}


def multilingual_config(kind, size, vocab_size):
    return kind(
        vocab_size=vocab_size, max_position_embeddings=size["positions"], encoder_layers=size["encoder_layers"],
        decoder_layers=size["decoder_layers"], d_model=size["d_model"], encoder_attention_heads=size["heads"],
        decoder_attention_heads=size["heads"], encoder_ffn_dim=size["d_ff"], decoder_ffn_dim=size["d_ff"],
        scale_embedding=True, encoder_layerdrop=0, decoder_layerdrop=0)


def save_nllb(folder, size):
    train_sentencepiece(folder + "/sentencepiece.bpe", text_in("en") + text_in("de"), size["pieces"], "bpe",
                        size.get("table", 0))
    tokenizer = transformers.NllbTokenizer(
        folder + "/sentencepiece.bpe.model", src_lang="eng_Latn", tgt_lang="deu_Latn",
        additional_special_tokens=["eng_Latn", "deu_Latn", "nld_Latn"])
    model = transformers.M2M100ForConditionalGeneration(
        multilingual_config(transformers.M2M100Config, size, len(tokenizer))).eval()
    randomize(model, 31, end=4)
    return model, tokenizer, {"source_language": "eng_Latn", "target_language": "deu_Latn"}


def save_m2m(folder, size):
    pieces = train_sentencepiece(folder + "/sentencepiece.bpe", text_in("en") + text_in("de"), size["pieces"], "bpe",
                                 size.get("table", 0))
    vocab = {piece: i for i, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + sorted(pieces[3:]))}
    json.dump(vocab, open(folder + "/vocab.json", "w"), ensure_ascii=False)
    tokenizer = transformers.M2M100Tokenizer(
        folder + "/vocab.json", folder + "/sentencepiece.bpe.model", src_lang="en", tgt_lang="de")
    model = transformers.M2M100ForConditionalGeneration(
        multilingual_config(transformers.M2M100Config, size, len(vocab) + 100 + 8)).eval()
    randomize(model, 13)
    return model, tokenizer, {"source_language": "en", "target_language": "de"}


def save_mbart(folder, size):
    train_sentencepiece(folder + "/sentencepiece.bpe", text_in("en") + text_in("de"), size["pieces"], "unigram")
    tokenizer = transformers.MBart50Tokenizer(
        folder + "/sentencepiece.bpe.model", src_lang="en_XX", tgt_lang="de_DE")
    config = multilingual_config(transformers.MBartConfig, size, len(tokenizer))
    config.decoder_start_token_id = config.eos_token_id = 2
    model = transformers.MBartForConditionalGeneration(config).eval()
    randomize(model, 14)
    model.generation_config.decoder_start_token_id = 2
    return model, tokenizer, {"source_language": "en_XX", "target_language": "de_DE"}


KINDS = {
    "marian": save_marian,
    "marian_separate": lambda folder, size: save_marian(folder, size, separate=True),
    "nllb": save_nllb,
    "m2m": save_m2m,
    "mbart": save_mbart,
}


# By CTranslate2, whose converter wants a tokenizer that knows every number of the model.
CONVERTIBLE = ("marian", "marian_separate", "nllb")


def longest_output(model, encoded):
    """Without the end."""
    return min(encoded["input_ids"].shape[1] + 9, model.config.max_position_embeddings - 3)


def generate(model, encoded, languages, tokenizer, **options):
    if languages:
        options["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(
            {"de": "__de__"}.get(languages["target_language"], languages["target_language"]))
    result = model.generate(
        **encoded, do_sample=False, max_new_tokens=longest_output(model, encoded) + 1,
        forced_eos_token_id=None, early_stopping="never" if options.get("num_beams", 1) > 1 else False,
        output_scores=True, return_dict_in_generate=True, **options)
    ids = result.sequences[0].tolist()
    ended = ids[-1] == model.config.eos_token_id
    ids = ids[1:-1] if ended else ids[1:]
    return {"ids": ids, "pieces": pieces_of(tokenizer, ids, target=True), "ended": ended,
            "score": result.sequences_scores[0].item() if "sequences_scores" in result else None}


def pieces_of(tokenizer, ids, target=False):
    """By the numbers of the model: a MarianTokenizer of two vocabularies knows them by its present side."""
    if getattr(tokenizer, "separate_vocabs", False):
        table = tokenizer.target_encoder if target else tokenizer.encoder
        names = {number: piece for piece, number in table.items()}
        return [names[number] for number in ids]
    return tokenizer.convert_ids_to_tokens(ids)


def expected_of(model, tokenizer, languages, lines):
    results = []
    for line in lines:
        encoded = tokenizer(line, return_tensors="pt")
        source_ids = encoded["input_ids"][0].tolist()
        item = {"source": line, "source_pieces": pieces_of(tokenizer, source_ids),
                "max_length": longest_output(model, encoded)}
        with torch.no_grad():
            greedy = generate(model, encoded, languages, tokenizer, num_beams=1)
            beam = generate(model, encoded, languages, tokenizer, num_beams=4, length_penalty=1.0)
            for result in (greedy, beam):
                result["text"] = tokenizer.decode(result["ids"], skip_special_tokens=True,
                                                  clean_up_tokenization_spaces=False)
            start = model.config.decoder_start_token_id
            target = [start if start is not None else model.config.eos_token_id] + greedy["ids"]
            logits = model(**encoded, decoder_input_ids=torch.tensor([target])).logits[0]
            probabilities = torch.log_softmax(logits, -1)
            forced = greedy["ids"] + [model.config.eos_token_id]
            item["greedy_log_probabilities"] = [probabilities[i, id].item() for i, id in enumerate(forced)]
        for result in (greedy, beam):
            del result["ids"]
        item["greedy"], item["beam"] = greedy, beam
        results.append(item)
    return results


def marian_arrays(size, vocab_size, pre_norm):
    """Random numbers under Marian's names; matrices are [inputs,outputs] there."""
    import numpy
    random_numbers = numpy.random.default_rng(17)
    d, f = size["d_model"], size["d_ff"]
    arrays = {}

    def matrix(name, rows, columns, scale=1.3):
        arrays[name] = random_numbers.normal(0, scale / rows ** 0.5, (rows, columns)).astype("float32")

    def vector(name, columns, mean=0.0):
        arrays[name] = (mean + random_numbers.normal(0, 0.2, (1, columns))).astype("float32")

    def norm(name):
        suffix = "_pre" if pre_norm and not name.endswith("top") else ""
        vector(name + "_ln_scale" + suffix, d, 1.0)
        vector(name + "_ln_bias" + suffix, d)

    arrays["Wemb"] = random_numbers.normal(0, 1.5 / d ** 0.5, (vocab_size, d)).astype("float32")
    for stack, depth, attentions in (("encoder", size["encoder_layers"], ["self"]),
                                     ("decoder", size["decoder_layers"], ["self", "context"])):
        for layer in range(1, depth + 1):
            for attention in attentions:
                for letter in "qkvo":
                    matrix(f"{stack}_l{layer}_{attention}_W{letter}", d, d)
                    vector(f"{stack}_l{layer}_{attention}_b{letter}", d)
                norm(f"{stack}_l{layer}_{attention}_Wo")
            matrix(f"{stack}_l{layer}_ffn_W1", d, f)
            vector(f"{stack}_l{layer}_ffn_b1", f)
            matrix(f"{stack}_l{layer}_ffn_W2", f, d)
            vector(f"{stack}_l{layer}_ffn_b2", d)
            norm(f"{stack}_l{layer}_ffn_ffn")
        if pre_norm:
            norm(f"{stack}_top")
    vector("decoder_ff_logit_out_b", vocab_size)
    arrays["decoder_ff_logit_out_b"][0, 0] += 3.5
    return arrays


def ctranslate2_results(converted, lines, sources, token_of, piece_of):
    """What CTranslate2 says of each line, whose pieces `sources` has; its tokens may have other names. Where it must not
    say a token, such as <unk> or the end before min_decoding_length, the others share that token's probability, which
    here they do not: so it may say everything. It ends where it has beam_size translations, unless it is patient."""
    import ctranslate2
    translator = ctranslate2.Translator(converted, intra_threads=1, inter_threads=1)
    results = []
    for line, pieces in zip(lines, sources):
        tokens = [token_of(piece) for piece in pieces]
        longest = len(tokens) + 9
        item = {"source": line, "source_pieces": list(pieces), "min_length": 0, "max_length": longest}
        for search, beam in (("greedy", 1), ("beam", 4)):
            found = translator.translate_batch(
                [tokens], beam_size=beam, max_decoding_length=longest, min_decoding_length=0, patience=64,
                return_scores=True)[0]
            said, mean = found.hypotheses[0], found.scores[0]
            item[search] = {"pieces": [piece_of(token) for token in said], "ended": len(said) < longest,
                            "score": mean * (len(said) + 1) if beam == 1 else mean}
            if search == "greedy":
                item["greedy_log_probabilities"] = list(translator.score_batch([tokens], [said])[0].log_probs)
        results.append(item)
    return results


def make_marian_npz(folder, size, lines, pre_norm):
    """Marian's own files, and what CTranslate2's conversion of them says: no program of Marian is needed."""
    import ctranslate2.converters
    import numpy
    os.makedirs(folder, exist_ok=True)
    source = train_sentencepiece(folder + "/s", text_in("en"), size["pieces"], "unigram")
    target = train_sentencepiece(folder + "/t", text_in("de"), size["pieces"], "unigram")
    os.rename(folder + "/s.model", folder + "/source.spm")
    os.rename(folder + "/t.model", folder + "/target.spm")
    pieces = ["</s>", "<unk>"] + sorted(set(source + target) - {"<unk>", "<s>", "</s>"})[:-3]
    # With YAML's quotes, escapes and complex keys, of which the last three have something.
    pieces += ["it's", "\u2028", "\"", ": "]
    with open(folder + "/opus.vocab.yml", "w") as vocabulary:
        for number, piece in enumerate(pieces):
            name = {"it's": "'it''s'", "\u2028": '"\\x2028"', "\"": '"\\""', ": ": '": "'}.get(piece, f'"{piece}"')
            vocabulary.write(f"? {name}\n: {number}\n" if number == 5 else f"{name}: {number}\n")
    settings = {
        "type": "transformer", "enc-depth": size["encoder_layers"], "dec-depth": size["decoder_layers"],
        "dim-emb": size["d_model"], "transformer-heads": size["heads"], "transformer-dim-ffn": size["d_ff"],
        "transformer-ffn-activation": "swish" if pre_norm else "relu", "transformer-no-projection": "false",
        "transformer-decoder-autoreg": "self-attention", "transformer-postprocess-emb": "d",
        "transformer-preprocess": "n" if pre_norm else '""', "transformer-postprocess": "da" if pre_norm else "dan",
        "transformer-postprocess-top": "n" if pre_norm else '""', "transformer-guided-alignment-layer": "last",
        "transformer-train-position-embeddings": "false", "tied-embeddings-all": "true", "tied-embeddings": "false"}
    text = "".join(f"{key}: {value}\n" for key, value in settings.items())
    arrays = marian_arrays(size, len(pieces), pre_norm)
    arrays["special:model.yml"] = numpy.frombuffer(text.encode() + b"\0", dtype="uint8")
    numpy.savez(folder + "/model.npz", **arrays)
    with open(folder + "/decoder.yml", "w") as decoder:
        decoder.write("relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - opus.vocab.yml\n"
                      "  - opus.vocab.yml\nbeam-size: 6\n")

    # The conversion lays positions out in another way than Marian; it takes a table where there is one.
    half = size["d_model"] // 2
    angles = numpy.arange(size["positions"])[:, None] * 10000.0 ** (-numpy.arange(half) / (half - 1))
    arrays["Wpos"] = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype("float32")
    converted = folder + "/converted"
    numpy.savez(folder + "/with_positions.npz", **arrays)
    # Its reader of vocabularies does not know all of YAML: it gets one without quotes.
    with open(folder + "/plain.yml", "w") as vocabulary:
        for number in range(len(pieces)):
            vocabulary.write(f"p{number}: {number}\n" if number > 1 else f"{pieces[number]}: {number}\n")
    ctranslate2.converters.MarianConverter(folder + "/with_positions.npz", [folder + "/plain.yml"] * 2).convert(
        converted, force=True)
    processor = sentencepiece.SentencePieceProcessor(model_file=folder + "/source.spm")
    numbers = {piece: number for number, piece in enumerate(pieces)}
    names = {f"p{number}": piece for number, piece in enumerate(pieces)}
    sources = [[piece if piece in numbers else "<unk>" for piece in processor.encode(line, out_type=str)]
               for line in lines]
    results = ctranslate2_results(
        converted, lines, sources, lambda piece: f"p{numbers[piece]}" if numbers[piece] > 1 else piece,
        lambda token: names.get(token, token))
    for item in results:
        item["source_pieces"].append("</s>")
    import shutil
    shutil.rmtree(converted)
    os.remove(folder + "/with_positions.npz")
    os.remove(folder + "/plain.yml")
    json.dump({"languages": {}, "lines": results}, open(folder + "/expected.json", "w"), ensure_ascii=False, indent=0)
    print(os.path.basename(folder), len(pieces), "pieces")


def convert_to_ctranslate2(folder, quantization, expected):
    import ctranslate2.converters
    converted = folder + "_ctranslate2"
    files = [name for name in ("source.spm", "target.spm", "sentencepiece.bpe.model")
             if os.path.exists(os.path.join(folder, name))]
    ctranslate2.converters.TransformersConverter(folder, copy_files=files).convert(
        converted, quantization=quantization, force=True)
    if expected["languages"]:  # whose tokens would be prefixes of the output
        json.dump(expected, open(converted + "/expected.json", "w"), ensure_ascii=False, indent=0)
        return
    # Without the padding, which the conversion leaves out, probabilities are others than Hugging Face's.
    lines = [line for line in expected["lines"] if line["source"].strip()]
    results = ctranslate2_results(converted, [line["source"] for line in lines],
                                  [line["source_pieces"] for line in lines], lambda piece: piece, lambda token: token)
    json.dump({"languages": {}, "lines": results}, open(converted + "/expected.json", "w"), ensure_ascii=False,
              indent=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--size", choices=[*SIZES, "true"], default="tiny")
    parser.add_argument("--text", nargs=2, metavar=("EN", "DE"), help="text to learn pieces from, instead of a made-up one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS), help="comma-separated; also npz and npz_pre_norm")
    parser.add_argument("--lines", type=int, default=12)
    parser.add_argument("--normalization", default=NORMALIZATION)
    parser.add_argument("--no-odd-lines", action="store_true")
    parser.add_argument("--ctranslate2", metavar="TYPE", help="also KIND_ctranslate2: converted, with float32, int8, …")
    parser.add_argument("--format", choices=["safetensors", "bin", "shards", "half"], default="safetensors")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for language, path in zip(("en", "de"), arguments.text or ()):
        with open(path, encoding="utf-8") as text:
            TEXT[language] = text.read().splitlines()
    globals()["NORMALIZATION"] = arguments.normalization
    for kind in arguments.kinds.split(","):
        if kind.startswith("npz"):
            make_marian_npz(os.path.join(arguments.folder, kind), size_of(kind, arguments.size),
                            random.Random(3).sample(text_in("en"), min(arguments.lines, len(text_in("en")))),
                            kind == "npz_pre_norm")
            continue
        folder = os.path.join(arguments.folder, kind)
        os.makedirs(folder, exist_ok=True)
        model, tokenizer, languages = KINDS[kind](folder, size_of(kind, arguments.size))
        if arguments.format == "half":
            model = model.half().float()
        lines = random.Random(3).sample(text_in("en"), min(arguments.lines, len(text_in("en"))))
        if not arguments.no_odd_lines:
            lines += odd_lines()
        if kind.startswith("marian"):
            lines += [">>deu<< the old bridge is gone.", ">>xxx<< the river"]
        expected = expected_of(model, tokenizer, languages, lines)
        (model.half() if arguments.format == "half" else model).save_pretrained(
            folder, safe_serialization=arguments.format != "bin",
            max_shard_size="60KB" if arguments.format == "shards" else "5GB")
        tokenizer.save_pretrained(folder)
        expected = {"languages": languages, "lines": expected}
        json.dump(expected, open(folder + "/expected.json", "w"), ensure_ascii=False, indent=0)
        if arguments.ctranslate2 and kind in CONVERTIBLE:
            convert_to_ctranslate2(folder, arguments.ctranslate2, expected)
        print(kind, model.config.vocab_size, "pieces;", sum(line["greedy"]["ended"] for line in expected["lines"]),
              "of", len(expected["lines"]), "end by themselves")


if __name__ == "__main__":
    main()
