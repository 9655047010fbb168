"""Values among pairs of groups are those of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import gram
from mercer.gram import PairBlocks
from mercer.kernels import RBF, Laplacian
from tests.cases import table

X = table(60, 3)
GROUPS = [np.arange(0, 20), np.arange(20, 21), np.arange(21, 45), np.arange(45, 60)]


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Laplacian(gamma=0.2)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_pair(small_tiles, kernel, dtype):
    blocks = PairBlocks(gram(kernel, X, storage="blocked", dtype=dtype), GROUPS)
    for i in range(3):
        blocks.start(i)
        for j in range(i + 1, 4):
            index = np.concatenate([GROUPS[i], GROUPS[j]])
            values = blocks.matrix(i, j)
            assert values.dtype == dtype
            np.testing.assert_allclose(values, kernel(X[index]), rtol=2e-6, atol=1e-7)
            np.testing.assert_array_equal(values, values.T)


def test_a_group_is_started_first():
    blocks = PairBlocks(gram(RBF(gamma=0.5), X, storage="blocked"), GROUPS)
    blocks.start(0)
    with pytest.raises(ValueError, match="group 1 has not been started"):
        blocks.matrix(1, 2)


def test_bytes():
    assert PairBlocks.nbytes([2, 3], 4) == (4 + 9 + 3 * 5) * 4
