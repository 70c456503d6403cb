# SPDX-License-Identifier: Apache-2.0
"""What transmute.ctranslate2 consists of beside its translator: results, options, and files of tokens."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, TextIO, Tuple

Tokens = List[str]
Tokenize = Callable[[str], Tokens]
Detokenize = Callable[[Tokens], str]

END = "</s>"
SPECIAL = {"<s>", END, "<pad>", "<blank>"}


@dataclass
class TranslationResult:
    """The hypotheses of one text, best first.

    scores     log-probability / length penalty; empty unless return_scores
    attention  empty unless return_attention
    logits     always empty
    """

    hypotheses: List[Tokens]
    scores: List[float] = field(default_factory=list)
    attention: List[List[List[float]]] = field(default_factory=list)
    logits: List[Any] = field(default_factory=list)

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
class GenerationStepResult:
    """A token of generate_tokens(). token_id is of transmute's vocabulary."""

    step: int
    batch_id: int
    token_id: int
    hypothesis_id: int
    token: str
    log_prob: Optional[float]
    is_last: bool


@dataclass
class ExecutionStats:
    """What a call for a file has done."""

    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class AsyncTranslationResult:
    """A result of a call that runs in the background."""

    def __init__(self, call: Any, number: int) -> None:
        self._call, self._number = call, number

    def result(self) -> Any:
        """Waits for the result; raises the call's exception."""
        try:
            return self._call.result()[self._number]
        finally:
            del self  # an exception in it would keep its frames, and with them this one and the model

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return bool(self._call.done())


AsyncScoringResult = AsyncTranslationResult


def _split(line: str) -> Tokens:
    return [token for token in line.split(" ") if token]


def _lines_of(path: str) -> TextIO:
    return open(path, encoding="utf-8", newline="\n")


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


class Lines:
    """The lines of a source and, if there is one, of a target, as tokens; and what is written for each. The output
    appears under its name when it is complete."""

    def __init__(
        self,
        source: str,
        tokenize: Optional[Tokenize],
        target: Optional[str],
        tokenize_target: Optional[Tokenize],
        output: str,
    ) -> None:
        import time

        self._clock, self._begin, self._tokens, self._count = time.perf_counter, time.perf_counter(), 0, 0
        self._paths, self._functions = (source, target), (tokenize or _split, tokenize_target or _split)
        is_device = os.path.exists(output) and not os.path.isfile(output)
        self._path = output if is_device else os.path.realpath(output)
        if any(path is not None and os.path.realpath(path) == self._path for path in self._paths):
            raise ValueError(f"the output {output} is an input too; give it another name")
        self._partial = self._path if is_device else self._path + ".partial"
        self._output = open(self._partial, "w", encoding="utf-8")

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._output.close()
        if self._partial == self._path:
            return
        if error:
            os.remove(self._partial)
        else:
            os.replace(self._partial, self._path)

    def __iter__(self) -> Iterator[Tuple[Tokens, Tokens]]:
        source, target = self._paths
        with _lines_of(source) as sources, _lines_of(target or os.devnull) as targets:
            for line in sources:
                other = targets.readline()
                if target is not None and not other:
                    raise RuntimeError(f"{target} has less examples than {source}")
                yield self._functions[0](_without_end(line)), self._functions[1](_without_end(other))

    def write(self, line: str, tokens: int) -> None:
        self._output.write(line + "\n")
        self._tokens, self._count = self._tokens + tokens, self._count + 1

    def stats(self) -> ExecutionStats:
        return ExecutionStats(self._tokens, self._count, 1000 * (self._clock() - self._begin))


def check_functions(
    source: Optional[Tokenize], target: Optional[Tokenize], output: Optional[Detokenize], has_target: bool
) -> None:
    given = {"source_tokenize_fn": source, "target_detokenize_fn": output}
    if has_target:
        given["target_tokenize_fn"] = target
    missing = [name for name, function in given.items() if function is None]
    if missing and len(missing) < len(given):
        raise ValueError(f"with functions for tokens, {' and '.join(missing)} must be given too")


def kept_tokens(tokens: Tokens, max_length: int = 0) -> Tokens:
    """The tokens that the engine takes, at most max_length with the end, which it adds itself; 0: all. A language after
    the end belongs in front."""
    if isinstance(tokens, str):
        raise TypeError(f"tokens must be a list of str, not the str {tokens!r}")
    if END in tokens[:-1]:
        end = len(tokens) - 1 - tokens[::-1].index(END)
        tokens = [*tokens[end + 1 :], *tokens[:end]]
    kept = [token for token in tokens if token not in SPECIAL]
    return kept[: max_length - 1] if max_length > 0 else kept


def text_of_tokens(tokens: Tokens, max_length: int = 0) -> str:
    """The kept tokens as a list of pieces."""
    kept = kept_tokens(tokens, max_length)
    text = " ".join(kept)
    if "" in kept or "\0" in text or text.count(" ") != max(len(kept) - 1, 0):  # no vocabulary has such tokens
        return " ".join("<unk>" if not token or " " in token or "\0" in token else token for token in kept)
    return text


def tokens_of_text(text: str) -> Tokens:
    """The tokens of a list of pieces."""
    return text.split(" ") if text else []


def folder_of(files: Dict[str, Any]) -> Any:
    from tempfile import TemporaryDirectory

    folder = TemporaryDirectory(prefix="transmute-model-")
    for name, content in files.items():
        with open(os.path.join(folder.name, os.path.basename(name)), "wb") as file:
            file.write(content.read() if hasattr(content, "read") else content)
    return folder


def translation_options(
    beam_size: int = 2,
    num_hypotheses: int = 1,
    length_penalty: float = 1,
    coverage_penalty: float = 0,
    no_repeat_ngram_size: int = 0,
    repetition_penalty: float = 1,
    suppress_sequences: Optional[List[Tokens]] = None,
    min_decoding_length: int = 1,
    max_input_length: int = 1024,
    max_decoding_length: int = 256,
    return_alternatives: bool = False,
    return_attention: bool = False,
    sampling_topk: int = 1,
    sampling_topp: float = 1,
    sampling_temperature: float = 1,
    max_batch_size: int = 0,
    batch_type: str = "examples",
    **others: Any,
) -> Tuple[Any, int]:
    """CTranslate2's options with its defaults as those of transmute.Translator, and the maximum number of tokens."""
    _check_others(others)
    if min_decoding_length > max_decoding_length:
        raise ValueError(
            f"the minimum decoding length {min_decoding_length} is greater than the maximum {max_decoding_length}"
        )
    options: Dict[str, Any] = {
        "n_best": num_hypotheses, "length_penalty": float(length_penalty), "coverage_beta": coverage_penalty,
        "no_repeat_ngram": no_repeat_ngram_size, "repetition_penalty": repetition_penalty,
        "suppress_sequences": [text_of_tokens(tokens) for tokens in suppress_sequences or [] if tokens],
        "min_length": min_decoding_length,
        "max_extra_length": max_decoding_length, "max_source_tokens": max_input_length or 10**9,
        **batches(max_batch_size, batch_type),
    }  # fmt: skip
    if return_attention:
        options["alignment"] = "tokens"
    if return_attention or coverage_penalty:
        options["alignment_head"] = 1  # of the last layer, as CTranslate2 takes it by default
    if sampling_topk != 1:
        options.update(sample=True, top_k=max(sampling_topk, 0), top_p=sampling_topp, seed=_next_seed())
        options.update(temperature=sampling_temperature)
    elif return_alternatives:
        options.update(alternatives=options.pop("n_best"))
    else:
        options.update(beam_size=beam_size)
    return options, max_decoding_length


def batches(max_batch_size: int, batch_type: str) -> Dict[str, Any]:
    """The size of batches as an option of transmute.Translator; nothing if it is left open."""
    name = "batch_tokens" if batch_type == "tokens" else "batch_size"
    return {name: max_batch_size} if max_batch_size > 0 else {}


_HARMLESS = {"disable_unk", "replace_unknowns", "use_vmap"}
_DEFAULTS = {"patience": 1, "prefix_bias_beta": 0, "end_token": None, "callback": None, "return_logits_vocab": False}


def _check_others(others: Dict[str, Any]) -> None:
    for name, value in others.items():
        if name in _HARMLESS or (name in _DEFAULTS and value in (_DEFAULTS[name], None)):
            continue
        known = name in _DEFAULTS
        raise (ValueError if known else TypeError)(f"transmute has no option {name}" + (f"={value}" if known else ""))


_seeds: List[Any] = []  # their generator, once there is one


def set_random_seed(seed: Optional[int]) -> None:
    """Makes the samples of the calls that follow repeatable."""
    from random import Random

    _seeds[:] = [Random(seed)]


def _next_seed() -> int:
    if not _seeds:
        set_random_seed(None)
    return int(_seeds[0].getrandbits(63))
