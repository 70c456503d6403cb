# SPDX-License-Identifier: Apache-2.0
"""Translation models and language models."""

from __future__ import annotations

import ctypes
import itertools
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional, Sequence, TypeVar, Union, overload

from ._library import LIBRARY, DocumentOptions, Handle, call, open_model, to_array, to_bytes, to_path
from ._options import (
    GenerationOptions, ScoringOptions, TranslationOptions, blocks, generation_options, listed, repeatable,
    translation_options,
)  # fmt: skip
from ._results import Hypothesis, Translation, best_texts, hypotheses, translations
from ._running import Call, stream
from ._tokenizer import Span, Tokenizer, sentence_spans

if TYPE_CHECKING:
    from typing_extensions import Literal, Self, Unpack

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
Device = str
Precision = Optional["Literal['float32', 'bfloat16', 'int8', 'half']"]
OnProgress = Optional[Callable[[int, int], None]]


class _Model:
    """What translation models and language models have in common."""

    _handle: Optional[Handle]

    def close(self) -> None:
        """Frees the model's memory, after the calls in progress."""
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Handle:
        if self._handle is None:
            raise ValueError("the model is closed")
        return self._handle


class Translator(_Model):
    """A translation model.

    >>> translator = Translator("runs/demo/model")
    >>> translator.translate("Monday, March 3, 2025")
    'Montag, 3. März 2025'

    model      a folder written by `train`, or a model of Marian, CTranslate2 or Hugging Face; a list of several with the
               same tokenizer is an ensemble
    precision  of matrix products: "float32", "bfloat16", "int8" (CPUs) or "half" (GPUs). By default the format in which
               the model is stored if the device is fast at it, otherwise float32
    threads    worker threads on the CPU; 0: one per core
    device     "cpu", "cuda", "cuda:N" or "auto". GPUs need the library libtransmute_torch
    shortlist  a table written by `make_shortlist`, or "none"; default: the model's own, if any
    rerank     a model of the opposite direction, which helps to choose among several translations
    listed_pieces  whether texts, prefixes and translations are lists of the vocabulary's pieces with spaces between them,
               languages included, for programs with a tokenizer of their own

    Any number of threads may use a translator at once; they share its worker threads. A forked process must open its
    own. Errors are ValueError for mistakes of the caller, FileNotFoundError, MemoryError, and RuntimeError for the rest,
    such as a damaged file.
    """

    def __init__(
        self,
        model: Union[Path, Sequence[Path]],
        *,
        precision: Precision = None,
        threads: int = 0,
        device: Device = "cpu",
        shortlist: Optional[Path] = None,
        shortlist_best: Optional[int] = None,
        shortlist_frequent: Optional[int] = None,
        rerank: Optional[Path] = None,
        listed_pieces: bool = False,
    ) -> None:
        self._handle = open_model(
            LIBRARY.open,
            LIBRARY.close,
            "translator",
            model,
            {
                "precision": precision,
                "threads": threads,
                "device": device,
                "shortlist": shortlist,
                "shortlist_best": shortlist_best,
                "shortlist_frequent": shortlist_frequent,
                "reverse_model": rerank,
                "listed_pieces": int(listed_pieces),
            },
        )
        self._reranks = rerank is not None

    @overload
    def translate(  # type: ignore[overload-overlap] # a str is an iterable of str too
        self, text: str, *, on_progress: OnProgress = None, **options: Unpack[TranslationOptions]
    ) -> str: ...

    @overload
    def translate(
        self, text: Iterable[str], *, on_progress: OnProgress = None, **options: Unpack[TranslationOptions]
    ) -> List[str]: ...

    def translate(
        self,
        text: Union[str, Iterable[str]],
        *,
        on_progress: OnProgress = None,
        **options: Unpack[TranslationOptions],
    ) -> Union[str, List[str]]:
        """Translates a text, or several: a str gives a str, a list or other iterable of str a list of str.

        The options are those of the program `translate`, see TranslationOptions. on_progress(done, total) is called
        after each finished text. Without options the result is what the program writes.
        """
        running = Call(on_progress=on_progress)
        given = [text] if isinstance(text, str) else listed(text)
        found = running.run(lambda: self._translate(given, options, running, _best))
        return found[0] if isinstance(text, str) else found

    def translate_batch(
        self, texts: Iterable[str], *, on_progress: OnProgress = None, **options: Unpack[TranslationOptions]
    ) -> List[Translation]:
        """Translates texts, and returns all that is known of each: n_best hypotheses with their scores, tokens,
        alignment and confidence, and warnings about what looks wrong.

        >>> found = translator.translate_batch(["9 hours"], n_best=2, alignment="words")[0]
        >>> found.text, found.best.score, found.best.word_alignment
        """
        running, given = Call(on_progress=on_progress), listed(texts)
        return running.run(lambda: self._translate(given, options, running, translations))

    def translate_iterable(
        self, texts: Iterable[str], *, block: int = 4096, **options: Unpack[TranslationOptions]
    ) -> Iterator[str]:
        """Translates texts as they come, `block` at a time, so that memory does not grow with their number.

        >>> with open("news.en") as lines:
        ...     for translation in translator.translate_iterable(line.rstrip("\\n") for line in lines):
        ...         print(translation)
        """
        if isinstance(texts, str):
            raise TypeError("the texts must be an iterable of str, not a single str")
        if block < 1:
            raise ValueError(f"block must be at least 1, not {block}")
        prefix: Any = options.pop("target_prefix", None)
        several, given = not isinstance(prefix, (str, type(None))), repeatable(options)
        for some, each in blocks(texts, prefix if several else itertools.repeat(prefix), several, block):
            yield from self.translate(some, target_prefix=each if several else prefix, **given)

    def translate_document(
        self,
        path: Path,
        output: Path,
        *,
        format: Optional[str] = None,
        retranslate: bool = False,
        on_progress: OnProgress = None,
        **options: Unpack[TranslationOptions],
    ) -> None:
        """Translates a document, such as a Word file, and keeps everything but its text.

        >>> translator.translate_document("report.docx", "bericht.docx")

        format       such as "docx"; by default the ending of the path tells it
        retranslate  also translates the entries of a catalog that have a translation

        The output appears under its name when it is complete.
        """
        running, handle = Call(on_progress=on_progress), self._open()
        if options.get("target_prefix") is not None:
            raise ValueError("target_prefix is not for documents")
        _check_best(options)
        filled, _ = translation_options(handle, options, 0, reranks=self._reranks)
        running.attach(filled)
        document = DocumentOptions()
        LIBRARY.document_options_init(ctypes.byref(document), ctypes.sizeof(document))
        document.format = None if format is None else to_bytes(format, "format")
        document.retranslate = int(retranslate)
        files = to_path(path), to_path(output)
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {os.fspath(path)}")
        arguments = *files, ctypes.byref(document), filled
        running.run(lambda: call(LIBRARY.translate_document, handle.address, *arguments))

    def stream(self, text: str, **options: Unpack[TranslationOptions]) -> Iterator[str]:
        """Yields the translation of a text in parts, each as soon as it can no longer change. Nothing is searched for
        again, nor reranked: joined, the parts are the translation with guard="warn" and rerank_candidates=0. The
        translation of a text with protected spans (see the option protect) is one part. What is abandoned stops.

        >>> for part in translator.stream("9 hours, 30 minutes"):
        ...     print(part, end="", flush=True)
        """
        handle = self._open()
        options.setdefault("rerank_candidates", 0)  # what was yielded cannot be chosen any more
        return stream(handle, lambda running: self._translate([text], options, running, _best)[0])

    @overload
    async def atranslate(  # type: ignore[overload-overlap]
        self, text: str, **options: Unpack[TranslationOptions]
    ) -> str: ...

    @overload
    async def atranslate(self, text: Iterable[str], **options: Unpack[TranslationOptions]) -> List[str]: ...

    async def atranslate(
        self, text: Union[str, Iterable[str]], **options: Unpack[TranslationOptions]
    ) -> Union[str, List[str]]:
        """translate() for asyncio: the event loop continues meanwhile, and cancelling the task stops the translation.
        Several at once share the model's threads and batches."""
        running = Call()
        single = isinstance(text, str)
        given = [text] if isinstance(text, str) else listed(text)
        found = await running.run_async(lambda: self._translate(given, options, running, _best))
        return found[0] if single else found

    @overload
    def score(  # type: ignore[overload-overlap]
        self, source: str, target: str, **options: Unpack[ScoringOptions]
    ) -> Hypothesis: ...

    @overload
    def score(
        self, source: Iterable[str], target: Iterable[str], **options: Unpack[ScoringOptions]
    ) -> List[Hypothesis]: ...

    def score(
        self,
        source: Union[str, Iterable[str]],
        target: Union[str, Iterable[str]],
        **options: Unpack[ScoringOptions],
    ) -> Union[Hypothesis, List[Hypothesis]]:
        """Scores a given translation: its tokens, their log-probabilities and, with alignment="tokens", their
        alignment. Two lists give a list. The options are those of ScoringOptions."""
        if isinstance(source, str) != isinstance(target, str):
            raise TypeError("source and target must both be str, or both lists of str")
        if isinstance(source, str) and isinstance(target, str):
            return self._score([source], [target], options)[0]
        return self._score(listed(source, "sources"), listed(target, "targets"), options)

    def sentences(self, text: str, language: str = "") -> List[str]:
        """The sentences of a text as this model translates them: it knows abbreviations from its training text."""
        return [text[span[0] : span[1]] for span in self.sentence_spans(text, language)]

    def sentence_spans(self, text: str, language: str = "") -> List[Span]:
        """The first character of each sentence and the one after its last."""
        return sentence_spans(self._open().address, text, language)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return Tokenizer._of(self._open())

    def _translate(
        self,
        texts: List[str],
        options: TranslationOptions,
        running: Call,
        copied: Callable[[int, List[str], Any], List[T]],
    ) -> List[T]:
        handle = self._open()
        if copied is _best:
            _check_best(options)
        filled, wanted = translation_options(handle, options, len(texts), reranks=self._reranks)
        running.attach(filled)
        result = call(LIBRARY.translate, handle.address, to_array(texts), len(texts), filled)
        return copied(result, texts, wanted)

    def _score(self, sources: List[str], targets: List[str], options: ScoringOptions) -> List[Hypothesis]:
        if len(sources) != len(targets):
            raise ValueError(f"the numbers of targets ({len(targets)}) and sources ({len(sources)}) differ")
        handle, running = self._open(), Call()
        filled, wanted = translation_options(handle, options, len(sources), known=ScoringOptions)
        if wanted.word_alignment:
            raise ValueError("score gives the alignment of tokens, not that of words; use alignment=\"tokens\"")
        running.attach(filled)
        arguments = to_array(sources, "source"), to_array(targets, "target"), len(sources), filled
        return hypotheses(running.run(lambda: call(LIBRARY.score, handle.address, *arguments)), wanted)


class LanguageModel(_Model):
    """A language model, trained with model.architecture: decoder_only.

    >>> model = LanguageModel("runs/demo_language_model/model")
    >>> model.generate("Montag,", seed=7)
    >>> model.score("Montag, 14:25").log_probability

    The arguments are those of Translator.
    """

    def __init__(
        self,
        model: Union[Path, Sequence[Path]],
        *,
        precision: Precision = None,
        threads: int = 0,
        device: Device = "cpu",
    ) -> None:
        options = {"precision": precision, "threads": threads, "device": device}
        self._handle = open_model(
            LIBRARY.open_language_model, LIBRARY.close_language_model, "language model", model, options
        )

    @overload
    def generate(  # type: ignore[overload-overlap]
        self, prompt: str = "", **options: Unpack[GenerationOptions]
    ) -> str: ...

    @overload
    def generate(self, prompt: Iterable[str], **options: Unpack[GenerationOptions]) -> List[str]: ...

    def generate(
        self, prompt: Union[str, Iterable[str]] = "", **options: Unpack[GenerationOptions]
    ) -> Union[str, List[str]]:
        """Continues a prompt, or several; each text begins with its prompt. Tokens are sampled from the model's
        distribution; beam_size searches for the most probable text instead."""
        running = Call()
        given = [prompt] if isinstance(prompt, str) else listed(prompt, "prompts")
        found = running.run(lambda: self._generate(given, options, running, _best))
        return found[0] if isinstance(prompt, str) else found

    def generate_batch(self, prompts: Iterable[str], **options: Unpack[GenerationOptions]) -> List[Translation]:
        """The same with n_best hypotheses, tokens and scores."""
        running, given = Call(), listed(prompts, "prompts")
        return running.run(lambda: self._generate(given, options, running, translations))

    def stream(self, prompt: str = "", **options: Unpack[GenerationOptions]) -> Iterator[str]:
        """Yields the text in parts as it is generated, the prompt included."""
        return stream(self._open(), lambda running: self._generate([prompt], options, running, _best)[0])

    @overload
    def score(self, text: str) -> Hypothesis: ...  # type: ignore[overload-overlap]

    @overload
    def score(self, text: Iterable[str]) -> List[Hypothesis]: ...

    def score(self, text: Union[str, Iterable[str]]) -> Union[Hypothesis, List[Hypothesis]]:
        """The tokens of a text and their log-probabilities. A list gives a list."""
        handle, running = self._open(), Call()
        given = [text] if isinstance(text, str) else listed(text)
        filled, wanted = generation_options({}, len(given))
        running.attach(filled)
        arguments = to_array(given), len(given), filled
        found = hypotheses(running.run(lambda: call(LIBRARY.score_texts, handle.address, *arguments)), wanted)
        return found[0] if isinstance(text, str) else found

    def _generate(
        self,
        prompts: List[str],
        options: GenerationOptions,
        running: Call,
        copied: Callable[[int, List[str], Any], List[T]],
    ) -> List[T]:
        handle = self._open()
        filled, wanted = generation_options(options, len(prompts))
        running.attach(filled)
        result = call(LIBRARY.generate, handle.address, to_array(prompts, "prompt"), len(prompts), filled)
        return copied(result, prompts, wanted)


def _check_best(options: TranslationOptions) -> None:
    """Refuses what is of no use where the text of the best hypothesis is all that is returned."""
    if (options.get("n_best") or 1) > 1:
        raise ValueError("n_best has no effect here: translate_batch returns several hypotheses")
    if options.get("alignment") not in (None, "none"):
        raise ValueError("alignment has no effect here: translate_batch returns alignments")


def _best(result: int, _texts: List[str], _wanted: Any) -> List[str]:
    return best_texts(result)
