# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments of calls, and the C struct that they fill."""

from __future__ import annotations

import ctypes
import itertools
import numbers
from typing import (
    TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple, TypedDict, TypeVar, Union,
)  # fmt: skip

from ._library import LIBRARY, SPLIT_ALWAYS, SPLIT_AUTOMATIC, SPLIT_NEVER, CallOptions, Handle, set_field, to_array
from ._results import Wanted

if TYPE_CHECKING:
    from typing_extensions import Literal

T = TypeVar("T")


class BatchOptions(TypedDict, total=False):
    """How texts are put into batches. Results do not depend on it.

    batch_size    maximum number of texts in a batch
    batch_tokens  maximum number of source tokens in a batch, padding included
    """

    batch_size: int
    batch_tokens: int


class EncodingOptions(BatchOptions, total=False):
    """Options of a call for embeddings, and those of BatchOptions.

    max_source_tokens  longer texts are encoded in parts
    source_language    for multilingual models, such as eng_Latn
    target_language    likewise, such as deu_Latn or deu
    """

    max_source_tokens: int
    source_language: str
    target_language: str


class ScoringOptions(BatchOptions, total=False):
    """Options of a call that scores given translations. They mean what they mean in TranslationOptions."""

    length_alpha: float
    length_penalty: Union[Literal["paper", "power"], float]
    alignment: Literal["none", "tokens"]
    alignment_layer: int
    alignment_head: int
    source_language: str
    target_language: str


class SearchOptions(BatchOptions, total=False):
    """How texts are searched for or sampled, and the options of BatchOptions. What is left out has the model's own
    default.

    beam_size           number of hypotheses kept; 1: greedy search
    n_best              number of results per text
    length_alpha        exponent of the length penalty
    length_penalty      "paper": ((5 + length) / 6)^alpha; "power": length^alpha; a number: "power" with that exponent
    min_length          minimum number of tokens
    no_repeat_ngram     never repeat a sequence of so many tokens; 0: allow it
    repetition_penalty  above 1: makes tokens that a text already has less probable
    temperature         of sampling: below 1 sharpens the distribution, above 1 flattens it
    top_k               sample only from the k most probable tokens; 0: from all
    top_p               sample only from the smallest set of tokens with this probability
    seed                the same seed and text give the same samples
    """

    beam_size: int
    n_best: int
    length_alpha: float
    length_penalty: Union[Literal["paper", "power"], float]
    min_length: int
    no_repeat_ngram: int
    repetition_penalty: float
    temperature: float
    top_k: int
    top_p: float
    seed: int


class TranslationOptions(SearchOptions, total=False):
    """Options of a translation call, named as the flags of the program translate are, and those of SearchOptions.

    coverage_beta           weight of the coverage penalty
    max_extra_length        maximum number of target tokens minus source tokens
    sample                  sample n_best translations instead of searching
    alternatives            the most probable next tokens after the prefix, each completed greedily
    mbr                     of so many translations, choose the one most similar to the others
    mbr_utility             similarity measure of mbr: "chrf" or "bleu"
    rerank_candidates       number of translations of which both models choose the best; 0: no reranking. Default: 8
                            with Translator(rerank=…)
    rerank_weight           weight of the opposite direction's score
    rerank_source_language  the reverse model's name for the language of the translations
    rerank_target_language  the reverse model's name for the language of the texts
    guard                   what to do about translations that look wrong: "retry", "warn" or "off"
    alignment               what Hypothesis gets: the alignment of "words", "tokens" or "both"; "none"
    alignment_layer         decoder layer whose attention aligns, from 1; 0: the last
    alignment_head          attention head of that layer, from 1; 0: the mean over the heads
    target_prefix           the beginning of the translation: one for all texts, or one for each
    suppress_sequences      texts that no translation contains as the same tokens
    glossary                source terms with the target terms to use
    inline_tags             carry tags such as <b>, </b>, <br/> and {name} over
    protect                 which placeholders, addresses, emoji and unknown words come back as they are: "auto", "all"
                            or "none"
    case                    "adapt": translate texts in capitals in ordinary case; "keep": as they are
    split_sentences         whether to translate each sentence alone: "auto", "always", "never", or a bool
    text_language           for finding sentences, such as "de"
    max_source_tokens       longer texts are translated in parts
    long_lines              "split": translate longer texts in parts; "fail": raise ValueError
    source_language         for multilingual models, such as eng_Latn
    target_language         likewise, such as deu_Latn or deu
    """

    coverage_beta: float
    max_extra_length: int
    sample: bool
    alternatives: int
    mbr: int
    mbr_utility: Literal["chrf", "bleu"]
    rerank_candidates: int
    rerank_weight: float
    rerank_source_language: str
    rerank_target_language: str
    guard: Literal["retry", "warn", "off"]
    alignment: Literal["none", "words", "tokens", "both"]
    alignment_layer: int
    alignment_head: int
    target_prefix: Union[str, Sequence[str]]
    suppress_sequences: Sequence[str]
    glossary: Union[Mapping[str, str], Iterable[Tuple[str, str]]]
    inline_tags: bool
    protect: Literal["auto", "all", "none"]
    case: Literal["adapt", "keep"]
    split_sentences: Union[bool, Literal["auto", "always", "never"]]
    text_language: str
    max_source_tokens: int
    long_lines: Literal["split", "fail"]
    source_language: str
    target_language: str


class GenerationOptions(SearchOptions, total=False):
    """Options of a generation call, and those of SearchOptions. Without beam_size, n_best continuations are sampled.

    max_new_tokens  maximum number of tokens to add to the prompt
    """

    max_new_tokens: int


_FIELDS = {
    "n_best": "num_hypotheses", "alternatives": "num_hypotheses", "mbr": "mbr_candidates", "long_lines": "long_texts",
    "case": "letter_case", "max_new_tokens": "max_extra_length", "length_penalty": "length_alpha",
}  # fmt: skip
# Options of C++, `serve`, CTranslate2 and Transformers, by names that are not near those here.
_OTHER_NAMES = {
    "num_hypotheses": "n_best", "num_return_sequences": "n_best", "num_beams": "beam_size", "prefix": "target_prefix",
    "sampling": "sample", "do_sample": "sample", "sampling_temperature": "temperature", "max_length": "max_extra_length",
    "return_alternatives": "alternatives", "src_lang": "source_language", "tgt_lang": "target_language",
}  # fmt: skip
_NEEDS = {
    "temperature": "sample", "top_k": "sample", "top_p": "sample", "seed": "sample", "mbr_utility": "mbr",
    "rerank_weight": "rerank_candidates", "rerank_source_language": "rerank_candidates",
    "rerank_target_language": "rerank_candidates",
}  # fmt: skip
_EXCLUDES = {"sample": ("beam_size",), "alternatives": ("beam_size", "n_best")}
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

            near = () if name in TranslationOptions.__annotations__ else difflib.get_close_matches(name, names, 1)
            if _OTHER_NAMES.get(name) in names:
                near = [_OTHER_NAMES[name]]
            raise TypeError(f"there is no option {name!r} here" + (f"; did you mean {near[0]!r}?" if near else ""))
    left = {name: value for name, value in given.items() if value is not None}
    wanted = _take_alignment(options, left)
    _take_structures(options, left, texts)
    _take_length_penalty(options, left)
    if not left.get("alternatives"):
        left.pop("alternatives", None)
    options.alternatives = int("alternatives" in left)
    for name, value in left.items():
        set_field(options, _FIELDS.get(name, name), value, name)
    options.names = {**CallOptions.names, **{_FIELDS.get(name, name): name for name in left}}
    _check_together(options, left, names)
    if "n_best" in left and "beam_size" not in left and not options.sample and options.beam_size < left["n_best"]:
        options.beam_size, options.names["beam_size"] = left["n_best"], "n_best"
    return Wanted(wanted in ("tokens", "both"), wanted in ("words", "both"), options.rerank_candidates > 0)


def _check_together(options: CallOptions, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuses what would have no effect, as the programs do."""
    for name, needed in _NEEDS.items():
        if name in given and not getattr(options, _FIELDS.get(needed, needed)):
            raise ValueError(f"{name} has no effect " + (f"without {needed}" if needed in known else "with beam_size"))
    for name, others in _EXCLUDES.items():
        for other in others:
            if given.get(name) and other in given:
                raise ValueError(f"{name} cannot be combined with {other}")
    for name, number in (("mbr", options.mbr_candidates), ("rerank_candidates", options.rerank_candidates)):
        if number == 1:
            raise ValueError(f"{name} must be at least 2, not 1")
        if "beam_size" in given and 0 < options.beam_size < number:
            raise ValueError(f"{name}={number} needs a beam_size of at least {number}, not {options.beam_size}")


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
    suppressed = listed(left.pop("suppress_sequences", ()), "sequences")
    if suppressed:
        options.suppress_sequences = to_array(suppressed, "sequence")
        options.suppress_sequences_size = len(suppressed)
    glossary = left.pop("glossary", None)
    if glossary is not None:
        if isinstance(glossary, str):
            raise TypeError("glossary must be a dict or pairs of terms, not a str; read a file's lines yourself")
        pairs = list(glossary.items() if isinstance(glossary, Mapping) else glossary)
        for number, pair in enumerate(pairs, 1):
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f"entry {number} of the glossary must be a pair of terms, not {pair!r}")
        options.glossary = to_array([term for pair in pairs for term in pair], "glossary term")
        options.glossary_size = len(pairs)


def _take_length_penalty(options: CallOptions, left: Dict[str, Any]) -> None:
    penalty = left.get("length_penalty")
    if penalty is None:
        return
    if isinstance(penalty, numbers.Real):
        if "length_alpha" in left:
            raise ValueError(f"length_penalty={penalty} is the exponent itself; leave length_alpha out")
    elif penalty not in ("paper", "power"):
        raise ValueError(f"length_penalty must be \"paper\", \"power\" or a number, not {penalty!r}")
    else:
        del left["length_penalty"]
    options.power_length_penalty = int(penalty != "paper")


def translation_options(
    translator: Handle,
    given: Mapping[str, Any],
    texts: int,
    *,
    known: type = TranslationOptions,
    reranks: bool = False,
) -> Tuple[CallOptions, Wanted]:
    options = CallOptions()
    LIBRARY.translation_options_of(translator.address, ctypes.byref(options), ctypes.sizeof(options))
    if reranks and not given.get("mbr") and not given.get("alternatives"):  # they choose in another way
        options.rerank_candidates = 8
    return options, filled(options, given, known, texts)


def encoding_options(given: Mapping[str, Any], texts: int) -> CallOptions:
    options = CallOptions()
    LIBRARY.translation_options_of(None, ctypes.byref(options), ctypes.sizeof(options))
    filled(options, given, EncodingOptions, texts)
    return options


def generation_options(given: Mapping[str, Any], texts: int) -> Tuple[CallOptions, Wanted]:
    options = CallOptions()
    LIBRARY.generation_options_init(ctypes.byref(options), ctypes.sizeof(options))
    if given.get("beam_size") is not None:
        options.sample = 0
    return options, filled(options, given, GenerationOptions, texts)


def listed(texts: Union[str, Iterable[str]], what: str = "texts") -> List[str]:
    """The texts as a list. A single str is none, nor is a dict, of which only the keys would be translated."""
    if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
        raise TypeError(f"the {what} must be a list of str, not {type(texts).__name__}")
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
