# SPDX-License-Identifier: Apache-2.0
"""The C interface (translation/transmute.h) through ctypes, which releases the interpreter's lock during each call."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Tuple

ON_TEXT = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_char_p)
ON_PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_size_t)

INVALID_ARGUMENT, NO_MEMORY = 1, 2  # TRANSMUTE_ERROR_…
SOURCE, TARGET = 0, 1
SPLIT_NEVER, SPLIT_ALWAYS, SPLIT_AUTOMATIC = 0, 1, 2


class TranslatorOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_char_p),
        ("threads", c_int),
        ("precision", c_char_p),
        ("ensemble", POINTER(c_char_p)),
        ("ensemble_size", c_size_t),
        ("shortlist", c_char_p),
        ("shortlist_best", c_int64),
        ("shortlist_frequent", c_int64),
        ("reverse_model", c_char_p),
        ("listed_pieces", c_int),
    ]


class CallOptions(ctypes.Structure):
    """transmute_translation_options."""

    #: Maps names in the library's messages to Python's options. filled() adds the options of the call.
    names: Dict[str, str] = {
        "mbr.candidates": "mbr", "rerank.candidates": "rerank_candidates", "rerank.weight": "rerank_weight",
        "TranslatorOptions::reverse_model": "Translator(rerank=…)", "on_text": "stream()",
        "--rerank-source-language": "rerank_source_language", "--rerank-target-language": "rerank_target_language",
        "--source-language": "source_language", "--target-language": "target_language",
    }  # fmt: skip

    _fields_ = [
        ("struct_size", c_size_t),
        ("beam_size", c_int64),
        ("num_hypotheses", c_int64),
        ("length_alpha", c_double),
        ("max_extra_length", c_int64),
        ("alignments", c_int),
        ("batch_size", c_int64),
        ("batch_tokens", c_int64),
        ("max_source_tokens", c_int64),
        ("on_text", ON_TEXT),
        ("on_progress", ON_PROGRESS),
        ("should_stop", c_void_p),
        ("user", c_void_p),
        ("alignment_layer", c_int64),
        ("alignment_head", c_int64),
        ("coverage_beta", c_double),
        ("min_length", c_int64),
        ("no_repeat_ngram", c_int64),
        ("power_length_penalty", c_int),
        ("sample", c_int),
        ("temperature", c_double),
        ("top_k", c_int64),
        ("top_p", c_double),
        ("seed", c_uint64),
        ("alternatives", c_int),
        ("target_prefixes", POINTER(c_char_p)),
        ("glossary", POINTER(c_char_p)),
        ("glossary_size", c_size_t),
        ("inline_tags", c_int),
        ("split_sentences", c_int),
        ("source_language", c_char_p),
        ("target_language", c_char_p),
        ("mbr_candidates", c_int64),
        ("mbr_utility", c_char_p),
        ("rerank_candidates", c_int64),
        ("rerank_weight", c_double),
        ("rerank_source_language", c_char_p),
        ("rerank_target_language", c_char_p),
        ("guard", c_char_p),
        ("text_language", c_char_p),
        ("protect", c_char_p),
        ("long_texts", c_char_p),
        ("letter_case", c_char_p),
        ("word_alignments", c_int),
        ("repetition_penalty", c_double),
        ("suppress_sequences", POINTER(c_char_p)),
        ("suppress_sequences_size", c_size_t),
    ]


class DocumentOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("format", c_char_p), ("retranslate", c_int)]


class Warning_(ctypes.Structure):
    _fields_ = [
        ("kind", c_char_p),
        ("message", c_char_p),
        ("source_begin", c_size_t),
        ("source_end", c_size_t),
        ("target_begin", c_size_t),
        ("target_end", c_size_t),
    ]


class Word(ctypes.Structure):
    _fields_ = [("begin", c_size_t), ("end", c_size_t), ("confidence", c_double)]


class Link(ctypes.Structure):
    _fields_ = [("source", c_size_t), ("target", c_size_t)]


class Segment(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("id", c_int64), ("begin", c_size_t), ("end", c_size_t)]


class MetricOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("tokenize", c_char_p),
        ("smooth", c_char_p),
        ("smooth_value", c_double),
        ("effective_order", c_int),
        ("lowercase", c_int),
        ("case_sensitive", c_int),
        ("ter_normalize", c_int),
        ("ter_no_punctuation", c_int),
        ("ter_asian_support", c_int),
    ]


_ERROR = POINTER(c_void_p)
_TEXTS = POINTER(c_char_p)
_RESULT = c_void_p, c_size_t
_HYPOTHESIS = c_void_p, c_size_t, c_size_t

# The result and the arguments of each function, without its prefix transmute_.
_FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "version": (c_char_p, ()),
    "error_kind": (c_int, ()),
    "string_free": (None, (c_void_p,)),
    "translator_options_init": (None, (POINTER(TranslatorOptions), c_size_t)),
    "translation_options_of": (None, (c_void_p, POINTER(CallOptions), c_size_t)),
    "generation_options_init": (None, (POINTER(CallOptions), c_size_t)),
    "metric_options_init": (None, (POINTER(MetricOptions), c_size_t)),
    "open": (c_void_p, (c_char_p, POINTER(TranslatorOptions), _ERROR)),
    "close": (None, (c_void_p,)),
    "translate": (c_void_p, (c_void_p, _TEXTS, c_size_t, POINTER(CallOptions), _ERROR)),
    "document_options_init": (None, (POINTER(DocumentOptions), c_size_t)),
    "translate_document": (
        c_int,
        (c_void_p, c_char_p, c_char_p, POINTER(DocumentOptions), POINTER(CallOptions), _ERROR),
    ),
    "score": (c_void_p, (c_void_p, _TEXTS, _TEXTS, c_size_t, POINTER(CallOptions), _ERROR)),
    "open_language_model": (c_void_p, (c_char_p, POINTER(TranslatorOptions), _ERROR)),
    "close_language_model": (None, (c_void_p,)),
    "generate": (c_void_p, (c_void_p, _TEXTS, c_size_t, POINTER(CallOptions), _ERROR)),
    "score_texts": (c_void_p, (c_void_p, _TEXTS, c_size_t, POINTER(CallOptions), _ERROR)),
    "result_free": (None, (c_void_p,)),
    "result_count": (c_size_t, (c_void_p,)),
    "result_hypotheses": (c_size_t, _RESULT),
    "result_source_length": (c_size_t, _RESULT),
    "result_source_token": (c_char_p, (*_RESULT, c_size_t)),
    "result_warnings": (c_size_t, _RESULT),
    "result_warning": (Warning_, (*_RESULT, c_size_t)),
    "result_unknowns": (c_size_t, _RESULT),
    "result_unknown": (c_char_p, (*_RESULT, c_size_t)),
    "result_text": (c_char_p, _HYPOTHESIS),
    "result_score": (c_double, _HYPOTHESIS),
    "result_log_probability": (c_double, _HYPOTHESIS),
    "result_reverse_log_probability": (c_double, _HYPOTHESIS),
    "result_confidence": (c_double, _HYPOTHESIS),
    "result_length": (c_size_t, _HYPOTHESIS),
    "result_token": (c_char_p, (*_HYPOTHESIS, c_size_t)),
    "result_token_score": (c_double, (*_HYPOTHESIS, c_size_t)),
    "result_alignment": (POINTER(c_float), (*_HYPOTHESIS, c_size_t)),
    "result_words": (c_size_t, _HYPOTHESIS),
    "result_word": (Word, (*_HYPOTHESIS, c_size_t)),
    "result_links": (c_size_t, _HYPOTHESIS),
    "result_link": (Link, (*_HYPOTHESIS, c_size_t)),
    "open_tokenizer": (c_void_p, (c_char_p, _ERROR)),
    "tokenizer_of": (c_void_p, (c_void_p, _ERROR)),
    "close_tokenizer": (None, (c_void_p,)),
    "tokenize": (c_void_p, (c_void_p, c_int, c_char_p, _ERROR)),
    "detokenize": (c_void_p, (c_void_p, c_int, POINTER(c_int64), c_size_t, _ERROR)),
    "vocabulary": (c_void_p, (c_void_p, c_int, _ERROR)),
    "languages": (c_void_p, (c_void_p, _ERROR)),
    "sentences": (c_void_p, (c_void_p, c_char_p, c_char_p, _ERROR)),
    "segments_count": (c_size_t, (c_void_p,)),
    "segments_get": (Segment, (c_void_p, c_size_t)),
    "segments_free": (None, (c_void_p,)),
    "open_encoder": (c_void_p, (c_char_p, POINTER(TranslatorOptions), _ERROR)),
    "close_encoder": (None, (c_void_p,)),
    "encoder_width": (c_size_t, (c_void_p,)),
    "encode": (c_void_p, (c_void_p, _TEXTS, c_size_t, POINTER(CallOptions), c_int, _ERROR)),
    "vectors_mean": (c_void_p, _RESULT),
    "vectors_length": (c_size_t, _RESULT),
    "vectors_token": (c_char_p, (*_RESULT, c_size_t)),
    "vectors_tokens": (c_void_p, _RESULT),
    "vectors_free": (None, (c_void_p,)),
    "evaluate": (
        c_void_p,
        (c_char_p, _TEXTS, c_size_t, _TEXTS, c_size_t, POINTER(MetricOptions), POINTER(c_double), _ERROR),
    ),
}


class Library:
    """The functions of the shared library, by their names without transmute_."""

    def __init__(self) -> None:
        path = self._path()
        try:
            library = ctypes.CDLL(path)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = library["transmute_" + name]
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
            self.is_set = ctypes.cast(library["transmute_is_set"], c_void_p)
        except (OSError, AttributeError) as error:
            raise ImportError(
                f"transmute's library cannot be used: {error}. Install the wheel for this platform, or name the library "
                "of the same version in the variable TRANSMUTE_LIBRARY"
            ) from error

    def __getattr__(self, name: str) -> Any:  # for type checkers
        raise AttributeError(name)

    @staticmethod
    def _path() -> str:
        named = os.environ.get("TRANSMUTE_LIBRARY")
        if named:
            return named
        own = os.path.join(os.path.dirname(__file__), "lib", "libtransmute.so")
        return own if os.path.exists(own) else "libtransmute.so.0.1"  # otherwise the system's


LIBRARY = Library()


def to_bytes(text: str, what: str = "the text") -> bytes:
    """The text as C takes it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} has a lone surrogate at character {error.start}, which is not text") from None
    if b"\0" in encoded:
        raise ValueError(f"{what} has a NUL character at character {text.index(chr(0))}; take it out")
    return encoded


def to_array(texts: Sequence[str], what: str = "text") -> ctypes.Array[c_char_p]:
    encoded = [to_bytes(text, f"{what} {number}") for number, text in enumerate(texts, 1)]
    return (c_char_p * len(encoded))(*encoded)


def set_field(options: ctypes.Structure, field: str, value: Any, name: str) -> None:
    """Sets a field to a value that the caller knows by `name`. ctypes would take a number for a string's address, and
    would cut off the upper bits of an integer."""
    if (field, c_char_p) in options._fields_:
        value = to_bytes(value, name)
    try:
        if hasattr(value, "item"):  # ctypes does not know numpy's bool
            value = value.item()
        setattr(options, field, value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} cannot be {value!r}, a {type(value).__name__}") from None
    if (field, c_double) not in options._fields_ and getattr(options, field) != value:
        raise ValueError(f"{name} cannot be {value!r}")


def to_path(path: str | os.PathLike[str]) -> bytes:
    return os.fsencode(path)


def is_missing(model: str | os.PathLike[str]) -> bool:
    """True if there is nothing at the path of a model, and no downloaded model of that name."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return not any(os.path.exists(path) for path in (model, os.path.join(data, "transmute", "models", os.fsdecode(model))))


def text_of(encoded: Optional[bytes]) -> str:
    """Pieces of byte_fallback may end within a character."""
    return (encoded or b"").decode(errors="replace")


def take_string(address: int) -> str:
    """The text that a function has returned, and frees it."""
    try:
        return text_of(ctypes.cast(address, c_char_p).value)
    finally:
        LIBRARY.string_free(address)


def call(function: Callable[..., Any], *arguments: Any) -> int:
    """Calls a function whose last argument is the error; raises what it stores there."""
    error = c_void_p()
    result = function(*arguments, ctypes.byref(error))
    if result:
        return int(result)
    kind = LIBRARY.error_kind()
    message = take_string(error.value) if error.value else "there is not enough memory"
    if kind == INVALID_ARGUMENT:
        for options in (argument for argument in arguments if isinstance(argument, CallOptions)):
            for name, name_of_caller in options.names.items():
                message = message.replace(name, name_of_caller)
        raise ValueError(message)
    if kind == NO_MEMORY:
        raise MemoryError(message)
    raise RuntimeError(message)


def cannot_be_pickled(what: str) -> TypeError:
    return TypeError(f"the {what} cannot be pickled; give the path of its model to the process, and open it there")


class Handle:
    """Something open in the library: closed when nobody uses it any more, so that calls in progress can end."""

    def __init__(self, address: int, close: Callable[[int], None], what: str) -> None:
        self._address, self._close, self._what, self._process = address, close, what, os.getpid()

    @property
    def address(self) -> int:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this {self._what} was opened before the process was forked, and its threads are in the parent; open it "
                "in the child, or start processes with multiprocessing's method \"spawn\""
            )
        if not self._address:  # the collector has ended this before something else that refers to it
            raise ValueError(f"the {self._what} is closed")
        return self._address

    def __reduce__(self) -> Any:
        raise cannot_be_pickled(self._what)

    def __del__(self) -> None:
        if os.getpid() == self._process:  # a forked process has none of the threads that closing waits for
            address, self._address = self._address, 0
            self._close(address)


def open_model(
    open_function: Callable[..., Any],
    close_function: Callable[[int], None],
    what: str,
    model: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    options: Dict[str, Any],
) -> Handle:
    """Opens a model, or an ensemble of several, with the fields of TranslatorOptions that are not None."""
    models = list(model) if isinstance(model, Iterable) and not isinstance(model, (str, os.PathLike)) else [model]
    if not models:
        raise ValueError("there is no model to open")
    opening = TranslatorOptions()
    LIBRARY.translator_options_init(ctypes.byref(opening), ctypes.sizeof(opening))
    for name, value in options.items():
        if value is not None:
            if name in ("shortlist", "reverse_model"):
                setattr(opening, name, to_path(value))
            else:
                set_field(opening, name, value, name)
    others = (c_char_p * (len(models) - 1))(*[to_path(path) for path in models[1:]])
    opening.ensemble, opening.ensemble_size = others, len(others)
    try:
        address = call(open_function, to_path(models[0]), ctypes.byref(opening))
    except RuntimeError as error:
        files = [*models, *(options.get(name) for name in ("shortlist", "reverse_model"))]
        if any(path not in (None, "none") and is_missing(path) for path in files):
            raise FileNotFoundError(str(error)) from None
        raise
    return Handle(address, close_function, what)
