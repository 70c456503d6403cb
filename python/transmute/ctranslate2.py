# SPDX-License-Identifier: Apache-2.0
"""CTranslate2's interface for translators, on transmute's engine.

>>> import sys, transmute.ctranslate2
>>> sys.modules["ctranslate2"] = transmute.ctranslate2  # for programs that import ctranslate2

It reads CTranslate2's model folders, and all others that transmute reads.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from ._ctranslate2 import (
    END, AsyncScoringResult, AsyncTranslationResult, Detokenize, ExecutionStats, GenerationStepResult, Lines,
    ScoringResult, Tokenize, Tokens, TranslationResult, batches, check_functions, folder_of, kept_tokens,
    set_random_seed, text_of_tokens, tokens_of_text, translation_options,
)  # fmt: skip
from ._library import LIBRARY, cannot_be_pickled, text_of
from ._options import blocks, repeatable
from ._results import Wanted, _alignment
from ._running import Call
from ._translator import Translator as _Translator

__version__ = "4.0.0"  # of the interface

_PRECISIONS = {
    "default": None, "auto": None, "int8": "int8", "int8_float32": "int8", "int8_float16": "int8",
    "int8_bfloat16": "int8", "int16": "bfloat16", "float32": "float32", "float16": "half", "bfloat16": "bfloat16",
}  # fmt: skip
_log_level = [30]  # logging.WARNING


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


def get_log_level() -> int:
    """The level of set_log_level()."""
    return _log_level[0]


def set_log_level(level: int) -> None:
    """Has no effect: transmute's library logs nothing."""
    _log_level[0] = level


class Translator:
    """ctranslate2.Translator.

    compute_type may be a dict by device. inter_threads * intra_threads worker threads translate the batches of all
    calls; intra_threads 0 means one per core. files has the model's files by their names.
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
        files: Optional[Dict[str, Any]] = None,
    ) -> None:
        if not isinstance(compute_type, (str, dict)):
            raise TypeError(f"incompatible constructor arguments: compute_type is a {type(compute_type).__name__}")
        named = compute_type if isinstance(compute_type, str) else compute_type.get(device, "default")
        if named not in _PRECISIONS:
            raise ValueError(f"the compute type must be one of {', '.join(_PRECISIONS)}, not {named!r}")
        self.device_index = [device_index] if isinstance(device_index, int) else list(device_index)
        if self.device_index != [0] and (device == "cpu" or len(self.device_index) != 1):
            raise ValueError(f"the device index must be a single one, on CPUs 0, not {device_index}")
        self._path, self._folder = str(os.fspath(model_path)), None if files is None else folder_of(files)
        self.device, self.num_translators, self.num_queued_batches = device, inter_threads, 0
        self._threads = inter_threads * intra_threads
        precision: Any = _PRECISIONS[named]
        if precision == "half" and device != "cuda":
            precision = "float32"  # as CTranslate2 does on CPUs
        self._precision = precision
        self.compute_type = {"int8": "int8_float32", "half": "float16", None: named}.get(precision, precision)
        self._executor: Any = None
        self._running: Set[Any] = set()
        self.load_model()

    def __reduce__(self) -> Any:
        raise cannot_be_pickled("translator")

    def load_model(self, keep_cache: bool = False) -> None:
        """Opens the model again after unload_model()."""
        at = f"{self.device}:{self.device_index[0]}" if self.device == "cuda" else self.device
        path = self._path if self._folder is None else self._folder.name
        try:
            self._translator = _Translator(
                path, precision=self._precision, threads=self._threads, device=at, listed_pieces=True
            )
        except FileNotFoundError as error:
            raise RuntimeError(f"cannot open file model.bin in the folder {self._path}: {error}") from None
        self.model_is_loaded = True

    def unload_model(self, to_cpu: bool = False) -> None:
        """Frees the model's memory, unless a call runs in the background. The CPU's memory is where it is already."""
        if to_cpu or self.num_active_batches > 0:
            return
        self._translator.close()
        self.model_is_loaded = False

    @property
    def num_active_batches(self) -> int:
        """Calls that run in the background."""
        return sum(not call.done() for call in self._running.copy())

    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Optional[Sequence[Optional[Tokens]]] = None,
        *,
        asynchronous: bool = False,
        **options: Any,
    ) -> Any:
        """Translates tokens; a list of TranslationResult. The options are CTranslate2's, with its defaults. Those that
        would change the results and that transmute lacks are errors."""
        prefixes = target_prefix or [None] * len(source)
        if len(prefixes) != len(source):
            raise ValueError(f"the numbers of target prefixes ({len(prefixes)}) and texts ({len(source)}) differ")
        if asynchronous:
            return self._in_background(len(source), lambda: self._translate(source, prefixes, **options))
        return self._translate(source, prefixes, **options)

    def translate_iterable(
        self,
        source: Iterable[Tokens],
        target_prefix: Optional[Iterable[Optional[Tokens]]] = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[TranslationResult]:
        """translate_batch() of texts as they come."""
        options = repeatable({**options, "max_batch_size": max_batch_size, "batch_type": batch_type})
        prefixes = itertools.repeat(None) if target_prefix is None else target_prefix
        for some, beginnings in blocks(source, prefixes, target_prefix is not None):
            yield from self._translate(some, beginnings, **options)

    def translate_file(
        self,
        source_path: str,
        output_path: str,
        target_path: Optional[str] = None,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        source_tokenize_fn: Optional[Tokenize] = None,
        target_tokenize_fn: Optional[Tokenize] = None,
        target_detokenize_fn: Optional[Detokenize] = None,
        with_scores: bool = False,
        **options: Any,
    ) -> ExecutionStats:
        """Translates the lines of a file."""
        check_functions(source_tokenize_fn, target_tokenize_fn, target_detokenize_fn, target_path is not None)
        options.update(return_scores=with_scores or options.get("return_scores", False))
        join = target_detokenize_fn or " ".join
        with Lines(source_path, source_tokenize_fn, target_path, target_tokenize_fn, output_path) as lines:
            read = (([source], [prefix or None]) for source, prefix in lines)
            sources, prefixes = itertools.tee(read)
            found = self.translate_iterable(
                (pair[0][0] for pair in sources), (pair[1][0] for pair in prefixes), max_batch_size, **options
            )
            for result in found:
                written = [join(tokens) for tokens in result.hypotheses]
                if with_scores:
                    written = [f"{score:g} ||| {line}" for score, line in zip(result.scores, written)]
                lines.write("\n".join(written), len(result.hypotheses[0]))
            return lines.stats()

    def generate_tokens(
        self, source: Tokens, target_prefix: Optional[Tokens] = None, *, return_log_prob: bool = False, **options: Any
    ) -> Iterator[GenerationStepResult]:
        """The tokens of a greedy or sampled translation, each as soon as it is found; with return_log_prob once all
        are."""
        filled, maximum = translation_options(beam_size=1, **options)
        tokenizer, prefix = self._open().tokenizer, [text_of_tokens(target_prefix or [])]
        text = text_of_tokens(source, filled["max_source_tokens"])
        if not text:
            return

        def step(number: int, token: str, log_prob: Optional[float]) -> GenerationStepResult:
            identity = tokenizer.encode_ids(token, "target")[0] if token != END else 3
            is_last = token == END or number + 1 == maximum
            return GenerationStepResult(number, 0, identity, 0, token, log_prob, is_last)

        if return_log_prob:
            best = self._open().translate_batch([text], target_prefix=prefix, **filled)[0].best
            end = best.log_probability - sum(best.token_scores)
            pairs: Iterable[Tuple[str, Optional[float]]] = zip([*best.tokens, END], [*best.token_scores, end])
        else:
            parts = self._open().stream(text, target_prefix=prefix, **filled)
            tokens = (token for part in parts for token in part.split(" ") if token)
            pairs = zip(itertools.chain(tokens, [END]), itertools.repeat(None))
        for number, (token, log_prob) in enumerate(pairs):
            if number >= maximum:
                return
            yield step(number, token, log_prob)

    def score_batch(
        self,
        source: Sequence[Tokens],
        target: Sequence[Tokens],
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> Any:
        """Scores given translations; a list of ScoringResult. The log-probabilities end with that of the end token."""
        if len(source) != len(target):
            raise ValueError(f"the numbers of targets ({len(target)}) and sources ({len(source)}) differ in length")
        options = max_input_length, offset, batches(max_batch_size, batch_type)
        if asynchronous:
            return self._in_background(len(source), lambda: self._score(source, target, *options))
        return self._score(source, target, *options)

    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[ScoringResult]:
        """score_batch() of texts as they come."""
        options.update(max_batch_size=max_batch_size, batch_type=batch_type)
        for some, targets in blocks(source, target, True):
            yield from self.score_batch(some, targets, **options)

    def score_file(
        self,
        source_path: str,
        target_path: str,
        output_path: str,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        source_tokenize_fn: Optional[Tokenize] = None,
        target_tokenize_fn: Optional[Tokenize] = None,
        target_detokenize_fn: Optional[Detokenize] = None,
        with_tokens_score: bool = False,
        **options: Any,
    ) -> ExecutionStats:
        """Scores the lines of two files: the mean log-probability, the tokens and, if asked for, their scores."""
        check_functions(source_tokenize_fn, target_tokenize_fn, target_detokenize_fn, True)
        join = target_detokenize_fn or " ".join
        with Lines(source_path, source_tokenize_fn, target_path, target_tokenize_fn, output_path) as lines:
            sources, targets = itertools.tee(iter(lines))
            found = self.score_iterable(
                (pair[0] for pair in sources), (pair[1] for pair in targets), max_batch_size, **options
            )
            for result in found:
                scores = " ||| " + " ".join(f"{score:g}" for score in result.log_probs) if with_tokens_score else ""
                mean = sum(result.log_probs) / len(result.log_probs)
                lines.write(f"{mean:g} ||| {join(result.tokens)}{scores}", len(result.tokens))
            return lines.stats()

    def _open(self) -> _Translator:
        if not self.model_is_loaded:
            raise RuntimeError("the model was unloaded; load_model() loads it again")
        return self._translator

    def _in_background(self, count: int, body: Callable[[], Any]) -> List[AsyncTranslationResult]:
        from concurrent.futures import ThreadPoolExecutor

        self._executor = self._executor or ThreadPoolExecutor(self.num_translators)
        call = self._executor.submit(body)
        self._running.add(call)
        call.add_done_callback(self._running.discard)
        return [AsyncTranslationResult(call, number) for number in range(count)]

    def _translate(
        self,
        source: Sequence[Tokens],
        prefixes: Sequence[Optional[Tokens]],
        return_scores: bool = False,
        return_attention: bool = False,
        return_end_token: bool = False,
        min_alternative_expansion_prob: float = 0,
        **options: Any,
    ) -> List[TranslationResult]:
        filled, maximum = translation_options(return_attention=return_attention, **options)
        if return_attention and return_end_token:
            raise ValueError("return_attention cannot be combined with return_end_token: the end has no attention here")
        if any(prefixes):
            filled["target_prefix"] = [text_of_tokens(prefix or []) for prefix in prefixes]

        def copied(result: int, texts: List[str], wanted: Wanted) -> List[TranslationResult]:
            try:
                return [copy_of(result, text, wanted) for text in range(len(texts))]
            finally:
                LIBRARY.result_free(result)

        def of_empty_source(prefix: Tokens) -> TranslationResult:
            count = filled.get("n_best") or filled["alternatives"]
            attention: List[List[List[float]]] = [[[] for _ in prefix] for _ in range(count)]
            return TranslationResult(
                [list(prefix) for _ in range(count)],
                [0.0] * count if return_scores else [],
                attention if return_attention else [],
            )

        def copy_of(result: int, text: int, wanted: Wanted) -> TranslationResult:
            prefix = tokens_of_text(text_of_tokens(prefixes[text] or []))
            if not texts[text]:
                return of_empty_source(prefix)
            copy, found = TranslationResult([]), []
            for number in range(LIBRARY.result_hypotheses(result, text)):
                tokens = tokens_of_text(text_of(LIBRARY.result_text(result, text, number)))
                found.append((float(LIBRARY.result_score(result, text, number)), number, tokens))
            if "alternatives" in filled:
                found = ranked(result, text, len(prefix), found)
            for score, number, tokens in found:
                has_end = return_end_token and len(tokens) < maximum
                copy.hypotheses.append([*tokens, END] if has_end else tokens[:maximum])
                if return_scores:
                    copy.scores.append(score)
                if wanted.alignment:
                    copy.attention.append(_alignment(result, text, number, len(tokens[:maximum])))
            return copy

        def ranked(
            result: int, text: int, begin: int, found: List[Tuple[float, int, Tokens]]
        ) -> List[Tuple[float, int, Tokens]]:
            """Alternatives by the log-probability of the token that begins them, to which CTranslate2 adds the score
            of the others."""
            alternatives = []
            for _, number, tokens in found:
                whole, others = LIBRARY.result_log_probability(result, text, number), len(tokens) - begin
                position = LIBRARY.result_length(result, text, number) - others
                first = LIBRARY.result_token_score(result, text, number, position) if others else whole
                score = first + (whole - first) / max(others, 1) ** filled["length_penalty"]
                alternatives.append((first, score, number, tokens))
            alternatives.sort(key=lambda one: one[0], reverse=True)
            probable = [one for one in alternatives if math.exp(one[0]) >= min_alternative_expansion_prob]
            return [one[1:] for one in probable or alternatives[:1]]

        running, translator = Call(), self._open()
        texts = [text_of_tokens(tokens, filled["max_source_tokens"]) for tokens in source]
        try:
            return running.run(lambda: translator._translate(texts, filled, running, copied))
        except ValueError as error:
            raise ValueError(str(error).replace("n_best", "num_hypotheses")) from None

    def _score(
        self,
        source: Sequence[Tokens],
        target: Sequence[Tokens],
        max_length: int,
        offset: int,
        of_size: Dict[str, Any],
    ) -> List[ScoringResult]:
        texts, targets = ([text_of_tokens(tokens, max_length) for tokens in side] for side in (source, target))
        found, results = self._open().score(texts, targets, **of_size), []
        for given, hypothesis, text in zip(target, found, texts):
            tokens = kept_tokens(given, max_length)
            end = hypothesis.log_probability - sum(hypothesis.token_scores)
            scores = [*hypothesis.token_scores, end] if text else [0.0] * (len(tokens) + 1)
            results.append(ScoringResult([*tokens, END][offset:], scores[offset:]))
        return results


