# SPDX-License-Identifier: Apache-2.0
"""Embeddings."""

from __future__ import annotations

import ctypes
import math
import os
from array import array
from typing import TYPE_CHECKING, Iterable, List, NamedTuple, Union

from ._library import LIBRARY, call, open_model, text_of, to_array
from ._options import EncodingOptions, encoding_options, listed
from ._running import Call
from ._translator import Precision, _Model

if TYPE_CHECKING:
    from typing_extensions import Unpack

    Floats = memoryview[float]
else:
    Floats = memoryview


class TokenVectors(NamedTuple):
    """The tokens of a text with a vector for each.

    tokens   L pieces
    vectors  float32, [L, width]
    """

    tokens: List[str]
    vectors: Floats


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
        **options: Unpack[EncodingOptions],
    ) -> Floats:
        """The mean of each text's token vectors: float32, [texts, width], or [width] for a single str. The memory is
        shared with numpy.asarray() without a copy. A text without tokens has zeros. normalize=True scales each vector
        to length 1, so that dot products are cosines."""
        given = [texts] if isinstance(texts, str) else listed(texts)
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

    def embed_tokens(self, texts: Iterable[str], **options: Unpack[EncodingOptions]) -> List[TokenVectors]:
        """The tokens of each text with a vector for each."""
        given, width = listed(texts), self.width
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

    def _encode(self, texts: List[str], options: EncodingOptions, *, token_vectors: bool) -> int:
        handle, running = self._open(), Call()
        filled = encoding_options(options, len(texts))
        running.attach(filled)
        arguments = to_array(texts), len(texts), filled, int(token_vectors)
        return running.run(lambda: call(LIBRARY.encode, handle.address, *arguments))


def _normalized(row: array[float]) -> array[float]:
    length = math.sqrt(sum(value * value for value in row))
    return array("f", (value / length for value in row)) if length > 0 else row


def _shaped(rows: array[float], shape: List[int]) -> Floats:
    values = memoryview(rows).cast("B")
    return values.cast("f") if 0 in shape else values.cast("f", shape)  # without rows it cannot have the shape
