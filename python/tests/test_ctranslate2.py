# SPDX-License-Identifier: Apache-2.0
"""transmute.ctranslate2: python3 -m unittest discover python/tests"""

import gc
import io
import os
import tempfile
import time
import unittest
import weakref
from pathlib import Path

import transmute
import transmute.ctranslate2 as ctranslate2
from transmute import _ctranslate2
from test_transmute import LANGUAGES, MULTILINGUAL, TINY

TEXTS = ["the cat sat on the rat", "", "a train 😀 is near"]


class LikeCTranslate2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.translator = ctranslate2.Translator(str(TINY), device="cpu", compute_type="float32", inter_threads=1)
        cls.tokenizer = transmute.Tokenizer(TINY)
        cls.direct = transmute.Translator(TINY, precision="float32")

    def assert_freed(self, objects):
        deadline = time.monotonic() + 5  # the thread that ran a call lets go of it last
        while any(one() for one in objects) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([one() for one in objects], [None] * len(objects))

    def test_translate_batch(self):
        source = [self.tokenizer.encode(text) for text in TEXTS]
        results = self.translator.translate_batch(source, beam_size=3, num_hypotheses=2, return_scores=True,
                                                  return_attention=True, replace_unknowns=True, max_batch_size=32)  # fmt: skip
        first = [0.259, 0.05, 0.004, 0.004, 0.005, 0.049, 0.147, 0.006]  # of CTranslate2 4.8.5
        self.assertEqual([round(value, 3) for value in results[0].attention[0][0][: len(first)]], first)
        for tokens, result in zip(source, results):
            self.assertEqual(len(result.hypotheses), len(result.scores))
            self.assertEqual(result.scores, sorted(result.scores, reverse=True))
            for row in result.attention[0]:
                self.assertEqual(len(row), len(tokens))
        for text, result in zip(TEXTS[::2], results[::2]):
            direct = self.direct.translate_batch([text], beam_size=3, n_best=2, length_penalty=1.0, guard="off",
                                                 protect="none", case="keep", max_extra_length=256,
                                                 min_length=1)[0]  # fmt: skip
            self.assertEqual(result.hypotheses, [hypothesis.tokens[:256] for hypothesis in direct.hypotheses])
            for score, hypothesis in zip(result.scores, direct.hypotheses):
                self.assertAlmostEqual(score, hypothesis.log_probability / (len(hypothesis.tokens) + 1), places=5)
        self.assertEqual(results[0][0], {"tokens": results[0].hypotheses[0], "score": results[0].scores[0],
                                         "attention": results[0].attention[0]})  # fmt: skip
        later = self.translator.translate_batch(source, beam_size=3, asynchronous=True)
        self.assertEqual(later[0].result().hypotheses[0], results[0].hypotheses[0])
        iterated = list(self.translator.translate_iterable(iter(source), beam_size=3))
        self.assertEqual([result.hypotheses[0] for result in iterated], [result.hypotheses[0] for result in results])

    def test_an_error_does_not_keep_the_model(self):
        def fail():
            later = translator.translate_batch([["the"]], beam_size=0, asynchronous=True)[0]
            with self.assertRaises(ValueError):
                later.result()

        translator = ctranslate2.Translator(TINY)
        handle = weakref.ref(translator._translator._handle)
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        fail()
        translator.unload_model()
        self.assert_freed([handle])

    def test_a_score_is_that_of_the_search(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        best = self.translator.translate_batch(source, length_penalty=0, return_scores=True, beam_size=8)[0]
        self.assertLess(len(best.hypotheses[0]), 256)
        scored = self.translator.score_batch(source, best.hypotheses)[0]
        self.assertEqual(scored.tokens, [*best.hypotheses[0], "</s>"])
        self.assertAlmostEqual(sum(scored.log_probs), best.scores[0], places=3)

    def test_alternatives_are_ranked_by_their_first_tokens(self):
        source = [self.tokenizer.encode(TEXTS[2])]
        options = {"return_alternatives": True, "num_hypotheses": 4, "return_scores": True}
        found = self.translator.translate_batch(source, **options)[0]
        self.assertEqual([tokens[0] for tokens in found.hypotheses], ["ri", "d", "B", "f"])  # as in CTranslate2 4.8.5
        for score, scored in zip(found.scores, self.translator.score_batch(source * 4, found.hypotheses)):
            first, *others = scored.log_probs
            self.assertAlmostEqual(score, first + sum(others) / len(others), places=3)
        for least, count in ((0.05, 2), (1, 1)):
            probable = self.translator.translate_batch(source, min_alternative_expansion_prob=least, **options)[0]
            self.assertEqual(probable.hypotheses, found.hypotheses[:count])

    def test_languages_among_the_tokens(self):
        translator = ctranslate2.Translator(MULTILINGUAL)
        pieces = transmute.Tokenizer(MULTILINGUAL).encode(TEXTS[0])
        direct = transmute.Translator(MULTILINGUAL).translate_batch(
            [TEXTS[0]], beam_size=4, length_penalty=1.0, guard="off", protect="none", **LANGUAGES
        )[0].best  # fmt: skip
        for source in (["eng_Latn", *pieces], [*pieces, "</s>", "eng_Latn"]):
            result = translator.translate_batch([source], [["deu_Latn"]], beam_size=4)[0]
            self.assertEqual(result.hypotheses[0][0], "deu_Latn")
            self.assertEqual(result.hypotheses[0][1:], direct.tokens)

    def test_forced_tokens_have_probability_1(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        options = {"beam_size": 8, "length_penalty": 0}
        prefix = self.tokenizer.encode("the cat", "target")
        result = self.translator.translate_batch(source, [prefix], return_scores=True, **options)[0]
        self.assertLess(len(result.hypotheses[0]), 256)
        self.assertEqual(result.hypotheses[0][: len(prefix)], prefix)
        scores = self.translator.score_batch(source, result.hypotheses)[0].log_probs
        self.assertLess(sum(scores[: len(prefix)]), -0.1)
        self.assertAlmostEqual(result.scores[0], sum(scores[len(prefix) :]), places=3)

    # The expected results are those of CTranslate2 4.8.5.
    def test_an_empty_source_gives_the_prefix(self):
        prefix = self.tokenizer.encode("the cat", "target")
        for options in ({}, {"return_alternatives": True}, {"return_end_token": True}):
            found = self.translator.translate_batch([[], [], [prefix[0]]], [prefix, None, None], num_hypotheses=2,
                                                    return_scores=True, **options)  # fmt: skip
            self.assertEqual(found[0], ctranslate2.TranslationResult([prefix, prefix], [0.0, 0.0]))
            self.assertEqual(found[1], ctranslate2.TranslationResult([[], []], [0.0, 0.0]))
            self.assertLess(found[2].scores[0], 0)
        found = self.translator.translate_batch([[]], [prefix[:2]], return_attention=True)
        self.assertEqual(found, [ctranslate2.TranslationResult([prefix[:2]], [], [[[], []]])])
        self.assertEqual(list(self.translator.generate_tokens([], prefix)), [])

    def test_tokens_need_not_be_those_of_the_models_tokenizer(self):
        vocabulary = set(self.tokenizer.vocabulary())
        letters = [letter for letter in "\u2581" + TEXTS[0].replace(" ", "\u2581") if letter in vocabulary]
        self.assertGreater(len(letters), len(self.tokenizer.encode(TEXTS[0])))
        found = self.translator.translate_batch([letters], return_attention=True)[0]
        self.assertEqual({len(row) for row in found.attention[0]}, {len(letters)})
        unknown = ["no such piece", "", "a\0b", "\u3000", *letters]
        self.assertEqual({len(row) for row in self.translator.translate_batch([unknown], return_attention=True)[0]
                          .attention[0]}, {len(unknown)})  # fmt: skip

    def test_tokens_come_as_they_are_found(self):
        source = self.tokenizer.encode(TEXTS[0])
        expected = self.translator.translate_batch([source], beam_size=1, return_scores=True)[0]
        end = [] if len(expected.hypotheses[0]) == 256 else ["</s>"]
        for log_probs in (False, True):
            steps = list(self.translator.generate_tokens(source=source, return_log_prob=log_probs))
            self.assertEqual([step.token for step in steps], [*expected.hypotheses[0], *end])
            self.assertEqual([step.is_last for step in steps], [False] * (len(steps) - 1) + [True])
            vocabulary = self.tokenizer.vocabulary("target")
            self.assertEqual([vocabulary[step.token_id] for step in steps], [step.token for step in steps])
        scored = self.translator.score_batch([source], expected.hypotheses)[0]
        for step, log_prob in zip(steps, scored.log_probs):
            self.assertAlmostEqual(step.log_prob, log_prob, places=3)

    def test_repetition_penalty_and_suppressed_sequences(self):
        source = [self.tokenizer.encode(TEXTS[0])]

        def translated(**options):
            return self.translator.translate_batch(source, beam_size=4, **options)[0].hypotheses[0]

        plain = translated()
        self.assertLess(len(set(plain)), len(plain))
        few = translated(repetition_penalty=1000, max_decoding_length=5)
        self.assertEqual(len(set(few)), len(few))
        few = translated(repetition_penalty=1000, max_decoding_length=5, target_prefix=[plain[:1]])
        self.assertEqual(len(set(few)), len(few))
        pair, token = plain[:2], plain[2]
        suppressed = translated(suppress_sequences=[pair, [token], []])
        self.assertNotIn(token, suppressed)
        self.assertNotIn(tuple(pair), list(zip(suppressed, suppressed[1:])))
        *_, last = self.translator.translate_iterable([[]] * 1024 + source, suppress_sequences=iter([[token]]))
        self.assertNotIn(token, last.hypotheses[0])
        with self.assertRaisesRegex(ValueError, "repetition_penalty"):
            translated(repetition_penalty=0)

    def test_the_end_token_on_request(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        plain = self.translator.translate_batch(source, beam_size=8, length_penalty=0)[0].hypotheses[0]
        self.assertLess(len(plain), 256)
        for maximum, expected in ((256, [*plain, "</s>"]), (len(plain), plain)):
            found = self.translator.translate_batch(
                source, beam_size=8, length_penalty=0, return_end_token=True, max_decoding_length=maximum
            )  # fmt: skip
            self.assertEqual(found[0].hypotheses[0], expected)
        with self.assertRaisesRegex(ValueError, "return_attention"):
            self.translator.translate_batch(source, return_end_token=True, return_attention=True)

    def test_calls_in_the_background(self):
        source = [self.tokenizer.encode(text) for text in TEXTS]
        found = self.translator.translate_batch(source, asynchronous=True)
        self.assertEqual([one.result() for one in found], self.translator.translate_batch(source))
        self.assertTrue(found[0].done())
        scored = self.translator.score_batch(source, source, asynchronous=True)
        self.assertEqual([one.result() for one in scored], list(self.translator.score_iterable(source, source, 2, "tokens")))
        failed = self.translator.translate_batch(source, asynchronous=True, min_decoding_length=3, max_decoding_length=2)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "greater than the maximum"):
                failed[0].result()
        freed = [weakref.ref(one._call) for one in (*found, *scored, *failed)]
        del found, scored, failed
        self.assert_freed(freed)

    def test_samples_follow_the_seed(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        drawn = []
        for seed in (1, 1, 2):
            ctranslate2.set_random_seed(seed)
            for _ in range(2):
                drawn.append(self.translator.translate_batch(source, sampling_topk=0, sampling_temperature=3)[0].hypotheses)
        self.assertEqual(drawn[:2], drawn[2:4])
        self.assertNotEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[:2], drawn[4:])

    def test_a_model_can_be_unloaded_and_come_from_memory(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        expected = self.translator.translate_batch(source)
        files = {path.name: path.read_bytes() for path in TINY.iterdir()}
        files["model.bin"] = io.BytesIO(files["model.bin"])
        translator = ctranslate2.Translator("in memory", compute_type="float32", files=files)
        self.assertEqual(translator.translate_batch(source), expected)
        translator.unload_model()
        self.assertFalse(translator.model_is_loaded)
        with self.assertRaisesRegex(RuntimeError, "unloaded"):
            translator.translate_batch(source)
        translator.load_model()
        self.assertEqual(translator.translate_batch(source), expected)

    def test_score_file(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("source", "target", "output")]
            tokens = [self.tokenizer.encode(text) for text in TEXTS]
            for path in paths[:2]:
                Path(path).write_text("".join(" ".join(line) + "\n" for line in tokens), encoding="utf-8")
            stats = self.translator.score_file(*paths, with_tokens_score=True)
            self.assertEqual((stats.num_examples, stats.num_tokens), (3, sum(len(line) + 1 for line in tokens)))
            written = [line.split(" ||| ") for line in Path(paths[2]).read_text(encoding="utf-8").splitlines()]
            for line, scored in zip(written, self.translator.score_batch(tokens, tokens)):
                self.assertEqual(line[1].split(" "), scored.tokens)
                self.assertAlmostEqual(float(line[0]), sum(scored.log_probs) / len(scored.log_probs), places=5)
            Path(paths[1]).write_text("a\n")
            with self.assertRaisesRegex(RuntimeError, "less examples"):
                self.translator.translate_file(paths[0], paths[2], paths[1])

    def test_translate_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "source"), Path(folder, "output")
            source.write_text("".join(text + "\n" for text in TEXTS), encoding="utf-8")
            stats = self.translator.translate_file(
                str(source), str(output), source_tokenize_fn=self.tokenizer.encode, beam_size=3,
                target_detokenize_fn=lambda tokens: self.tokenizer.decode(tokens, "target"),
            )  # fmt: skip
            self.assertEqual(stats.num_examples, len(TEXTS))
            self.assertEqual(len(output.read_text(encoding="utf-8").splitlines()), len(TEXTS))
            for best in (1, 2):
                options = {"num_hypotheses": best, "with_scores": True}
                self.assertEqual(self.translator.translate_file(str(source), str(output), **options).num_examples, 3)
                lines = [line.split(" ||| ") for line in output.read_text(encoding="utf-8").splitlines()]
                self.assertEqual(len(lines), best * len(TEXTS))
            self.assertGreater(float(lines[0][0]), float(lines[1][0]))

    def test_lines_end_and_tokens_are_cut_as_in_ctranslate2(self):
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "source"), Path(folder, "output")
            written = [" ".join(self.tokenizer.encode(text)) for text in TEXTS]
            source.write_bytes(("\r".join(written) + "\u00a0x\r\n \u3000 \x0c \u2028  a\n").encode())
            with _ctranslate2.Lines(str(source), None, str(source), None, str(output)) as lines:
                found = list(lines)
            expected = [("\r".join(written) + "\u00a0x").split(" "), ["\u3000", "\x0c", "\u2028", "a"]]
            self.assertEqual(found, [(tokens, tokens) for tokens in expected])

    def test_a_text_too_long_is_cut(self):
        tokens = self.tokenizer.encode(TEXTS[0])
        for length in (3, len(tokens)):
            cut = [tokens[: length - 1]]  # the end counts
            found = self.translator.translate_batch([tokens], return_attention=True, max_input_length=length)
            self.assertEqual(found, self.translator.translate_batch(cut, return_attention=True))
            self.assertEqual(
                list(self.translator.generate_tokens(tokens, max_input_length=length)),
                list(self.translator.generate_tokens(cut[0])),
            )
            scored = self.translator.score_batch([tokens], [tokens], max_input_length=length)
            self.assertEqual(scored, self.translator.score_batch(cut, cut))
        whole = self.translator.translate_batch([tokens * 200], return_attention=True, max_input_length=0, beam_size=1)
        self.assertEqual(len(whole[0].attention[0][0]), len(tokens) * 200)

    def test_a_scored_token_has_a_log_probability(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        plain = self.translator.score_batch(source, source)[0]
        for target in (["<s>", *source[0]], [*source[0], "</s>"], ["<pad>", *source[0]]):
            self.assertEqual(self.translator.score_batch(source, [target])[0], plain)

    def test_a_str_is_no_list_of_tokens(self):
        one = [["a"]]
        for call in (
            lambda: self.translator.translate_batch(["a"]), lambda: self.translator.translate_batch("a"),
            lambda: self.translator.translate_batch(one, ["a"]), lambda: self.translator.score_batch(one, ["a"]),
            lambda: self.translator.score_batch(["a"], one), lambda: list(self.translator.generate_tokens("a")),
            lambda: self.translator.translate_batch(one, suppress_sequences=["a"]),
            lambda: list(self.translator.generate_tokens(["a"], "a")),
        ):  # fmt: skip
            with self.assertRaisesRegex(TypeError, "must be a list of str, not the str 'a'"):
                call()

    def test_a_mistake_leaves_the_output_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "source"), Path(folder, "output")
            source.write_text("a\n")
            output.write_text("b\n")
            for input, options in ((source, {"beam_sise": 2}), (Path(folder, "no such file"), {}), (output, {})):
                with self.subTest(input), self.assertRaises((TypeError, FileNotFoundError, ValueError)):
                    self.translator.translate_file(str(input), str(output), **options)
                self.assertEqual(output.read_text(), "b\n")
                self.assertEqual(len(list(Path(folder).iterdir())), 2)

    def test_a_pipe_can_be_the_output(self):
        with tempfile.TemporaryDirectory() as folder:
            source, pipe = Path(folder, "source"), Path(folder, "pipe")
            source.write_text("a\n")
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.translator.translate_file(str(source), str(pipe))
            self.assertEqual(os.read(reader, 9999).count(b"\n"), 1)
            os.close(reader)

    def test_what_is_not_there_is_an_error(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        with self.assertRaisesRegex(ValueError, "patience"):
            self.translator.translate_batch(source, patience=2)
        with self.assertRaisesRegex(ValueError, "return_logits_vocab"):
            self.translator.translate_batch(source, return_logits_vocab=True)
        self.translator.translate_batch(source, patience=1, return_logits_vocab=False)
        with self.assertRaisesRegex(TypeError, "beam_sise"):
            self.translator.translate_batch(source, beam_sise=2)
        with self.assertRaisesRegex(ValueError, "^num_hypotheses must"):
            self.translator.translate_batch(source, num_hypotheses=3)
        with self.assertRaisesRegex(RuntimeError, "cannot open file"):
            ctranslate2.Translator("/no/such")
        with self.assertRaisesRegex(ValueError, "device index"):
            ctranslate2.Translator(TINY, device_index=[0, 1])
        for function in (self.translator.translate_iterable, self.translator.score_iterable):
            with self.assertRaisesRegex(ValueError, "length"):
                list(function(iter(source), iter([])))
        with self.assertRaises(ValueError):
            ctranslate2.Translator(TINY, compute_type="int3")
        self.assertTrue(ctranslate2.contains_model(TINY))
        self.assertFalse(ctranslate2.contains_model("/no/such"))
        self.assertIn("int8", ctranslate2.get_supported_compute_types("cpu"))


if __name__ == "__main__":
    unittest.main()
