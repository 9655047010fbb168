"""Pictures of an evaluation show its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import plot
from mercer.assess import evaluate

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 80)
SCORES = RNG.dirichlet(np.ones(3), 80) * 0.6 + 0.4 * np.eye(3)[Y]
THREE = evaluate(Y, SCORES.argmax(axis=1), SCORES)
TWO = evaluate(Y > 0, SCORES[:, 0] < 0.5, 1 - SCORES[:, 0])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_classes_have_three_pictures():
    axes = THREE.plot()
    assert len(axes) == 3
    assert len(axes[0].figure.axes) == 3
    texts = [int(t.get_text()) for t in axes[0].texts]
    np.testing.assert_array_equal(np.reshape(texts, (3, 3)), THREE.confusion)
    curves = axes[1].lines[1:]
    for line, curve in zip(curves, THREE.roc, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.fpr)
        np.testing.assert_array_equal(line.get_ydata(), curve.tpr)
    heights = [bar.get_height() for bar in axes[2].patches]
    assert sum(heights) == pytest.approx(1.0)
    used = THREE.calibration.weight > 0
    np.testing.assert_array_equal(axes[2].lines[1].get_ydata(), THREE.calibration.observed[used])
    plt.gcf().canvas.draw()


def test_without_scores_there_is_one_picture():
    assert len(evaluate(Y, Y).plot()) == 1
    margins = evaluate(Y > 0, Y > 0, 10 * SCORES[:, 1])
    assert len(margins.plot()) == 2  # decision values have no calibration


def test_two_classes_have_one_curve_with_its_area():
    axes = TWO.plot()
    (text,) = axes[1].get_legend().get_texts()
    assert text.get_text() == f"True, area {TWO.auc:.4g}"


def test_numbers_have_residuals():
    y = RNG.normal(size=50)
    found = evaluate(y, 0.8 * y)
    axes = found.plot()
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), y)
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), found.residuals)


def test_given_axes_are_drawn_on():
    _, axes = plt.subplots(1, 3)
    assert THREE.plot(axes)[1] is axes[1]
    with pytest.raises(ValueError, match="axes must hold 3 Axes"):
        THREE.plot(axes[:2])


def test_pictures_can_be_drawn_one_by_one():
    assert plot.confusion([[3, 1], [0, 2]], ["a", "b"]).get_ylabel() == "true"
    assert plot.roc({"mine": TWO.roc}).get_xlabel() == "false positive rate"
    assert plot.calibration(TWO.calibration).get_ylabel() == "observed share"


def test_many_classes_are_drawn_without_numbers():
    many = np.eye(40)
    assert len(plot.confusion(many, np.arange(40)).texts) == 0
