# SPDX-License-Identifier: Apache-2.0
"""What calls return."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from ._library import LIBRARY, text_of

_CONTINUATIONS = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character


class _Characters:
    """Characters of a text by its bytes. It continues from the byte asked for last, so that many spans take linear
    time."""

    def __init__(self, text: str) -> None:
        encoded = text.encode()
        self._encoded: Optional[bytes] = None if len(encoded) == len(text) else encoded
        self._byte, self._before = 0, 0

    def span(self, begin: int, end: int) -> Tuple[int, int]:
        return self._character(begin), self._character(end)

    def _character(self, byte: int) -> int:
        if self._encoded is None:
            return byte
        first, last = sorted((self._byte, byte))
        between = len(self._encoded[first:last].translate(None, _CONTINUATIONS))
        self._before += between if byte > self._byte else -between
        self._byte = byte
        return self._before


class Word(NamedTuple):
    """A word of a translation.

    span        text[span[0]:span[1]] is the word
    confidence  probability that a reference translation has the word
    """

    span: Tuple[int, int]
    confidence: float


class Warning(NamedTuple):
    """A place of a translation that looks wrong.

    kind     "omission", "length", "number", "address", "placeholder", "emoji", "repetition", "copy", "script"
             or "bracket"
    message  for people, such as "the number 15 became 51"
    source   characters of the text, [first, last + 1); equal if nothing in it corresponds
    target   characters of the best translation; equal if something is missing there
    """

    kind: str
    message: str
    source: Tuple[int, int]
    target: Tuple[int, int]


class Hypothesis(NamedTuple):
    """One translation of a text, one continuation of a prompt, or a text that was scored.

    text                     the translation, or the prompt and its continuation
    score                    ranks the hypotheses: log-probability / length penalty, and what coverage and reranking add
    log_probability          natural logarithm, including the end token
    tokens                   without the end token
    token_scores             natural log-probability of each token
    alignment                with alignment="tokens": alignment[i][j] is the attention of tokens[i] to source_tokens[j]
    word_alignment           with alignment="words": links (source word, target word), from 0. Words are separated by
                             whitespace
    confidence               expected sentence chrF against a reference, 0 to 1; None if the model was not calibrated
    words                    empty if the model was not calibrated
    reverse_log_probability  with rerank_candidates: natural log-probability of the source given this text under the
                             reverse model
    """

    text: str
    score: float
    log_probability: float
    tokens: List[str]
    token_scores: List[float]
    alignment: Optional[List[List[float]]]
    word_alignment: Optional[List[Tuple[int, int]]]
    confidence: Optional[float]
    words: List[Word]
    reverse_log_probability: Optional[float]

    def __str__(self) -> str:
        return self.text


class Translation(NamedTuple):
    """The translations of one text, or the continuations of one prompt. str() gives the best.

    hypotheses     best first, at least one
    source_tokens  as the model read the text
    warnings       what looks wrong with the best hypothesis
    unknown        words or characters that the vocabulary lacks
    """

    hypotheses: List[Hypothesis]
    source_tokens: List[str]
    warnings: List[Warning]
    unknown: List[str]

    @property
    def best(self) -> Hypothesis:
        """The first hypothesis."""
        return self.hypotheses[0]

    @property
    def text(self) -> str:
        """The text of the first hypothesis."""
        return self.hypotheses[0].text

    @property
    def confidence(self) -> Optional[float]:
        """The confidence of the first hypothesis."""
        return self.hypotheses[0].confidence

    def __str__(self) -> str:
        return self.text


def best_texts(result: int) -> List[str]:
    """The best text of each, and frees the result."""
    try:
        return [text_of(LIBRARY.result_text(result, text, 0)) for text in range(LIBRARY.result_count(result))]
    finally:
        LIBRARY.result_free(result)


class Wanted(NamedTuple):
    """What of a result was requested."""

    alignment: bool = False
    word_alignment: bool = False
    reverse: bool = False


def translations(result: int, texts: List[str], wanted: Wanted) -> List[Translation]:
    """Copies a result, and frees it."""
    try:
        return [_translation(result, i, text, wanted) for i, text in enumerate(texts)]
    finally:
        LIBRARY.result_free(result)


def hypotheses(result: int, wanted: Wanted) -> List[Hypothesis]:
    """Copies the only hypothesis of each text of a result, and frees it."""
    try:
        return [_hypothesis(result, i, 0, wanted) for i in range(LIBRARY.result_count(result))]
    finally:
        LIBRARY.result_free(result)


def _translation(result: int, text: int, source: str, wanted: Wanted) -> Translation:
    found = [_hypothesis(result, text, h, wanted) for h in range(LIBRARY.result_hypotheses(result, text))]
    tokens = range(LIBRARY.result_source_length(result, text))
    unknown = range(LIBRARY.result_unknowns(result, text))
    return Translation(
        found,
        [text_of(LIBRARY.result_source_token(result, text, i)) for i in tokens],
        _warnings(result, text, source, found[0].text),
        [text_of(LIBRARY.result_unknown(result, text, i)) for i in unknown],
    )


def _warnings(result: int, text: int, source: str, target: str) -> List[Warning]:
    count = LIBRARY.result_warnings(result, text)
    if count == 0:
        return []
    of_source, of_target = _Characters(source), _Characters(target)
    found = [LIBRARY.result_warning(result, text, i) for i in range(count)]
    return [
        Warning(
            text_of(warning.kind),
            text_of(warning.message),
            of_source.span(warning.source_begin, warning.source_end),
            of_target.span(warning.target_begin, warning.target_end),
        )
        for warning in found
    ]


def _hypothesis(result: int, text: int, number: int, wanted: Wanted) -> Hypothesis:
    at = result, text, number
    written = text_of(LIBRARY.result_text(*at))
    tokens = range(LIBRARY.result_length(*at))
    links = [LIBRARY.result_link(*at, i) for i in range(LIBRARY.result_links(*at))]
    confidence = LIBRARY.result_confidence(*at)
    return Hypothesis(
        written,
        LIBRARY.result_score(*at),
        LIBRARY.result_log_probability(*at),
        [text_of(LIBRARY.result_token(*at, i)) for i in tokens],
        [LIBRARY.result_token_score(*at, i) for i in tokens],
        _alignment(result, text, number, len(tokens)) if wanted.alignment else None,
        [(link.source, link.target) for link in links] if wanted.word_alignment else None,
        confidence if confidence >= 0 else None,
        _words(result, text, number, written),
        LIBRARY.result_reverse_log_probability(*at) if wanted.reverse else None,
    )


def _alignment(result: int, text: int, number: int, tokens: int) -> List[List[float]]:
    width = LIBRARY.result_source_length(result, text)
    return [LIBRARY.result_alignment(result, text, number, i)[:width] for i in range(tokens)]


def _words(result: int, text: int, number: int, written: str) -> List[Word]:
    count = LIBRARY.result_words(result, text, number)
    if count == 0:
        return []
    characters = _Characters(written)
    found = [LIBRARY.result_word(result, text, number, i) for i in range(count)]
    return [Word(characters.span(word.begin, word.end), word.confidence) for word in found]
