# SPDX-License-Identifier: Apache-2.0
"""CTranslate2's interface for translators, on transmute's engine.

>>> import sys, transmute.ctranslate2
>>> sys.modules["ctranslate2"] = transmute.ctranslate2  # for programs that import ctranslate2

It reads CTranslate2's model folders with their SentencePiece model beside them or in the parent folder, and all other
models that transmute reads. Tokens must be the pieces that the model's own tokenizer gives for a text.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from . import Hypothesis, Translation
from . import Translator as _Translator

__version__ = "4.0.0"  # of the interface

Tokens = List[str]

_PRECISIONS = {
    "default": None, "auto": None, "int8": "int8", "int8_float32": "int8", "int8_float16": "int8",
    "int8_bfloat16": "int8", "int16": "bfloat16", "float32": "float32", "float16": "half", "bfloat16": "bfloat16",
}  # fmt: skip
_SPECIAL = {"<s>", "</s>", "<pad>"}


@dataclass
class TranslationResult:
    """The hypotheses of one text, best first."""

    hypotheses: List[Tokens]
    scores: List[float]  #: log-probability / length penalty; empty unless return_scores
    attention: List[List[List[float]]]  #: empty unless return_attention

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        item: Dict[str, Any] = {"tokens": self.hypotheses[index]}
        if self.scores:
            item["score"] = self.scores[index]
        if self.attention:
            item["attention"] = self.attention[index]
        return item


@dataclass
class ScoringResult:
    """The tokens of a target and their log-probabilities."""

    tokens: Tokens
    log_probs: List[float]


@dataclass
class ExecutionStats:
    """What translate_file() has done."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class AsyncTranslationResult:
    """A result that is computed when it is asked for."""

    def __init__(self, result: TranslationResult) -> None:
        self._result = result

    def result(self) -> TranslationResult:
        """The result."""
        return self._result

    def done(self) -> bool:
        """Whether there is a result."""
        return True


def contains_model(path: Union[str, "os.PathLike[str]"]) -> bool:
    """Whether a folder contains a model."""
    return any(os.path.exists(os.path.join(path, name)) for name in ("model.bin", "weights.safetensors"))


def get_supported_compute_types(device: str, device_index: int = 0) -> Set[str]:
    """The compute types of a device."""
    on_gpu = {"float16"} if device == "cuda" else {"int8", "int8_float32", "int8_bfloat16"}
    return on_gpu | {"float32", "bfloat16"}


def get_cuda_device_count() -> int:
    """0: the Python package translates on CPUs."""
    return 0


class Translator:
    """ctranslate2.Translator.

    compute_type may be a dict by device. inter_threads * intra_threads worker threads translate the batches of all
    calls; intra_threads 0 means one per core.
    """

    def __init__(
        self,
        model_path: Union[str, "os.PathLike[str]"],
        device: str = "cpu",
        *,
        device_index: Union[int, List[int]] = 0,
        compute_type: Union[str, Dict[str, str]] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        flash_attention: bool = False,
        tensor_parallel: bool = False,
        files: object = None,
    ) -> None:
        if files is not None:
            raise ValueError("files is not available: transmute reads models from their folder")
        named = compute_type if isinstance(compute_type, str) else compute_type.get(device, "default")
        if named not in _PRECISIONS:
            raise ValueError(f"compute_type must be one of {', '.join(_PRECISIONS)}, not {named!r}")
        self._path, self._device = model_path, device
        self._threads = inter_threads * intra_threads
        self.compute_type = named
        precision: Any = _PRECISIONS[named]
        if precision == "half" and device != "cuda":
            precision = "float32"  # as CTranslate2 does on CPUs
        self._precision = precision
        self.load_model()

    def load_model(self, keep_cache: bool = False) -> None:
        """Opens the model again after unload_model()."""
        at = f"{self._device}:0" if self._device == "cuda" else self._device
        self._translator = _Translator(self._path, precision=self._precision, threads=self._threads, device=at)
        self._tokenizer = self._translator.tokenizer
        self._languages = set(self._tokenizer.languages())
        self._vocabularies = {side: set(self._tokenizer.vocabulary(side)) - {"<unk>"} for side in ("source", "target")}
        self.model_is_loaded = True

    def unload_model(self, to_cpu: bool = False) -> None:
        """Frees the model's memory."""
        self._translator.close()
        self.model_is_loaded = False

    @property
    def device(self) -> str:
        """The device."""
        return self._device

    @property
    def num_translators(self) -> int:
        """1: calls share one model and its threads."""
        return 1

    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Optional[Sequence[Optional[Tokens]]] = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: bool = False,
        beam_size: int = 2,
        num_hypotheses: int = 1,
        length_penalty: float = 1,
        coverage_penalty: float = 0,
        no_repeat_ngram_size: int = 0,
        min_decoding_length: int = 1,
        max_input_length: int = 1024,
        max_decoding_length: int = 256,
        return_scores: bool = False,
        return_attention: bool = False,
        return_alternatives: bool = False,
        sampling_topk: int = 1,
        sampling_topp: float = 1,
        sampling_temperature: float = 1,
        **others: Any,
    ) -> Any:
        """Translates tokens; a list of TranslationResult. Options that would change the results and that transmute
        lacks are errors."""
        _check_others(others)
        options: Dict[str, Any] = {
            "n_best": num_hypotheses, "length_penalty": float(length_penalty), "coverage_beta": coverage_penalty,
            "no_repeat_ngram": no_repeat_ngram_size, "min_length": min_decoding_length,
            "max_extra_length": max_decoding_length, "max_source_tokens": max_input_length or 1024,
            "alignment": "tokens" if return_attention else "none",
            "guard": "off", "protect": "none", "case": "keep", "split_sentences": "never",
        }  # fmt: skip
        if sampling_topk != 1:
            options.update(sample=True, top_k=max(sampling_topk, 0), top_p=sampling_topp)
            options.update(temperature=sampling_temperature)
        elif return_alternatives:
            options.update(alternatives=options.pop("n_best"))
        else:
            options.update(beam_size=beam_size)
        if max_batch_size > 0:
            options["batch_tokens" if batch_type == "tokens" else "batch_size"] = max_batch_size
        prefixes = target_prefix or [None] * len(source)
        found = [
            self._result(translation, prefix, options, max_decoding_length, return_scores, return_attention)
            for translation, prefix in zip(self._translate(source, prefixes, options), prefixes)
        ]
        return [AsyncTranslationResult(result) for result in found] if asynchronous else found

    def translate_iterable(
        self,
        source: Iterable[Tokens],
        target_prefix: Optional[Iterable[Tokens]] = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[TranslationResult]:
        """translate_batch() of texts as they come."""
        pairs = zip(source, target_prefix if target_prefix is not None else itertools.repeat(None))
        while True:
            some = list(itertools.islice(pairs, 1024))
            if not some:
                return
            sources, prefixes = [pair[0] for pair in some], [pair[1] for pair in some]
            options.update(max_batch_size=max_batch_size, batch_type=batch_type)
            yield from self.translate_batch(sources, prefixes if target_prefix is not None else None, **options)

    def translate_file(
        self,
        source_path: str,
        output_path: str,
        target_path: Optional[str] = None,
        *,
        max_batch_size: int = 32,
        source_tokenize_fn: Callable[[str], Tokens] = str.split,
        target_tokenize_fn: Callable[[str], Tokens] = str.split,
        target_detokenize_fn: Callable[[Tokens], str] = " ".join,
        with_scores: bool = False,
        **options: Any,
    ) -> ExecutionStats:
        """Translates the lines of a file."""
        import time

        begin, tokens, lines = time.perf_counter(), 0, 0
        options.pop("read_batch_size", None)
        with open(source_path, encoding="utf-8") as sources, open(output_path, "w", encoding="utf-8") as output:
            read = (source_tokenize_fn(line.rstrip("\n")) for line in sources)
            prefixes = None
            if target_path is not None:
                with open(target_path, encoding="utf-8") as targets:
                    prefixes = [target_tokenize_fn(line.rstrip("\n")) for line in targets]
            options.update(return_scores=with_scores or options.get("return_scores", False))
            for result in self.translate_iterable(read, prefixes, max_batch_size=max_batch_size, **options):
                score = f"{result.scores[0]} ||| " if with_scores else ""
                output.write(score + target_detokenize_fn(result.hypotheses[0]) + "\n")
                tokens, lines = tokens + len(result.hypotheses[0]), lines + 1
        return ExecutionStats(tokens, lines, 1000 * (time.perf_counter() - begin))

    def score_batch(
        self, source: Sequence[Tokens], target: Sequence[Tokens], *, max_batch_size: int = 0,
        batch_type: str = "examples", max_input_length: int = 1024, offset: int = 0, asynchronous: bool = False,
    ) -> List[ScoringResult]:  # fmt: skip
        """Scores given translations. The log-probabilities end with that of the end token."""
        groups = self._grouped(source, target)
        results: List[Optional[ScoringResult]] = [None] * len(source)
        for languages, members in groups.items():
            texts = [self._text(source[i], "source") for i in members]
            targets = [self._text(target[i], "target") for i in members]
            scored: List[Hypothesis] = self._translator.score(texts, targets, **_named(languages))
            for i, hypothesis in zip(members, scored):
                end = hypothesis.log_probability - sum(hypothesis.token_scores)
                results[i] = ScoringResult([*hypothesis.tokens, "</s>"], [*hypothesis.token_scores, end])
        return [result for result in results if result is not None]

    def _translate(
        self, source: Sequence[Tokens], prefixes: Sequence[Optional[Tokens]], options: Dict[str, Any]
    ) -> List[Translation]:
        if len(prefixes) != len(source):
            raise ValueError(f"the numbers of target prefixes ({len(prefixes)}) and texts ({len(source)}) differ")
        results: List[Optional[Translation]] = [None] * len(source)
        for languages, members in self._grouped(source, prefixes).items():
            found = self._translator.translate_batch(
                [self._text(source[i], "source") for i in members],
                target_prefix=[self._text(prefixes[i] or [], "target") for i in members],
                **_named(languages),
                **options,
            )
            for i, translation in zip(members, found):
                results[i] = translation
        return [result for result in results if result is not None]

    def _grouped(
        self, source: Sequence[Tokens], target: Sequence[Optional[Tokens]]
    ) -> Dict[Tuple[Optional[str], Optional[str]], List[int]]:
        """Texts by their languages, which stand among the tokens of multilingual models."""
        groups: Dict[Tuple[Optional[str], Optional[str]], List[int]] = {}
        for i, tokens in enumerate(source):
            languages = self._language(tokens), self._language(target[i] or [])
            groups.setdefault(languages, []).append(i)
        return groups

    def _language(self, tokens: Tokens) -> Optional[str]:
        for token in tokens[:1] + tokens[-1:]:
            if token in self._languages:
                return token
            if token.startswith("__") and token.endswith("__") and token.strip("_") in self._languages:
                return token.strip("_")
        return None

    def _text(self, tokens: Tokens, side: str) -> str:
        """The text of tokens, which must be its only tokens: the engine takes text."""
        language = self._language(tokens)
        plain = [token for token in tokens if token not in _SPECIAL and token not in (language, f"__{language}__")]
        known = self._vocabularies[side]
        text = self._tokenizer.decode(plain, side).replace("<unk>", "\ue000")  # which no vocabulary has
        again = self._tokenizer.encode(text, side)
        if [token in known and token for token in again] != [token in known and token for token in plain]:
            raise ValueError(
                f"the model's own tokenizer cuts {text!r} into {again}, not into {plain}; transmute takes no other tokens"
            )
        return text

    def _result(
        self,
        translation: Translation,
        prefix: Optional[Tokens],
        options: Dict[str, Any],
        max_decoding_length: int,
        return_scores: bool,
        return_attention: bool,
    ) -> TranslationResult:
        language = self._language(prefix or [])
        named = [token for token in (prefix or [])[:1] if language is not None]
        found = translation.hypotheses
        return TranslationResult(
            [named + hypothesis.tokens[:max_decoding_length] for hypothesis in found],
            [hypothesis.score for hypothesis in found] if return_scores else [],
            [hypothesis.alignment or [] for hypothesis in found] if return_attention else [],
        )


def _named(languages: Tuple[Optional[str], Optional[str]]) -> Any:
    named = {"source_language": languages[0], "target_language": languages[1]}
    return {name: language for name, language in named.items() if language is not None}


_HARMLESS = {
    "max_batch_size", "disable_unk", "replace_unknowns", "use_vmap", "return_logits_vocab", "min_alternative_expansion_prob",
}  # fmt: skip


def _check_others(others: Dict[str, Any]) -> None:
    defaults = {"patience": 1, "repetition_penalty": 1, "prefix_bias_beta": 0, "suppress_sequences": None,
                "end_token": None, "return_end_token": False, "callback": None}  # fmt: skip
    for name, value in others.items():
        if name in _HARMLESS or (name in defaults and value in (defaults[name], None)):
            continue
        known = name in defaults
        raise (ValueError if known else TypeError)(f"transmute has no option {name}" + (f"={value}" if known else ""))


def set_random_seed(seed: int) -> None:
    """Does nothing: samples depend on the option seed of transmute.Translator alone."""
