"""Kernels on strings equal their definitions, piece by piece, on any strings."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from mercer import check_kernel, gram
from mercer.kernels import Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.kernels.sequences import Sequences
from tests.compare import assert_close
from tests.kernels.everywhere import assert_works_everywhere

STRINGS = ["abracadabra", "", "a", "ab", "banana", "bab", "🙂🙃🙂", "Größe", "aaaa", "cab🙂"]
NEW = ["", "abba", "🙃🙂", "zebra", "banana", "größe"]


# ---------------------------------------------------------------- the definitions
def pieces(x, length):
    return [tuple(x[i : i + length]) for i in range(len(x) - length + 1)]


def spectrum(kernel, x, y):
    return sum(a == b for a, b in product(pieces(x, kernel.length), pieces(y, kernel.length)))


def differ(a, b):
    return sum(p != q for p, q in zip(a, b, strict=True))


def mismatch(kernel, x, y):
    """Run through all strings over an alphabet of the size that the kernel was bound to."""
    used = sorted(set(x) | set(y))
    letters = [*used, *(f"unused {i}" for i in range(kernel.alphabet_size - len(used)))]
    assert len(letters) == kernel.alphabet_size
    left, right = pieces(x, kernel.length), pieces(y, kernel.length)
    return sum(
        sum(differ(u, a) <= kernel.mismatches for a in left)
        * sum(differ(u, b) <= kernel.mismatches for b in right)
        for u in product(letters, repeat=kernel.length)
    )


def weighted_degree(kernel, x, y):
    """Run through all pairs of places that are near enough to each other."""
    D, total = kernel.degree, 0.0
    for d in range(1, D + 1):
        pairs = product(enumerate(pieces(x, d)), enumerate(pieces(y, d)))
        apart = [abs(i - j) for (i, a), (j, b) in pairs if a == b and abs(i - j) <= kernel.shift]
        shares = [1.0 if s == 0 else 1 / (2 * (s + 1)) for s in apart]
        total += 2 * (D - d + 1) / (D * (D + 1)) * sum(shares)
    return total


def subsequence(kernel, x, y):
    left = list(combinations(range(len(x)), kernel.length))
    right = list(combinations(range(len(y)), kernel.length))
    return sum(
        kernel.decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
        for i, j in product(left, right)
        if [x[p] for p in i] == [y[q] for q in j]
    )


DEFINITIONS = {Spectrum: spectrum, WeightedDegree: weighted_degree}
DEFINITIONS |= {Mismatch: mismatch, Subsequence: subsequence}
KERNELS = [
    Spectrum(1),
    Spectrum(2),
    Spectrum(4),
    WeightedDegree(1),
    WeightedDegree(3),
    WeightedDegree(20),
    WeightedDegree(2, shift=1),
    WeightedDegree(3, shift=30),
    Mismatch(1, 0, 14),
    Mismatch(2, 1, 14),
    Mismatch(3, 2, 14),
    Subsequence(1),
    Subsequence(2, 0.7),
    Subsequence(3, 1.0),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def by_definition(kernel, X, Y):
    value = DEFINITIONS[type(kernel)]
    return np.array([[value(kernel, x, y) for y in Y] for x in X], dtype=float)


# ---------------------------------------------------------------- values
@every_kernel
def test_values_are_those_of_the_definition(kernel, small_tiles):
    assert_close(kernel(STRINGS), by_definition(kernel, STRINGS, STRINGS))
    assert_close(kernel(NEW, STRINGS), by_definition(kernel, NEW, STRINGS))


@every_kernel
def test_the_diagonal_is_that_of_the_matrix(kernel):
    assert_close(kernel.diagonal(STRINGS), np.diagonal(kernel(STRINGS)))
    assert_close(kernel.bind(STRINGS).diagonal(NEW), np.diagonal(kernel.bind(STRINGS)(NEW)))


@pytest.mark.parametrize(("length", "mismatches"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)])
@pytest.mark.parametrize("letters", [2, 3, 4])
def test_mismatches_over_small_alphabets(length, mismatches, letters):
    rng = np.random.default_rng(length)
    X = [rng.integers(letters, size=size).tolist() for size in (1, 4, 7, 9)]
    kernel = Mismatch(length, mismatches, letters)
    definition = [[mismatch(kernel, x, y) for y in X] for x in X]
    assert_close(kernel(X), definition)


def test_the_letters_of_the_training_strings_are_counted():
    assert Mismatch().bind(["abc", "cde"]).alphabet_size == 5
    assert Mismatch().bind(["aaa"]).alphabet_size == 2
    whole = Mismatch().sample(["abc", "dd", "cd"])
    assert Mismatch().bind(whole[np.array([0, 2])]).alphabet_size == 4
    with pytest.raises(ValueError, match=r"alphabet_size must be at least .* 3; got 2"):
        Mismatch(2, 1, alphabet_size=2)(["abc"])


@every_kernel
def test_float32_is_right_to_its_precision(kernel):
    out = np.empty((len(STRINGS), len(STRINGS)), np.float32)
    assert_close(kernel.block(STRINGS, out=out), by_definition(kernel, STRINGS, STRINGS))


@every_kernel
def test_views_of_a_sample_give_its_values(kernel):
    sample = kernel.sample(STRINGS)
    bound, some = kernel.bind(sample), np.array([4, 0, 7, 1])
    wanted = bound(STRINGS)
    assert_close(bound.block_of(sample[some], sample[2:6]), wanted[np.ix_(some, range(2, 6))])
    assert_close(bound.diagonal_of(sample[some]), np.diagonal(wanted)[some])


@every_kernel
def test_matrices_are_positive_semidefinite(kernel):
    rng = np.random.default_rng(0)
    for _ in range(3):
        X = ["".join(rng.choice(list("ACGT"), size=rng.integers(12))) for _ in range(25)]
        assert check_kernel(kernel, X).ok


@pytest.mark.parametrize("shift", [1, 2, 3, 5, 8, 20, 60])
def test_shares_of_shifts_make_a_positive_definite_matrix_of_places(shift):
    shares = np.append(WeightedDegree(1, shift)._shares, np.zeros(200 - shift))
    apart = np.abs(np.subtract.outer(np.arange(150), np.arange(150)))
    assert np.linalg.eigvalsh(shares[apart]).min() >= 0.5  # the bound of Rogosinski and Szegő


def test_a_piece_that_moves_counts_for_its_share():
    motif, kernel = "tataat", WeightedDegree(6, shift=2)
    here, there, far = ("." * k + motif + "," * (9 - k) for k in (3, 5, 7))
    assert kernel([here], [there])[0, 0] > WeightedDegree(6)([here], [there])[0, 0]
    moved = [kernel([here.replace(".", " ")], [row])[0, 0] for row in (there, far)]
    assert moved[0] > moved[1]


@every_kernel
def test_machines_take_them_alone_and_in_expressions(kernel, tmp_path):
    assert_works_everywhere(kernel, STRINGS, tmp_path)


# ---------------------------------------------------------------- what a string may be
FORMS = {
    "lists of letters": [list(x) for x in STRINGS],
    "tuples": [tuple(x) for x in STRINGS],
    "an array": np.array(STRINGS),
    "code points": [[ord(letter) for letter in x] for x in STRINGS],
    "arrays of integers": [np.array([ord(letter) for letter in x], int) for x in STRINGS],
    "tokens": [[f"token {letter}" for letter in x] for x in STRINGS],
    "a mixture": [list(x) if i % 2 else x for i, x in enumerate(STRINGS)],
}


@pytest.mark.parametrize("X", FORMS.values(), ids=FORMS)
@every_kernel
def test_strings_come_in_any_form(kernel, X):
    assert_close(kernel(X), kernel(STRINGS))


def test_bytes_and_rows_of_integers_are_strings():
    assert_close(Spectrum(2)([b"abab", b"ba"]), Spectrum(2)(["abab", "ba"]))
    rows = np.array([[1, 2, 1], [2, 1, 2]])
    assert_close(Spectrum(2)(rows), [[2.0, 2.0], [2.0, 2.0]])


def test_tokens_have_the_same_code_in_every_process():
    # the first eight bytes of BLAKE2b, as another program would compute them
    digests = ("bef26892eeeb4cdc", "5793113e90ea3f27")
    codes = Sequences.of([["naïve", "kernel"]]).codes
    assert [code.astype("<i8").tobytes().hex() for code in codes] == [*digests]


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        (["abc", 3.5], "row 1 is 3.5, of type float"),
        (["abc", None], "row 1 is None"),
        (np.ones((3, 2)), "a table of 3 × 2 values of type float64"),
        (np.array([["a", "b"]]), "a table of 1 × 2"),
        (["abc", [1.5, 2.5]], "row 1 has 1.5, of type float"),
    ],
)
@pytest.mark.parametrize("kernel", [Spectrum(2), Subsequence()], ids=repr)
def test_what_is_no_string_is_refused(kernel, rows, got):
    with pytest.raises(TypeError, match=f"a string kernel takes texts.*{got}"):
        gram(kernel, rows)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(0),
        Spectrum(1.5),
        WeightedDegree(0),
        WeightedDegree(2, shift=-1),
        WeightedDegree(2, shift=0.5),
        Mismatch(3, -1),
        Mismatch(3, 1, 1),
        Mismatch(2, 2),
        Mismatch(2, 3),
        Subsequence(0),
        Subsequence(2, 0.0),
        Subsequence(2, 1.5),
    ],
    ids=repr,
)
def test_parameters_out_of_range_are_refused(kernel):
    with pytest.raises(ValueError, match=f"parameter of {type(kernel).__name__} must be"):
        kernel(STRINGS)


def test_integers_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=f"of at most 64 bits; row 1 has {2**63}"):
        Spectrum(1)([[1, 2**63 - 1], [2**63]])


# ---------------------------------------------------------------- long strings
def test_strings_of_a_hundred_thousand_letters():
    letters = np.random.default_rng(0).choice(list("ACGT"), size=100_000)
    x = "".join(letters)
    assert Spectrum(3)([x], [x[:3]])[0, 0] == sum(x.startswith(x[:3], i) for i in range(len(x)))
    assert WeightedDegree(1)([x])[0, 0] == pytest.approx(len(x))
    assert Spectrum(8)(["a" * 100_000])[0, 0] == (100_000.0 - 7) ** 2
