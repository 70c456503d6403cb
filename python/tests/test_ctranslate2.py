# SPDX-License-Identifier: Apache-2.0
"""transmute.ctranslate2: python3 -m unittest discover python/tests"""

import tempfile
import unittest
from pathlib import Path

import transmute.ctranslate2 as ctranslate2
from test_transmute import LANGUAGES, MULTILINGUAL, TINY

TEXTS = ["the cat sat on the rat", "", "a train 😀 is near"]


class LikeCTranslate2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.translator = ctranslate2.Translator(str(TINY), device="cpu", compute_type="float32", inter_threads=1)
        cls.tokenizer = cls.translator._tokenizer

    def test_translate_batch(self):
        source = [self.tokenizer.encode(text) for text in TEXTS]
        results = self.translator.translate_batch(source, beam_size=3, num_hypotheses=2, return_scores=True,
                                                  return_attention=True, replace_unknowns=True, max_batch_size=32)  # fmt: skip
        for tokens, result in zip(source, results):
            self.assertEqual(len(result.hypotheses), len(result.scores))
            self.assertEqual(result.scores, sorted(result.scores, reverse=True))
            for row in result.attention[0]:
                self.assertEqual(len(row), len(tokens))
        self.assertEqual(results[1].hypotheses, [[]])
        self.assertEqual(results[0][0], {"tokens": results[0].hypotheses[0], "score": results[0].scores[0],
                                         "attention": results[0].attention[0]})  # fmt: skip
        later = self.translator.translate_batch(source, beam_size=3, asynchronous=True)
        self.assertEqual(later[0].result().hypotheses[0], results[0].hypotheses[0])
        iterated = list(self.translator.translate_iterable(iter(source), beam_size=3))
        self.assertEqual([result.hypotheses[0] for result in iterated], [result.hypotheses[0] for result in results])

    def test_a_score_is_that_of_the_search(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        best = self.translator.translate_batch(source, length_penalty=0, return_scores=True)[0]
        try:
            scored = self.translator.score_batch(source, best.hypotheses)[0]
        except ValueError:
            self.skipTest("this translation is not cut into the pieces that the search wrote")
        self.assertEqual(scored.tokens, [*best.hypotheses[0], "</s>"])
        self.assertAlmostEqual(sum(scored.log_probs), best.scores[0], places=3)

    def test_languages_among_the_tokens(self):
        translator = ctranslate2.Translator(MULTILINGUAL)
        pieces = translator._tokenizer.encode(TEXTS[0])
        for source in (["eng_Latn", *pieces], [*pieces, "</s>", "eng_Latn"]):
            result = translator.translate_batch([source], [["deu_Latn"]], beam_size=4)[0]
            self.assertEqual(result.hypotheses[0][0], "deu_Latn")
            direct = translator._translator.translate_batch([TEXTS[0]], beam_size=4, length_penalty=1.0, guard="off",
                                                            protect="none", **LANGUAGES)  # fmt: skip
            self.assertEqual(result.hypotheses[0][1:], direct[0].best.tokens)

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

    def test_what_is_not_there_is_an_error(self):
        source = [self.tokenizer.encode(TEXTS[0])]
        with self.assertRaisesRegex(ValueError, "repetition_penalty"):
            self.translator.translate_batch(source, repetition_penalty=2)
        self.translator.translate_batch(source, repetition_penalty=1)
        with self.assertRaisesRegex(TypeError, "beam_sise"):
            self.translator.translate_batch(source, beam_sise=2)
        with self.assertRaisesRegex(ValueError, "own tokenizer"):
            self.translator.translate_batch([["the", "cat"]])
        with self.assertRaises(ValueError):
            ctranslate2.Translator(TINY, compute_type="int3")
        self.assertTrue(ctranslate2.contains_model(TINY))
        self.assertFalse(ctranslate2.contains_model("/no/such"))
        self.assertIn("int8", ctranslate2.get_supported_compute_types("cpu"))


if __name__ == "__main__":
    unittest.main()
