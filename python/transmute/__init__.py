# SPDX-License-Identifier: Apache-2.0
"""Translation with Transformer models, without a compiler and without PyTorch.

>>> import transmute
>>> translator = transmute.Translator("runs/demo/model")
>>> translator.translate("Monday, March 3, 2025")
'Montag, 3. März 2025'

Translator     translates; also streams, scores, and works with asyncio
LanguageModel  continues and scores text
Tokenizer      text to pieces and back
TextEncoder    embeddings of texts
sentences()    cuts text into sentences
evaluate()     BLEU, chrF, chrF++ and TER

`python -m transmute translate --help` runs the programs, and transmute.ctranslate2 has CTranslate2's interface.
"""

from ._encoder import TextEncoder, TokenVectors
from ._library import LIBRARY as _LIBRARY
from ._metrics import Score, evaluate
from ._options import (
    BatchOptions, EncodingOptions, GenerationOptions, ScoringOptions, SearchOptions, TranslationOptions,
)  # fmt: skip
from ._results import Hypothesis, Translation, Warning, Word
from ._tokenizer import Tokenizer, sentences
from ._translator import LanguageModel, Translator

__version__: str = _LIBRARY.version().decode()

__all__ = [
    "BatchOptions",
    "EncodingOptions",
    "GenerationOptions",
    "Hypothesis",
    "LanguageModel",
    "Score",
    "ScoringOptions",
    "SearchOptions",
    "TextEncoder",
    "TokenVectors",
    "Tokenizer",
    "Translation",
    "TranslationOptions",
    "Translator",
    "Warning",
    "Word",
    "evaluate",
    "sentences",
]
