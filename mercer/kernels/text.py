"""Kernels of texts: the words that two texts share, and the angle between rows of counts."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import count_rows
from mercer._sklearn import StrOptions
from mercer.kernels.base import PSD
from mercer.kernels.counting import Counted, CountingKernel, places, with_values
from mercer.kernels.sample import Pair, Sample, squared_norms
from mercer.kernels.terms import term_counter
from mercer.kernels.vector import Linear, VectorKernel


class Cosine(VectorKernel):
    """Cosine kernel k(x, y) = x·y / (‖x‖ ‖y‖): alike in direction, whatever the lengths.

    A row of zeros has no direction: its values are 0. Sparse rows stay sparse.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    statistic = "inner"

    @property
    def definiteness(self) -> str:
        return PSD

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        Linear()._fill_normalized(pair, out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return Linear()._diagonal_normalized(X)


class Words(CountingKernel):
    """Words that two texts share: k(x, y) = Σ_w f_w(x) f_w(y) over the words of the training texts.

    f counts a word, or several in a row, in a text, weighted by ``weighting``. Which words count
    and what they weigh is decided by the training texts; words that these do not have are passed
    over. ``Words().normalized()`` is the cosine of the two texts, the usual choice.

    Parameters
    ----------
    ngram : (int, int), default=(1, 1)
        How many words in a row are taken as one: from the first number to the second.
    weighting : {"tfidf", "counts", "binary"}, default="tfidf"
        ``"counts"``: how often the word occurs. ``"binary"``: whether it does. ``"tfidf"``: counts
        times log((1 + n) / (1 + m)) + 1, for a word that m of n training texts have.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether to take words, or letters in a row, or those inside of words.
    lowercase : bool, default=True
        Whether capital letters are taken for small ones.
    sublinear : bool, default=False
        Whether a count c becomes 1 + log c.
    vocabulary : sequence of str, default=None
        The words that count; None takes those of the training texts.
    idf : array of shape (n_words,), default=None
        The weights of the words; None computes them from the training texts.

    Examples
    --------
    >>> from mercer.kernels import Words
    >>> Words(weighting="counts")(["to be or not to be"], ["be", "not to worry", "hello"])
    array([[2., 3., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ngram": [tuple, list],
        "weighting": [StrOptions({"tfidf", "counts", "binary"})],
        "analyzer": [StrOptions({"word", "char", "char_wb"})],
        "lowercase": ["boolean"],
        "sublinear": ["boolean"],
        "vocabulary": ["array-like", None],
        "idf": ["array-like", None],
    }

    def __init__(
        self,
        ngram: tuple[int, int] = (1, 1),
        weighting: str = "tfidf",
        *,
        analyzer: str = "word",
        lowercase: bool = True,
        sublinear: bool = False,
        vocabulary: Any = None,
        idf: Any = None,
    ):
        self.ngram = ngram
        self.weighting = weighting
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.sublinear = sublinear
        self.vocabulary = vocabulary
        self.idf = idf

    def check(self) -> None:
        """Raise if a parameter is out of its range."""
        super().check()
        given: tuple[Any, ...] = tuple(self.ngram)
        numbers = all(isinstance(n, Integral) and not isinstance(n, bool) for n in given)
        if not (numbers and len(given) == 2 and 1 <= given[0] <= given[1]):
            raise ValueError(
                f"ngram must be two integers, 1 ≤ least ≤ most, such as (1, 2); got {self.ngram!r}"
            )
        if self.idf is not None and (
            self.vocabulary is None or np.shape(self.idf) != (len(self.vocabulary),)
        ):
            raise ValueError("idf must hold one weight for each word of vocabulary")

    def check_pair(self, X: Sample, Y: Sample) -> None:
        for sample in (X, Y):
            sample.derive("texts", texts)

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        tried: dict[str, tuple[Any, ...]] = {}
        if self.analyzer == "word":
            tried["ngram"] = ((1, 1), (1, 2))
        if self.weighting != "binary":
            tried["sublinear"] = (False, True)
        return tried

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        found, rows = self._counted(X), X.derive("texts", texts).index
        counts = found.matrix[rows]
        having = _having(counts, np.ones(counts.shape[0]) if weights is None else weights)
        if self.vocabulary is None:
            bound: dict[str, Any] = {"vocabulary": found.keys[having > 0]}
        else:
            bound = {"vocabulary": np.array(self.vocabulary, dtype=object)}
        if self.weighting == "tfidf" and self.idf is None:
            place = places(bound["vocabulary"], found.keys)
            known = np.append(having, 0.0)[place]  # −1 is the last: words that no text has
            n = counts.shape[0] if weights is None else weights.sum()
            bound["idf"] = np.log((1.0 + n) / (1.0 + known)) + 1.0
        return bound

    def _counted(self, X: Sample) -> Counted:
        """Return the counts of all words, of the whole sample that X is from."""
        splitting = tuple(map(int, self.ngram)), self.analyzer, bool(self.lowercase)
        count = term_counter(*splitting).count
        return X.derive("texts", texts).summary(("words", *splitting), count)

    def _features(self, X: Sample) -> Sample:
        """Return the weighted counts by a bound kernel, a row for each text."""
        found = self._counted(X)
        weigh = lambda _: self._weigh(found.onto(self.vocabulary))  # noqa: E731
        return X.derive("texts", texts).derive(("features", self), weigh)

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        values = counts.data.astype(np.float64)
        if self.weighting == "binary":
            values[:] = 1.0
        elif self.sublinear:
            values = 1.0 + np.log(values)
        if self.weighting == "tfidf":
            values *= np.asarray(self.idf, dtype=np.float64)[counts.indices]
        return with_values(counts, values)

    def factors(self, X: Sample, Y: Sample) -> tuple[Sample, Sample]:
        return self._features(X), self._features(Y)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return squared_norms(self._features(X).data)


def _having(counts: sp.csr_array, weight: np.ndarray) -> np.ndarray:
    """Return how many texts have each word, texts counted by their weights."""
    weights = np.repeat(weight, np.diff(counts.indptr))
    return np.bincount(counts.indices, weights=weights, minlength=counts.shape[1])


def texts(data: Any) -> list[str]:
    """Return the rows of a sample as a list of texts, or say which row is none."""
    if getattr(data, "ndim", 1) != 1:
        shape = " × ".join(map(str, data.shape))
        raise TypeError(f"Words takes a list of texts, one for each row; got a table of {shape}")
    for i in range(count_rows(data)):
        if not isinstance(data[i], str):
            raise TypeError(
                f"Words takes a list of texts, one for each row; row {i} is {data[i]!r}, "
                f'of type {type(data[i]).__name__} (write "" for a text that is missing)'
            )
    return list(data)
