# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments of calls, and the C struct that they fill."""

from __future__ import annotations

import ctypes
import itertools
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple, TypedDict, TypeVar, Union,
)  # fmt: skip

from ._library import LIBRARY, SPLIT_ALWAYS, SPLIT_AUTOMATIC, SPLIT_NEVER, CallOptions, Handle, set_field, to_array
from ._results import Wanted

if TYPE_CHECKING:
    from typing_extensions import Literal

T = TypeVar("T")


class BatchOptions(TypedDict, total=False):
    """How texts are put into batches. Results do not depend on it."""

    batch_size: int  #: maximum number of texts in a batch
    batch_tokens: int  #: maximum number of source tokens in a batch, padding included


class SearchOptions(BatchOptions, total=False):
    """How texts are searched for or sampled. What is left out has the model's own default."""

    beam_size: int  #: number of hypotheses kept; 1: greedy search
    n_best: int  #: number of results per text
    length_alpha: float  #: exponent of the length penalty
    length_penalty: Union[Literal["paper", "power"], float]  #: its form; a number: power with that exponent
    min_length: int  #: minimum number of tokens
    no_repeat_ngram: int  #: never repeat a sequence of so many tokens; 0: allow it
    repetition_penalty: float  #: above 1: makes tokens that a text already has less probable
    temperature: float  #: below 1 sharpens the distribution, above 1 flattens it
    top_k: int  #: sample only from the k most probable tokens; 0: from all
    top_p: float  #: sample only from the smallest set of tokens with this probability
    seed: int  #: the same seed and text give the same samples


class TranslationOptions(SearchOptions, total=False):
    """Options of a translation call, named as the flags of the program translate are."""

    coverage_beta: float  #: weight of the coverage penalty
    max_extra_length: int  #: maximum number of target tokens minus source tokens
    sample: bool  #: sample n_best translations instead of searching
    alternatives: int  #: the most probable next tokens after the prefix, each completed greedily
    mbr: int  #: of so many translations, choose the one most similar to the others
    mbr_utility: Literal["chrf", "bleu"]
    #: Number of translations of which both models choose the best; 0: no reranking. Default: 8 with Translator(rerank=…).
    rerank_candidates: int
    rerank_weight: float
    rerank_source_language: str
    rerank_target_language: str
    guard: Literal["retry", "warn", "off"]  #: what to do about translations that look wrong
    alignment: Literal["none", "words", "tokens", "both"]  #: what Hypothesis gets
    alignment_layer: int
    alignment_head: int
    target_prefix: Union[str, Sequence[str]]  #: the beginning of the translation: one for all texts, or one for each
    suppress_sequences: Sequence[str]  #: texts that no translation contains as the same tokens
    glossary: Union[Mapping[str, str], Iterable[Tuple[str, str]]]  #: source terms with the target terms to use
    inline_tags: bool  #: carry tags such as <b>, </b>, <br/> and {name} over
    protect: Literal["auto", "all", "none"]  #: placeholders, addresses, emoji and unknown words
    case: Literal["adapt", "keep"]  #: texts in capitals
    split_sentences: Union[bool, Literal["auto", "always", "never"]]
    text_language: str  #: for finding sentences, such as "de"
    max_source_tokens: int  #: longer texts are translated in parts
    long_lines: Literal["split", "fail"]
    source_language: str  #: for multilingual models, such as eng_Latn
    target_language: str  #: likewise, such as deu_Latn or deu


class GenerationOptions(SearchOptions, total=False):
    """Options of a generation call. Without beam_size, n_best continuations are sampled."""

    max_new_tokens: int  #: maximum number of tokens to add to the prompt


_FIELDS = {
    "n_best": "num_hypotheses", "mbr": "mbr_candidates", "long_lines": "long_texts", "case": "letter_case",
    "max_new_tokens": "max_extra_length",
}  # fmt: skip
_SPLITTING = {
    "auto": SPLIT_AUTOMATIC, "always": SPLIT_ALWAYS, "never": SPLIT_NEVER, True: SPLIT_ALWAYS, False: SPLIT_NEVER,
}  # fmt: skip
_ALIGNMENTS = ("none", "words", "tokens", "both")


def filled(options: CallOptions, given: Mapping[str, Any], known: type, texts: int) -> Wanted:
    """Fills the C struct with what the caller of a function with `texts` texts has given, and says what of the result
    to copy."""
    names = list(known.__annotations__)
    for name in given:
        if name not in names:
            import difflib  # every import would pay for what a mistake needs

            near = difflib.get_close_matches(name, names, 1)
            raise TypeError(f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    left = {name: value for name, value in given.items() if value is not None}
    wanted = _take_alignment(options, left)
    _take_structures(options, left, texts)
    _take_length_penalty(options, left)
    if left.get("alternatives"):
        options.num_hypotheses = left.pop("alternatives")
        options.alternatives = 1
    if "n_best" in left and "beam_size" not in left and not left.get("sample") and not options.alternatives:
        options.beam_size = max(options.beam_size, left["n_best"])
    for name, value in left.items():
        set_field(options, _FIELDS.get(name, name), value, name)
    return Wanted(wanted in ("tokens", "both"), wanted in ("words", "both"), options.rerank_candidates > 0)


def _take_alignment(options: CallOptions, left: Dict[str, Any]) -> str:
    wanted = str(left.pop("alignment", "none"))
    if wanted not in _ALIGNMENTS:
        raise ValueError(f"alignment must be one of {', '.join(_ALIGNMENTS)}, not {wanted!r}")
    options.alignments = wanted in ("tokens", "both")
    options.word_alignments = wanted in ("words", "both")
    return wanted


def _take_structures(options: CallOptions, left: Dict[str, Any], texts: int) -> None:
    splitting = left.pop("split_sentences", "auto" if "split_sentences" in left else None)
    if splitting is not None:
        if splitting not in _SPLITTING:
            raise ValueError(f"split_sentences must be \"auto\", \"always\" or \"never\", not {splitting!r}")
        options.split_sentences = _SPLITTING[splitting]
    prefixes = left.pop("target_prefix", None)
    if prefixes is not None:
        each = [prefixes] * texts if isinstance(prefixes, str) else list(prefixes)
        if len(each) != texts:
            raise ValueError(f"the numbers of target prefixes ({len(each)}) and texts ({texts}) differ")
        options.target_prefixes = to_array(each, "prefix")
    suppressed = listed(left.pop("suppress_sequences", None) or [], "sequences")
    if suppressed:
        options.suppress_sequences = to_array(suppressed, "sequence")
        options.suppress_sequences_size = len(suppressed)
    glossary = left.pop("glossary", None)
    if glossary is not None:
        pairs = list(glossary.items() if isinstance(glossary, Mapping) else glossary)
        for number, pair in enumerate(pairs, 1):
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f"entry {number} of the glossary must be a pair of terms, not {pair!r}")
        options.glossary = to_array([term for pair in pairs for term in pair], "glossary term")
        options.glossary_size = len(pairs)


def _take_length_penalty(options: CallOptions, left: Dict[str, Any]) -> None:
    penalty = left.pop("length_penalty", None)
    if penalty is None:
        return
    if isinstance(penalty, (int, float)):
        if "length_alpha" in left:
            raise ValueError(f"length_penalty={penalty} is the exponent itself; leave length_alpha out")
        options.power_length_penalty, options.length_alpha = 1, penalty
    elif penalty in ("paper", "power"):
        options.power_length_penalty = int(penalty == "power")
    else:
        raise ValueError(f"length_penalty must be \"paper\", \"power\" or a number, not {penalty!r}")


def translation_options(
    translator: Handle, given: Mapping[str, Any], texts: int, *, reranks: bool = False
) -> Tuple[CallOptions, Wanted]:
    options = CallOptions()
    LIBRARY.translation_options_of(translator.address, ctypes.byref(options), ctypes.sizeof(options))
    if reranks and not given.get("mbr") and not given.get("alternatives"):  # they choose in another way
        options.rerank_candidates = 8
    return options, filled(options, given, TranslationOptions, texts)


def generation_options(given: Mapping[str, Any], texts: int) -> Tuple[CallOptions, Wanted]:
    options = CallOptions()
    LIBRARY.generation_options_init(ctypes.byref(options), ctypes.sizeof(options))
    if given.get("beam_size") is not None:
        options.sample = 0
    return options, filled(options, given, GenerationOptions, texts)


def listed(texts: Union[str, Iterable[str]], what: str = "texts") -> List[str]:
    """The texts as a list, of which a single str is none."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"the {what} must be a list of str, not a single {type(texts).__name__}")
    return list(texts)


def repeatable(given: Mapping[str, Any]) -> Dict[str, Any]:
    """The options for several calls. An iterator becomes a list, because the first call would use it up."""
    return {name: list(value) if isinstance(value, Iterator) else value for name, value in given.items()}


def blocks(
    first: Iterable[T], second: Iterable[Any], same: bool, size: int = 1024
) -> Iterator[Tuple[List[T], List[Any]]]:
    """Up to `size` pairs at a time. `same`: both must have the same length."""
    nothing: Any = object()
    together = itertools.zip_longest(first, second, fillvalue=nothing) if same else zip(first, second)
    pairs: Iterator[Tuple[Any, Any]] = iter(together)
    while True:
        some = list(itertools.islice(pairs, size))
        if not some:
            return
        if some[-1][0] is nothing or some[-1][1] is nothing:
            raise ValueError("the texts and their targets or target prefixes differ in length")
        yield [pair[0] for pair in some], [pair[1] for pair in some]
