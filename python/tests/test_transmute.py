# SPDX-License-Identifier: Apache-2.0
"""Tests of the package: python3 -m unittest discover python/tests

TRANSMUTE_LIBRARY   the library; by default the package's own
TRANSMUTE_PROGRAMS  folder of the programs that results are compared with; without it those tests are skipped
TRANSMUTE_MODEL     a translation model with better translations than the tiny one of tests/data; may be left out
TRANSMUTE_TEXT      lines in its source language, plain or gzipped
"""

import asyncio
import contextlib
import copy
import gc
import gzip
import json
import os
import pickle
import pydoc
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import weakref
from fractions import Fraction
from pathlib import Path
from unittest import mock

import transmute
import transmute.ctranslate2

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "formats"
TINY = DATA / "marian_ctranslate2"
MULTILINGUAL = DATA / "nllb"
REVERSE = DATA / "fairseq"  # reranks translations of TINY
LANGUAGES = {"source_language": "eng_Latn", "target_language": "deu_Latn"}
PROGRAMS = os.environ.get("TRANSMUTE_PROGRAMS")
MODEL = os.environ.get("TRANSMUTE_MODEL", str(TINY))
LINES = ["the blue train is near.", "", "two dogs — 😀 — play with 15 balls.", "ÄÖÜ are letters & <b>signs</b>, a %s."]


def text_lines():
    path = os.environ.get("TRANSMUTE_TEXT")
    if path is None:
        return LINES
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return [line.rstrip("\n") for line in file][:500]


def program(name, *arguments, lines=()):
    """The lines that a program writes."""
    done = subprocess.run(
        [os.path.join(PROGRAMS, name), *arguments], input="".join(line + "\n" for line in lines).encode(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
    )  # fmt: skip
    return done.stdout.decode().split("\n")[:-1]


def python(code, *arguments):
    """What a script writes."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def resident_kib():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])


class WithModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.translator = transmute.Translator(MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.translator.close()


class Translating(WithModel):
    def test_a_str_gives_a_str_and_a_list_a_list(self):
        alone = [self.translator.translate(line) for line in LINES]
        self.assertEqual(alone, self.translator.translate(LINES))
        self.assertEqual(alone, self.translator.translate(line for line in LINES))
        self.assertEqual(alone, list(self.translator.translate_iterable(iter(LINES), block=3)))
        self.assertEqual(alone[1], "")
        self.assertEqual(self.translator.translate([]), [])

    def test_options_apply_to_each_block(self):
        def translated(**options):
            return list(self.translator.translate_iterable(LINES, block=1, **options))

        terms = [("train", "the"), ("dogs", "the")]
        self.assertEqual(translated(glossary=iter(terms)), self.translator.translate(LINES, glossary=terms))
        prefixes = ["the", "", "", "a"]
        self.assertEqual(translated(target_prefix=prefixes), self.translator.translate(LINES, target_prefix=prefixes))
        for number in (3, 5):
            with self.assertRaisesRegex(ValueError, "differ in length"):
                translated(target_prefix=["the"] * number)

    def test_numbers_may_be_words(self):  # which takes more of ICU's data than sentences do
        translator = transmute.Translator(TINY)
        for text, expected in (("2 dogs play", []), ("5 dogs play", ["the number 5 is missing"])):
            found = translator.translate_batch([text], target_prefix="two ", protect="none", guard="warn")[0]
            self.assertEqual([w.message for w in found.warnings if w.kind == "number"], expected)

    def test_a_document_keeps_all_but_its_text(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "a.json"), Path(folder, "b.json")
            source.write_text('{"key": "two dogs play with %d balls."}')
            done = []
            self.translator.translate_document(source, target, on_progress=lambda *counts: done.append(counts))
            text = self.translator.translate("two dogs play with %d balls.", inline_tags=True)
            self.assertEqual(json.loads(target.read_text()), {"key": text})
            self.assertEqual(done, [(1, 1)])
            self.translator.translate_document(source, Path(folder, "c"), format="txt")
            for name, error in (("a.xyz", FileNotFoundError), (source, ValueError)):
                with self.assertRaises(error):
                    self.translator.translate_document(Path(folder, name), source)
            with self.assertRaises(ValueError):
                self.translator.translate_document(source, target, format="doc")

    def test_results_are_complete(self):
        found = self.translator.translate_batch(LINES, n_best=3, alignment="both")
        for line, translation in zip(LINES, found):
            self.assertEqual(translation.text, translation.best.text)
            self.assertEqual(str(translation), translation.text)
            scores = [hypothesis.score for hypothesis in translation.hypotheses]
            self.assertEqual(scores, sorted(scores, reverse=True))
            for hypothesis in translation.hypotheses:
                self.assertEqual(len(hypothesis.tokens), len(hypothesis.token_scores))
                self.assertGreaterEqual(sum(hypothesis.token_scores) + 1e-6, hypothesis.log_probability)
                self.assertEqual(len(hypothesis.alignment), len(hypothesis.tokens))
                for row in hypothesis.alignment:
                    self.assertEqual(len(row), len(translation.source_tokens))
                    self.assertTrue(all(weight >= 0 for weight in row) and sum(row) <= 1.0001)
            self.assertEqual(len(set(h.text for h in translation.hypotheses)), len(translation.hypotheses))
            self.assertEqual(line == "", not translation.source_tokens)

    def test_places_are_characters(self):
        source = "ÄÖÜ — 😀 — see www.example.org/äöü now."
        warnings = self.translator.translate_batch([source], protect="none", guard="warn")[0].warnings
        places = {source[slice(*warning.source)] for warning in warnings if warning.kind in ("address", "emoji")}
        self.assertTrue(places)
        self.assertTrue(places <= {"😀", "www.example.org/äöü"}, places)

    def test_options_have_effect(self):
        source = "the blue train is near."
        prefix, term = ("the", "the") if MODEL == str(TINY) else ("Der rote", "Bahn")  # of the vocabulary
        prefixed = self.translator.translate(source, target_prefix=prefix, protect="none")
        tokenizer = self.translator.tokenizer
        written = tokenizer.decode(tokenizer.encode(prefix, "target"), "target")
        self.assertTrue(prefixed.startswith(written), prefixed)
        self.assertEqual(self.translator.translate([source, source], target_prefix=[prefix, ""])[1],
                         self.translator.translate(source))  # fmt: skip
        self.assertIn(term, self.translator.translate(source, glossary={"train": term}))
        self.assertIn(term, self.translator.translate(source, glossary=[("train", term)]))
        self.assertIn("<b>", self.translator.translate("the <b>blue</b> train is near.", inline_tags=True))
        self.assertIn("%s", self.translator.translate("the %s train is near.", protect="all"))
        samples = [self.translator.translate(source, sample=True, seed=seed) for seed in (1, 1, 2, 3, 4, 5)]
        self.assertEqual(samples[0], samples[1])
        self.assertGreater(len(set(samples)), 1)

    def test_a_stream_joined_is_the_translation(self):
        for line in LINES:
            with self.subTest(line):
                parts = list(self.translator.stream(line, protect="none", guard="off"))
                self.assertEqual("".join(parts), self.translator.translate(line, protect="none", guard="off"))
        text = "the blue train is near. The dogs play.\nThe blue train."
        options = {"protect": "none", "min_length": 5, "beam_size": 1}
        parts = list(self.translator.stream(text, **options))
        self.assertEqual("".join(parts), self.translator.translate(text, guard="warn", **options))
        self.assertGreater(len(parts), 2)
        abandoned = self.translator.stream("the blue train is near.")
        next(abandoned)
        abandoned.close()

    def test_a_model_of_the_opposite_direction_reranks(self):
        with transmute.Translator(TINY, rerank=REVERSE) as translator:
            found = translator.translate_batch(LINES)
            self.assertIsNotNone(found[0].best.reverse_log_probability)
            self.assertEqual(found, translator.translate_batch(LINES, rerank_candidates=8))
            for options in ({"rerank_candidates": 0}, {"mbr": 4}, {"alternatives": 2}):
                with self.subTest(options):
                    self.assertIsNone(translator.translate_batch(LINES, **options)[0].best.reverse_log_probability)
            with self.assertRaisesRegex(ValueError, "rerank_candidates=8 needs a beam_size of at least 8, not 4"):
                translator.translate(LINES, beam_size=4)
            plain = translator.translate(LINES[0], rerank_candidates=0, guard="warn")
            self.assertEqual("".join(translator.stream(LINES[0])), plain)

    def test_scores_are_those_of_the_search(self):
        found = self.translator.translate_batch([LINES[0]], protect="none", case="keep", split_sentences="never")[0]
        scored = self.translator.score(LINES[0], found.text)
        if scored.tokens == found.best.tokens:
            self.assertAlmostEqual(scored.log_probability, found.best.log_probability, places=3)
        self.assertEqual([scored], self.translator.score([LINES[0]], [found.text]))
        for alignment in ("words", "both"):
            with self.assertRaisesRegex(ValueError, "alignment of tokens"):
                self.translator.score("a", "b", alignment=alignment)

    def test_languages(self):
        with transmute.Translator(MULTILINGUAL) as translator:
            german = translator.translate(LINES[0], **LANGUAGES)
            others = [translator.translate(LINES[0], source_language="eng_Latn", target_language=language)
                      for language in translator.tokenizer.languages()]  # fmt: skip
            self.assertIn(german, others)
            self.assertIn("deu_Latn", translator.tokenizer.languages())
            with self.assertRaisesRegex(ValueError, "source_language|source language"):
                translator.translate(LINES[0])


class Errors(WithModel):
    def test_kinds(self):
        translate = self.translator.translate
        with self.assertRaisesRegex(TypeError, "did you mean 'beam_size'"):
            translate("a", beam_sise=2)
        for name, ours in (("num_hypotheses", "n_best"), ("num_beams", "beam_size"), ("prefix", "target_prefix")):
            with self.subTest(name), self.assertRaisesRegex(TypeError, f"no option '{name}' here; did you mean '{ours}'"):
                translate("a", **{name: 2})
        with self.assertRaisesRegex(TypeError, "beam_size cannot be '4', a str"):
            translate("a", beam_size="4")
        with self.assertRaisesRegex(TypeError, "glossary must be a dict or pairs of terms, not a str"):
            translate("a", glossary="terms.tsv")
        for options in ({"beam_size": 0}, {"guard": "no"}, {"alignment": "x"}, {"split_sentences": "no"},
                        {"case": "x"}, {"long_lines": "x"}, {"length_penalty": "x"}, {"rerank_candidates": 2}):  # fmt: skip
            with self.subTest(options), self.assertRaises(ValueError):
                translate("a", **options)
        for entry in ([], ("train",), ("train", "the", "noun"), "se"):
            with self.subTest(entry), self.assertRaisesRegex(ValueError, "entry 2 of the glossary"):
                translate("a", glossary=[("train", "the"), entry])
        with self.assertRaisesRegex(ValueError, "text 2 has a NUL"):
            translate(["a", "b\0"])
        with self.assertRaisesRegex(ValueError, "surrogate at character 1"):
            translate("a\udc80")
        for text in (None, 3, {"a": "b"}):
            with self.assertRaisesRegex(TypeError, f"must be a list of str, not {type(text).__name__}"):
                translate(text)
        with self.assertRaises(TypeError):
            self.translator.translate_batch("a")
        with self.assertRaises(ValueError):
            translate("word " * 300, long_lines="fail")

    def test_an_option_without_effect_is_an_error(self):
        for options, message in (
            ({"temperature": 2.0}, "temperature has no effect without sample"), ({"top_p": 7.0}, "without sample"),
            ({"seed": 0, "sample": False}, "without sample"), ({"mbr_utility": "chrf"}, "without mbr"),
            ({"rerank_weight": 9.0}, "without rerank_candidates"), ({"mbr": 1}, "mbr must be at least 2"),
            ({"sample": True, "beam_size": 5}, "sample cannot be combined with beam_size"),
            ({"alternatives": 2, "n_best": 5}, "alternatives cannot be combined with n_best"),
            ({"mbr": 4, "beam_size": 2}, "mbr=4 needs a beam_size of at least 4, not 2"),
        ):  # fmt: skip
            with self.subTest(options), self.assertRaisesRegex(ValueError, message):
                self.translator.translate_batch(["a"], **options)
        for options in ({"beam_size": 2}, {"sample": True}, {"max_source_tokens": 9}):
            with self.subTest(options), self.assertRaisesRegex(TypeError, "there is no option .* here$"):
                self.translator.score("a", "a", **options)
        for options in ({"ter_normalize": True}, {"metric": "ter", "tokenize": "13a"}, {"smooth_value": 1.0}):
            with self.subTest(options), self.assertRaisesRegex(ValueError, "without metric=|needs smooth="):
                transmute.evaluate(["a"], ["a"], **options)

    def test_errors_have_the_callers_names(self):
        for options, message in (
            ({"n_best": 3, "beam_size": 2}, "n_best must lie between 1 and beam_size"),
            ({"n_best": 99999}, "n_best must"), ({"alternatives": -2}, "alternatives must"),
            ({"length_penalty": -1}, "length_penalty must"), ({"rerank_candidates": 2}, r"Translator\(rerank=…\)"),
            ({"mbr": -3}, "mbr must"), ({"case": "x"}, "case must"),
        ):  # fmt: skip
            with self.subTest(options), self.assertRaisesRegex(ValueError, "^(rerank needs .*)?" + message):
                self.translator.translate_batch(["a"], **options)
        with self.assertRaisesRegex(ValueError, r"mbr cannot be combined with stream\(\)"):
            list(self.translator.stream("a", mbr=2))

    def test_a_number_is_taken_as_it_is_or_refused(self):
        source = LINES[0]
        for options in ({"beam_size": 2**64 + 2}, {"sample": True, "seed": 2**70}, {"sample": True, "seed": -1}):
            with self.subTest(options), self.assertRaisesRegex(ValueError, f"cannot be {list(options.values())[-1]}"):
                self.translator.translate(source, **options)
        with self.assertRaisesRegex(ValueError, f"threads cannot be {2**32 + 1}"):
            transmute.Translator(TINY, threads=2**32 + 1)
        scores = [self.translator.translate_batch([source], length_penalty=penalty)[0].best.score
                  for penalty in (0.5, Fraction(1, 2), "power")]  # fmt: skip
        self.assertEqual(scores[0], scores[1])
        self.assertNotEqual(scores[0], scores[2])

    def test_numbers_of_numpy(self):
        class Scalar:
            def __init__(self, value):
                self.item = lambda: value

        text, tagged = "the <b>blue</b> train", {"inline_tags": True, "beam_size": 2}
        given = {name: Scalar(value) for name, value in tagged.items()}
        self.assertEqual(self.translator.translate(text, **given), self.translator.translate(text, **tagged))
        with self.assertRaises(ValueError):
            self.translator.translate(text, beam_size=Scalar(2**64 + 2))

    def test_what_a_text_alone_cannot_show_is_refused(self):
        for options in ({"n_best": 2}, {"alignment": "words"}):
            stream = lambda text, **given: list(self.translator.stream(text, **given))  # noqa: E731
            for translate in (self.translator.translate, stream):
                with self.subTest(options), self.assertRaisesRegex(ValueError, "has no effect here"):
                    translate(LINES[0], **options)
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "has no effect here"):
                Path(folder, "a.txt").write_text(LINES[0])
                self.translator.translate_document(Path(folder, "a.txt"), Path(folder, "b.txt"), **options)
        self.assertEqual(self.translator.translate(LINES[0], n_best=1, alignment="none"), self.translator.translate(LINES[0]))

    def test_models(self):
        with self.assertRaisesRegex(FileNotFoundError, "/no/such"):
            transmute.Translator("/no/such")
        with self.assertRaises(RuntimeError):
            transmute.Translator(Path(__file__).parent)  # a folder, but no model
        with tempfile.TemporaryDirectory() as data, mock.patch.dict(os.environ, XDG_DATA_HOME=data):
            Path(data, "transmute/models/damaged").mkdir(parents=True)
            for opening in (transmute.Translator, transmute.Tokenizer):
                with self.assertRaises(RuntimeError):
                    opening("damaged")
                with self.assertRaises(FileNotFoundError):
                    opening("missing")
        with self.assertRaises(ValueError):
            transmute.Translator(TINY, precision="float3")
        with self.assertRaises(ValueError):
            transmute.Translator([])
        with self.assertRaises(ValueError):
            transmute.LanguageModel(TINY)  # which translates
        for options in ({"device": 0}, {"precision": 8}, {"shortlist": False}, {"rerank": True}, {"threads": 2.0}):
            with self.subTest(options), self.assertRaises(TypeError):
                transmute.Translator(TINY, **options)
        with self.assertRaisesRegex(TypeError, "device must be a str, not int"):
            transmute.TextEncoder(TINY, device=1)
        closed = transmute.Translator(TINY)
        closed.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            closed.translate("a")

    def test_an_exception_of_a_callback_ends_the_call(self):
        def fail(done, total):
            raise LookupError(f"{done} of {total}")

        for thread in (False, True):
            raised = []

            def body():
                try:
                    self.translator.translate(LINES * 50, on_progress=fail, batch_size=1)
                except LookupError as error:
                    raised.append(str(error))

            if thread:
                beside = threading.Thread(target=body)
                beside.start()
                beside.join()
            else:
                body()
            self.assertEqual(len(raised), 1)
        with self.assertRaises(LookupError):
            self.translator.translate(LINES[0], on_progress=fail)  # there is nothing left to end

    def test_a_forked_process_is_told(self):
        begun = self.translator.stream("the blue train. the dog.")
        next(begun)
        for call in (
            lambda: self.translator.translate("a"),
            lambda: list(self.translator.stream("a")),
            lambda: list(begun),
        ):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                signal.alarm(10)  # ends a child that waits
                try:
                    call()
                except RuntimeError as error:
                    os.write(writer, str(error).encode())
                type(self).translator = None
                os._exit(0)
            os.close(writer)
            with self.subTest(call), open(reader) as told:
                self.assertIn("forked", told.read())
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        begun.close()

    def test_interrupting_returns_at_once(self):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        lines = [f"the blue train {n} is near the red house of the old man." for n in range(5000)]
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.translator.translate(lines, beam_size=20)
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual(self.translator.translate(""), "")

    def test_interrupting_ends_the_work_of_scoring_and_embedding(self):
        encoder = transmute.TextEncoder(MODEL)
        lines = [f"the blue train {n} is near the red house of the old man." for n in range(60000)]
        for call in (lambda: self.translator.score(lines, lines), lambda: encoder.embed(4 * lines)):
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                call()
            time.sleep(2)  # On a busy machine, the step that has begun takes longer.
            begin = time.process_time()
            time.sleep(0.5)
            self.assertLess(time.process_time() - begin, 0.05)

    def test_interrupting_an_evaluation_returns(self):
        code = """
            import os, signal, threading, time, transmute
            texts = [" ".join(str(word ** power % 97) for word in range(300)) for power in (1, 2)]
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            try:
                transmute.evaluate(texts[:1] * 60, texts[1:] * 60, "ter")
            except KeyboardInterrupt:
                print(time.monotonic() - begin)
        """
        self.assertLess(float(python(code)), 4)

    def test_a_process_can_end_during_a_call(self):
        opening = """
            import sys, threading, time, transmute
            translator = transmute.Translator(sys.argv[1])
            options = {"protect": "none", "guard": "off", "beam_size": 1, "min_length": 4000, "max_extra_length": 4000}
        """
        for code in (
            """
            parts = translator.stream("the blue train", **options)
            next(parts)
            """,
            """
            call = {"on_progress": lambda *_: started.set(), "batch_size": 1}
            started = threading.Event()
            texts = ["the blue train"] * 9999
            threading.Thread(target=lambda: translator.translate(texts, **call), daemon=True).start()
            started.wait()
            """,
        ):
            with self.subTest(code):
                self.assertEqual(python(opening + code, TINY), "")

    def test_the_interpreter_can_end_with_a_translation(self):
        code = """
            import atexit, signal, sys, transmute
            class AtTheEnd:
                def __init__(self):
                    self.translator = transmute.Translator(sys.argv[1])
                    self.expected = self.translate()
                    atexit.register(self.translate)
                def translate(self):
                    return self.translator.translate(["the train"] * 3, on_progress=lambda *_: None)
                def __del__(self):
                    print(self.translate() == self.expected)
                    try:
                        print(list(self.translator.stream("the train")))
                    except RuntimeError as error:
                        print(error)
            signal.alarm(20)  # ends what waits
            kept = AtTheEnd()
            kept.itself = kept
        """
        self.assertRegex(python(code, TINY), r"^True\nthe interpreter is ending.*\n$")

    def test_a_collected_model_is_closed(self):
        class InACycle:
            def __del__(self):
                try:
                    self.translator.translate("a")
                except ValueError as error:
                    messages.append(str(error))

        messages, translator = [], transmute.Translator(TINY)
        translator.user = InACycle()
        translator.user.translator = translator
        del translator
        gc.collect()
        self.assertEqual(messages, ["the translator is closed"])

    def test_a_call_needs_no_thread_of_its_own(self):
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(self.translator.translate(""), "")


class Closing(unittest.TestCase):
    def setUp(self):
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)

    def check_frees(self, use):
        with transmute.Translator(TINY) as translator:
            handle = weakref.ref(translator._handle)
            use(translator)
        deadline = time.monotonic() + 10  # what was interrupted ends in the background
        while handle() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertIsNone(handle())

    def test_a_model_is_freed_whatever_happened_to_its_calls(self):
        def fail(*_):
            raise LookupError

        def interrupt(translator):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            translator.translate([LINES[0]] * 20000, beam_size=20)

        def abandon(translator):
            for _ in translator.stream("the blue train. the dog."):
                break

        def abandon_before_an_error(translator):
            parts = translator.stream("the blue train", min_length=4000, max_extra_length=4000, beam_size=1,
                                      guard="off", protect="none")  # fmt: skip
            next(parts)
            parts.close()

        def in_thread(translator):
            def body():
                with self.assertRaises(LookupError):
                    translator.translate("a", on_progress=fail)

            thread = threading.Thread(target=body)
            thread.start()
            thread.join()

        for use in (
            lambda translator: translator.translate("a", beam_size=0),
            lambda translator: translator.translate_batch(["a"], guard="x"),
            lambda translator: translator.translate("a", on_progress=fail),
            lambda translator: translator.score(["a"], ["a\0"]),
            lambda translator: list(translator.stream("a", mbr=2)),
            interrupt, abandon, abandon_before_an_error, in_thread,
        ):  # fmt: skip

            def attempt(translator, use=use):
                with contextlib.suppress(ValueError, LookupError, KeyboardInterrupt):
                    use(translator)

            with self.subTest(use):
                self.check_frees(attempt)

    def test_a_model_cannot_be_pickled(self):
        translator = transmute.Translator(TINY)
        like_ctranslate2 = transmute.ctranslate2.Translator(TINY)
        for model in (translator, translator.tokenizer, transmute.TextEncoder(TINY), like_ctranslate2):
            for copied in (pickle.dumps, copy.deepcopy):
                with self.subTest(model), self.assertRaisesRegex(TypeError, "cannot be pickled; give the path"):
                    copied(model)

    def test_a_callback_does_not_keep_what_it_refers_to(self):
        translator = transmute.Translator(TINY)
        handle = weakref.ref(translator._handle)
        translator.translate("a", on_progress=lambda *_, kept=translator: None)
        del translator
        self.assertIsNone(handle())


class Threads(WithModel):
    def test_threads_get_their_own_results(self):
        lines = text_lines()[:40]
        expected = self.translator.translate(lines)
        failures = []

        def work(first):
            for line, translation in list(zip(lines, expected))[first::4]:
                if self.translator.translate(line) != translation:
                    failures.append(line)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_asyncio(self):
        lines = text_lines()[:40]
        expected = self.translator.translate(lines)

        async def all_at_once():
            ticks = 0
            tasks = [asyncio.ensure_future(self.translator.atranslate(line)) for line in lines]
            while not all(task.done() for task in tasks):
                await asyncio.sleep(0.001)
                ticks += 1
            cancelled = asyncio.ensure_future(self.translator.atranslate(lines * 1000, beam_size=20))
            await asyncio.sleep(0.05)
            cancelled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await cancelled
            return [task.result() for task in tasks], ticks

        found, ticks = asyncio.run(all_at_once())
        self.assertEqual(found, expected)
        self.assertGreater(ticks, 0)

    def test_memory_is_flat(self):
        done = subprocess.run(
            [sys.executable, "-c", "import test_transmute; test_transmute.print_growth()"],
            cwd=Path(__file__).parent, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        self.assertLess(int(done.stdout), 4096)


def print_growth():
    """By how many KiB memory grows with many calls."""

    def work(count):
        for _ in range(count):
            translator.translate_batch(LINES, n_best=3, alignment="both")
            list(translator.stream(LINES[0]))
            translator.tokenizer.encode(LINES[0])

    translator = transmute.Translator(MODEL)
    work(20)
    before = resident_kib()
    work(80)
    print(resident_kib() - before)


class Tools(WithModel):
    def test_tokenizer(self):
        opened, own = transmute.Tokenizer(MODEL), self.translator.tokenizer
        for line in LINES:
            pieces, ids = opened.encode(line), opened.encode_ids(line)
            self.assertEqual(pieces, own.encode(line))
            names = opened.vocabulary()
            for piece, number in zip(pieces, ids):
                self.assertTrue(names[number] == piece or piece not in names, piece)
            self.assertEqual(len(pieces), len(ids))
            self.assertEqual(opened.decode(pieces).split(), line.split())
            for listed in (pieces, ids):
                self.assertEqual(opened.decode(iter(listed)), opened.decode(listed))
            self.assertEqual(len(opened.spans(line)), len(ids))
        with self.assertRaises(ValueError):
            opened.id("no such piece")
        for listed in ([10**9], [2**64 + 50], [-1], ["no such piece", 10**9], ["no such piece", -1]):
            with self.subTest(listed), self.assertRaisesRegex(ValueError, "the vocabulary has (ids|no id)"):
                opened.decode(listed)
        with self.assertRaises(FileNotFoundError):
            transmute.Tokenizer("/no/such")

    def test_the_time_for_spans_grows_with_the_text(self):
        def seconds(text):
            begin = time.perf_counter()
            tokenizer.spans(text)
            return time.perf_counter() - begin

        tokenizer, text = transmute.Tokenizer(TINY), "a long text. " * 3000
        self.assertLess(seconds(text.replace("a", "ä")), 6 * seconds(text))

    def test_sentences(self):
        text = "Dr. Müller arrived on Jan. 3.  He left at once."
        self.assertEqual(transmute.sentences(text, "en"), ["Dr. Müller arrived on Jan. 3.", "He left at once."])
        self.assertEqual(transmute.sentences(""), [])
        spans = self.translator.sentence_spans(text, "en")
        self.assertEqual([text[a:b] for a, b in spans], transmute.sentences(text, "en"))
        with self.assertRaises(ValueError):
            transmute.sentences(text, "no such language")

    def test_embeddings(self):
        encoder = transmute.TextEncoder(MODEL)
        vectors = encoder.embed(LINES)
        self.assertEqual((vectors.format, vectors.shape), ("f", (len(LINES), encoder.width)))
        rows = vectors.tolist()
        self.assertEqual(encoder.embed(LINES[0]).tolist(), rows[0])
        self.assertEqual(set(rows[1]), {0.0})  # a text without tokens
        unit = encoder.embed(LINES, normalize=True).tolist()
        self.assertAlmostEqual(sum(value * value for value in unit[0]), 1, places=5)
        tokens, of_tokens = encoder.embed_tokens(LINES[:1])[0]
        self.assertEqual(of_tokens.shape, (len(tokens), encoder.width))
        for column, mean in zip(zip(*of_tokens.tolist()), rows[0]):
            self.assertAlmostEqual(sum(column) / len(tokens), mean, places=4)
        self.assertEqual(encoder.embed([]).shape, (0,))
        with self.assertRaisesRegex(TypeError, "did you mean 'batch_size'"):
            encoder.embed(LINES, batchsize=1)

    def test_embeddings_of_a_language(self):
        encoder = transmute.TextEncoder(MULTILINGUAL)
        english, german = (encoder.embed(LINES[0], source_language=language) for language in ("eng_Latn", "deu_Latn"))
        self.assertNotEqual(english.tolist(), german.tolist())
        with self.assertRaisesRegex(ValueError, "source language"):
            encoder.embed(LINES[0])

    def test_metrics(self):
        """Values by sacreBLEU 2.6 of the same texts."""
        translations, references = ["the cat sat on mat", "a dog"], ["the cat sat on the mat", "the dog ran"]
        self.assertAlmostEqual(transmute.evaluate(references, references).score, 100)
        self.assertEqual(transmute.evaluate(references, references, "ter").score, 0)
        for metric, score in SACREBLEU.items():
            found = transmute.evaluate(translations, references, metric)
            self.assertAlmostEqual(found.score, score, places=4)
        both = transmute.evaluate(translations, [references, translations])
        self.assertAlmostEqual(both.score, 100)
        self.assertIn("nrefs:2", both.signature)
        for wrong in (([], []), (["a"], ["a", "b"]), (["a"], ["a"], "wer")):
            with self.assertRaises(ValueError):
                transmute.evaluate(*wrong)


SACREBLEU = {"bleu": 48.35447404743731, "chrf": 52.950478379074454, "chrf++": 54.16164875390368, "ter": 33.33333333333333}


@unittest.skipUnless(PROGRAMS, "TRANSMUTE_PROGRAMS is not set")
class SameAsThePrograms(unittest.TestCase):
    def test_translate_in_each_precision(self):
        lines = text_lines()
        for precision in ("float32", "bfloat16", "int8"):
            with self.subTest(precision), transmute.Translator(MODEL, precision=precision) as translator:
                expected = program("translate", "-m", MODEL, "--precision", precision, lines=lines)
                self.assertEqual(translator.translate(lines), expected)

    def test_reranking(self):
        lines = text_lines()[:50]
        with transmute.Translator(MODEL, rerank=REVERSE) as translator:
            expected = program("translate", "-m", MODEL, "--rerank", str(REVERSE), lines=lines)
            self.assertEqual(translator.translate(lines), expected)

    def test_json(self):
        lines = text_lines()[:50]
        written = program("translate", "-m", MODEL, "--n-best", "2", "--alignment", "--format", "json", lines=lines)
        with transmute.Translator(MODEL) as translator:
            found = translator.translate_batch(lines, n_best=2, alignment="both")
        for line, translation in zip(written, found):
            expected = json.loads(line)
            self.assertEqual(translation.source_tokens, expected["source_tokens"])
            self.assertEqual([h.text for h in translation.hypotheses], [h["text"] for h in expected["hypotheses"]])
            for hypothesis, other in zip(translation.hypotheses, expected["hypotheses"]):
                self.assertEqual(hypothesis.tokens, other["tokens"])
                self.assertAlmostEqual(hypothesis.log_probability, other["log_probability"], places=4)

    def test_sentences(self):
        text = "Dr. Müller arrived on Jan. 3. He left at once. Was it 3 p.m.? Yes!"
        self.assertEqual(transmute.sentences(text, "en"), program("sentences", "--language", "en", lines=[text]))


class Importing(unittest.TestCase):
    def test_help_says_what_each_option_and_field_means(self):
        text = pydoc.plain(pydoc.render_doc(transmute))
        for described in (transmute.TranslationOptions, transmute.GenerationOptions, transmute.Hypothesis,
                          transmute.Translation, transmute.Warning, transmute.Word, transmute.Score):  # fmt: skip
            for name in described.__annotations__:
                self.assertRegex(text, rf"(?m)^ +\|  {name}  +\S")

    def test_import_is_fast_and_light(self):
        code = (
            "import sys, time; begin = time.perf_counter(); import transmute; took = time.perf_counter() - begin; "
            "print(took, 'numpy' in sys.modules)"
        )
        took, numpy = python(code).split()
        self.assertLess(float(took), 2)
        self.assertEqual(numpy, "False")


if __name__ == "__main__":
    unittest.main()
