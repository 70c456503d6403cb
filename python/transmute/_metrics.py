# SPDX-License-Identifier: Apache-2.0
"""BLEU, chrF and TER."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Iterable, NamedTuple, Optional, Sequence, Union

from ._library import LIBRARY, MetricOptions, call, set_field, take_string, to_array, to_bytes
from ._options import listed
from ._running import Call

if TYPE_CHECKING:
    from typing_extensions import Literal


class Score(NamedTuple):
    """A score, and what must be reported with it. str() is what the program prints with --score-only.

    score      0 to 100; TER has no upper bound
    signature  in sacreBLEU's notation, such as BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|…
    """

    score: float
    signature: str

    def __str__(self) -> str:
        return f"{self.score:.2f}"


def evaluate(
    translations: Iterable[str],
    references: Union[Iterable[str], Sequence[Sequence[str]]],
    metric: "Literal['bleu', 'chrf', 'chrf++', 'ter']" = "bleu",
    *,
    tokenize: "Optional[Literal['13a', 'intl', 'zh', 'char', 'none']]" = None,
    smooth: "Optional[Literal['exp', 'floor', 'add-k', 'none']]" = None,
    smooth_value: Optional[float] = None,
    effective_order: bool = False,
    lowercase: bool = False,
    case_sensitive: bool = False,
    ter_normalize: bool = False,
    ter_no_punctuation: bool = False,
    ter_asian_support: bool = False,
) -> Score:
    """Scores translations against references: BLEU, chrF, chrF++ or TER, equal to sacreBLEU's.

    references  one for each translation; or a list of such lists, where a translation has several references

    The options are those of the program `evaluate`.

    >>> evaluate(["the cat sat"], ["the cat sat down"], "chrf").score
    """
    texts, sets = listed(translations, "translations"), listed(references, "references")  # type: ignore[arg-type]
    several = [list(each) for each in sets] if sets and not isinstance(sets[0], str) else [sets]
    for number, each in enumerate(several, 1):
        if len(each) != len(texts):
            raise ValueError(
                f"the numbers of translations ({len(texts)}) and references ({len(each)}, in list {number}) differ"
            )
    options = MetricOptions()
    LIBRARY.metric_options_init(ctypes.byref(options), ctypes.sizeof(options))
    for name, value, needed in (
        ("tokenize", tokenize, "bleu"), ("smooth", smooth, "bleu"), ("smooth_value", smooth_value, "bleu"),
        ("effective_order", effective_order, "bleu"), ("lowercase", lowercase, metric),
        ("case_sensitive", case_sensitive, "ter"), ("ter_normalize", ter_normalize, "ter"),
        ("ter_no_punctuation", ter_no_punctuation, "ter"), ("ter_asian_support", ter_asian_support, "ter"),
    ):  # fmt: skip
        if value is None or value is False:
            continue
        if metric != needed:
            raise ValueError(f"{name} has no effect without metric=\"{needed}\"")
        set_field(options, name, value, name)
    if smooth_value is not None and (smooth not in ("floor", "add-k") or smooth_value < 0):
        raise ValueError("smooth_value must be at least 0, and needs smooth=\"floor\" or \"add-k\"")
    score = ctypes.c_double()
    arguments = (
        to_bytes(metric, "metric"),
        to_array(texts, "translation"),
        len(texts),
        to_array([reference for each in several for reference in each], "reference"),
        len(several),
        ctypes.byref(options),
        ctypes.byref(score),
    )
    signature = Call().run(lambda: call(LIBRARY.evaluate, *arguments))
    return Score(score.value, take_string(signature))
