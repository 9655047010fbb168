"""The kernel of all substrings equals the sum over all of them, and does not run through them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import SVC, check_kernel
from mercer.io import ModelFileError
from mercer.kernels import Spectrum, Substring
from tests.compare import assert_close
from tests.kernels.everywhere import assert_works_everywhere

STRINGS = ["abracadabra", "", "a", "ab", "banana", "bab", "🙂🙃🙂", "Größe", "aaaa", "banana"]
NEW = ["", "abba", "🙃🙂", "zebra", "banana", "größe", "abracadabra abracadabra"]


def inverse(length):
    return 1.0 / length


KINDS = [
    (Substring(), lambda length: 1.0),
    (Substring(0.5), lambda length: 0.5**length),
    (Substring(1.0), lambda length: 1.0),
    (Substring(1), lambda length: float(length <= 1)),
    (Substring(3), lambda length: float(length <= 3)),
    (Substring(inverse), inverse),
    (Substring((0.0, 2.0)), lambda length: 2.0 * (length == 2)),
]
names = [repr(kernel) for kernel, _ in KINDS]
every_kernel = pytest.mark.parametrize(("kernel", "weight"), KINDS, ids=names)


def substrings(x):
    return Counter(tuple(x[i:j]) for i in range(len(x)) for j in range(i + 1, len(x) + 1))


def by_definition(weight, X, Y):
    left, right = ([substrings(x) for x in rows] for rows in (X, Y))
    value = lambda a, b: sum(weight(len(s)) * count * b[s] for s, count in a.items())  # noqa: E731
    return np.array([[value(a, b) for b in right] for a in left])


@every_kernel
def test_values_are_sums_over_all_substrings(kernel, weight, small_tiles):
    assert_close(kernel(STRINGS), by_definition(weight, STRINGS, STRINGS))
    assert_close(kernel(NEW, STRINGS), by_definition(weight, NEW, STRINGS))


@every_kernel
def test_the_diagonal_is_that_of_the_matrix(kernel, weight):
    assert_close(kernel.diagonal(NEW), np.diagonal(by_definition(weight, NEW, NEW)))


texts = st.lists(st.text(alphabet="ab🙂", max_size=9), min_size=1, max_size=6)


@given(texts, texts, st.sampled_from(KINDS))
def test_any_strings(X, Y, kind):
    kernel, weight = kind
    assert_close(kernel(X), by_definition(weight, X, X))
    assert_close(kernel(X, Y), by_definition(weight, X, Y))


def test_views_of_a_sample_give_its_values():
    kernel = Substring(0.5)
    sample, some = kernel.sample(STRINGS), np.array([4, 0, 7, 1])
    wanted = kernel(STRINGS)
    assert_close(kernel.block_of(sample[some], sample[2:6]), wanted[np.ix_(some, range(2, 6))])
    assert_close(kernel.diagonal_of(sample[some]), np.diagonal(wanted)[some])


def test_a_length_is_no_decay():
    assert Substring(1) != Substring(1.0)
    assert Substring(1) == Substring(np.int64(1)) != Spectrum(1)
    sample = Substring().sample(STRINGS)
    one, all_lengths = (Substring(w).block_of(sample, sample) for w in (1, 1.0))
    assert not np.array_equal(one, all_lengths)


def test_a_greatest_length_is_the_sum_of_spectra():
    X = ["".join(np.random.default_rng(i).choice(list("ACGT"), size=200)) for i in range(5)]
    assert_close(Substring(4)(X), sum(Spectrum(length)(X) for length in range(1, 5)))


def test_tokens_and_integers_are_letters():
    tokens = [[f"token {letter}" for letter in x] for x in STRINGS]
    codes = [[ord(letter) for letter in x] for x in STRINGS]
    for rows in (tokens, codes):
        assert_close(Substring(0.5)(rows), Substring(0.5)(STRINGS))
    assert_close(Substring()([[-5, 10**18], [10**18]]), [[3.0, 1.0], [1.0, 1.0]])


@every_kernel
def test_matrices_are_positive_semidefinite(kernel, weight):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size=rng.integers(15))) for _ in range(30)]
    assert check_kernel(kernel, X).ok


@pytest.mark.parametrize("weights", [None, 0.5, 3, [1.0, 0.5]])
def test_machines_take_them_alone_and_in_expressions(weights, tmp_path):
    assert_works_everywhere(Substring(weights), STRINGS, tmp_path)


def test_a_function_is_not_saved(tmp_path):
    model = SVC(Substring(inverse)).fit(STRINGS, [0, 1] * 5)
    with pytest.raises(ModelFileError, match="a file holds no code"):
        mercer.save(model, tmp_path / "model.mercer")


# ---------------------------------------------------------------- long strings
def test_strings_of_a_hundred_thousand_letters():
    n = 100_000
    x = "".join(np.random.default_rng(0).choice(list("ACGT"), size=n))
    once, alike = Substring()([x, "A" * n], ["G", "A" * n])
    assert once[0] == x.count("G")
    assert alike[0] == 0.0
    # of l letters the string has n − l + 1 pieces, which are all the same
    assert alike[1] == pytest.approx(n * (n + 1) * (2 * n + 1) / 6, rel=1e-12)


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize("weights", [0, -1, 0.0, 1.5, "much", -0.5])
def test_weights_out_of_range_are_refused(weights):
    with pytest.raises(ValueError, match="'weights' parameter of Substring must be"):
        Substring(weights)(STRINGS)


@pytest.mark.parametrize(
    "weights",
    [[1.0, -1.0], lambda length: -1.0, lambda length: np.inf],
    ids=["a list", "negative", "infinite"],
)
def test_weights_that_are_no_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be finite and ≥ 0"):
        Substring(weights)(STRINGS)


def test_what_is_no_string_is_refused():
    with pytest.raises(TypeError, match=r"a string kernel takes texts.*row 1 is 3\.5"):
        Substring()(["abc", 3.5])
