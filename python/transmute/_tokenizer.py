# SPDX-License-Identifier: Apache-2.0
"""Tokenizers and sentences."""

from __future__ import annotations

import ctypes
import os
from typing import Dict, Iterable, List, Optional, Tuple, Union

from ._library import LIBRARY, SOURCE, TARGET, Handle, call, is_missing, take_string, text_of, to_bytes, to_path
from ._results import _Characters

Span = Tuple[int, int]


class Tokenizer:
    """The tokenizer of a model: text to pieces or ids, and back.

    >>> tokenizer = Tokenizer("runs/demo/model")
    >>> tokenizer.encode("nine hours")
    ['▁nine', '▁hours']
    >>> tokenizer.decode(tokenizer.encode_ids("nine hours"))
    'nine hours'

    side="target" means the vocabulary of the translations, where that is another one than the source's.
    """

    def __init__(self, model: Union[str, "os.PathLike[str]"]) -> None:
        try:
            address = call(LIBRARY.open_tokenizer, to_path(model))
        except RuntimeError as error:
            if is_missing(model):
                raise FileNotFoundError(str(error)) from None
            raise
        self._set(address)

    def _set(self, address: int) -> None:
        self._handle = Handle(address, LIBRARY.close_tokenizer, "tokenizer")
        self._vocabularies: Dict[str, List[str]] = {}
        self._ids: Dict[str, Dict[str, int]] = {}

    @classmethod
    def _of(cls, translator: Handle) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._set(call(LIBRARY.tokenizer_of, translator.address))
        return tokenizer

    def encode(self, text: str, side: str = "source") -> List[str]:
        """The pieces of a text. One that the vocabulary lacks is the text itself, as with SentencePiece."""
        return [text_of(token.text) for token in self._tokens(text, side)]

    def encode_ids(self, text: str, side: str = "source") -> List[int]:
        """The ids of a text's pieces."""
        return [int(token.id) for token in self._tokens(text, side)]

    def spans(self, text: str, side: str = "source") -> List[Span]:
        """The characters that each piece covers: text[first:last]."""
        characters = _Characters(text)
        return [characters.span(token.begin, token.end) for token in self._tokens(text, side)]

    def decode(self, pieces: Iterable[Union[str, int]], side: str = "source") -> str:
        """The text of pieces or ids."""
        if isinstance(pieces, str):
            raise TypeError("pieces must be a list of str or int, not a single str")
        pieces = list(pieces)
        if any(isinstance(piece, str) and self._known(side).get(piece) is None for piece in pieces):
            names = self.vocabulary(side)
            self.decode((piece for piece in pieces if not isinstance(piece, str)), side)  # raises for ids it lacks
            written = "".join(piece if isinstance(piece, str) else names[piece] for piece in pieces)
            return written.replace("\u2581", " ").strip()
        ids = [self.id(piece, side) if isinstance(piece, str) else piece for piece in pieces]
        array = (ctypes.c_int64 * len(ids))(*ids)
        for given, taken in zip(ids, array):  # ctypes cuts off the upper bits
            if given != taken:
                raise ValueError(f"the vocabulary has no id {given}")
        return take_string(call(LIBRARY.detokenize, self._handle.address, _number(side), array, len(ids)))

    def vocabulary(self, side: str = "source") -> List[str]:
        """All pieces, in the order of their ids."""
        if side not in self._vocabularies:
            segments = take_texts(call(LIBRARY.vocabulary, self._handle.address, _number(side)))
            self._vocabularies[side] = segments
        return list(self._vocabularies[side])

    def id(self, piece: str, side: str = "source") -> int:
        """The id of a piece."""
        found = self._known(side).get(piece)
        if found is None:
            raise ValueError(f"the vocabulary has no piece {piece!r}")
        return found

    def _known(self, side: str) -> Dict[str, int]:
        if side not in self._ids:
            self._ids[side] = {piece: number for number, piece in enumerate(self.vocabulary(side))}
        return self._ids[side]

    def languages(self) -> List[str]:
        """The languages of a multilingual vocabulary, as source_language and target_language name them."""
        return take_texts(call(LIBRARY.languages, self._handle.address))

    def _tokens(self, text: str, side: str) -> List[_Token]:
        segments = call(LIBRARY.tokenize, self._handle.address, _number(side), to_bytes(text))
        return take_tokens(segments)


class _Token:
    __slots__ = ("text", "id", "begin", "end")

    def __init__(self, text: bytes, id: int, begin: int, end: int) -> None:
        self.text, self.id, self.begin, self.end = text, id, begin, end


def take_tokens(segments: int) -> List[_Token]:
    """Copies segments, whose texts do not outlive them."""
    try:
        found = (LIBRARY.segments_get(segments, i) for i in range(LIBRARY.segments_count(segments)))
        return [_Token(segment.text, segment.id, segment.begin, segment.end) for segment in found]
    finally:
        LIBRARY.segments_free(segments)


def take_texts(segments: int) -> List[str]:
    return [text_of(token.text) for token in take_tokens(segments)]


def _number(side: str) -> int:
    if side not in ("source", "target"):
        raise ValueError(f"side must be \"source\" or \"target\", not {side!r}")
    return SOURCE if side == "source" else TARGET


def sentence_spans(translator: Optional[int], text: str, language: str) -> List[Span]:
    found = take_tokens(call(LIBRARY.sentences, translator, to_bytes(text), to_bytes(language, "language")))
    characters = _Characters(text)
    return [characters.span(sentence.begin, sentence.end) for sentence in found]


def sentences(text: str, language: str = "") -> List[str]:
    """The sentences of a text. `language`, such as "de", is found out from the words where it is not given.

    >>> sentences("Dr. Smith arrived on Jan. 3. He left at once.", "en")
    ['Dr. Smith arrived on Jan. 3.', 'He left at once.']
    """
    return [text[begin:end] for begin, end in sentence_spans(None, text, language)]
