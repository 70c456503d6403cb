# SPDX-License-Identifier: Apache-2.0
"""Embeddings."""

from __future__ import annotations

import ctypes
import math
import os
from array import array
from typing import Iterable, List, NamedTuple, Optional, Union, cast

from ._library import LIBRARY, CallOptions, call, open_model, set_field, text_of, to_array
from ._options import listed
from ._running import Call
from ._translator import Precision, _Model


class TokenVectors(NamedTuple):
    """The tokens of a text with a vector for each."""

    tokens: List[str]  #: L pieces
    vectors: memoryview  #: float32, [L, width]


class TextEncoder(_Model):
    """The encoder of a translation model, for embeddings.

    >>> encoder = TextEncoder("runs/demo/model")
    >>> vectors = numpy.asarray(encoder.embed(["nine hours", "ten hours"], normalize=True))
    >>> vectors @ vectors.T

    The arguments are those of Translator.
    """

    def __init__(
        self,
        model: Union[str, "os.PathLike[str]"],
        *,
        precision: Precision = "float32",
        threads: int = 0,
        device: str = "cpu",
    ) -> None:
        options = {"precision": precision, "threads": threads, "device": device}
        self._handle = open_model(LIBRARY.open_encoder, LIBRARY.close_encoder, "encoder", model, options)

    @property
    def width(self) -> int:
        """Number of elements of a vector."""
        return int(LIBRARY.encoder_width(self._open().address))

    def embed(
        self,
        texts: Union[str, Iterable[str]],
        *,
        normalize: bool = False,
        source_language: Optional[str] = None,
        target_language: Optional[str] = None,
        max_source_tokens: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_tokens: Optional[int] = None,
    ) -> memoryview:
        """The mean of each text's token vectors: float32, [texts, width], or [width] for a single str. The memory is
        shared with numpy.asarray() without a copy. A text without tokens has zeros. normalize=True scales each vector
        to length 1, so that dot products are cosines."""
        given = [texts] if isinstance(texts, str) else listed(texts)
        options = _options(source_language, target_language, max_source_tokens, batch_size, batch_tokens)
        width = self.width
        vectors = self._encode(given, options, token_vectors=False)
        try:
            rows = array("f")
            for text in range(len(given)):
                row = array("f", ctypes.string_at(LIBRARY.vectors_mean(vectors, text), 4 * width))
                rows.extend(_normalized(row) if normalize else row)
        finally:
            LIBRARY.vectors_free(vectors)
        return _shaped(rows, [width] if isinstance(texts, str) else [len(given), width])

    def embed_tokens(
        self,
        texts: Iterable[str],
        *,
        source_language: Optional[str] = None,
        target_language: Optional[str] = None,
        max_source_tokens: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_tokens: Optional[int] = None,
    ) -> List[TokenVectors]:
        """The tokens of each text with a vector for each."""
        given, width = listed(texts), self.width
        options = _options(source_language, target_language, max_source_tokens, batch_size, batch_tokens)
        vectors = self._encode(given, options, token_vectors=True)
        try:
            found = []
            for text in range(len(given)):
                length = LIBRARY.vectors_length(vectors, text)
                tokens = [text_of(LIBRARY.vectors_token(vectors, text, i)) for i in range(length)]
                rows = array("f", ctypes.string_at(LIBRARY.vectors_tokens(vectors, text) or 0, 4 * width * length))
                found.append(TokenVectors(tokens, _shaped(rows, [length, width])))
            return found
        finally:
            LIBRARY.vectors_free(vectors)

    def _encode(self, texts: List[str], options: CallOptions, *, token_vectors: bool) -> int:
        handle, running = self._open(), Call()
        running.attach(options)
        arguments = to_array(texts), len(texts), ctypes.byref(options), int(token_vectors)
        return running.run(lambda: call(LIBRARY.encode, handle.address, *arguments))


def _options(
    source_language: Optional[str],
    target_language: Optional[str],
    max_source_tokens: Optional[int],
    batch_size: Optional[int],
    batch_tokens: Optional[int],
) -> CallOptions:
    options = CallOptions()
    LIBRARY.translation_options_of(None, ctypes.byref(options), ctypes.sizeof(options))
    given = {
        "source_language": source_language, "target_language": target_language, "max_source_tokens": max_source_tokens,
        "batch_size": batch_size, "batch_tokens": batch_tokens,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None:
            set_field(options, name, value, name)
    return options


def _normalized(row: array[float]) -> array[float]:
    length = math.sqrt(sum(value * value for value in row))
    return array("f", (value / length for value in row)) if length > 0 else row


def _shaped(rows: array[float], shape: List[int]) -> memoryview:
    if 0 in shape:
        return cast(memoryview, memoryview(rows))  # without rows it cannot have the shape
    return cast(memoryview, memoryview(rows).cast("B").cast("f", shape))
