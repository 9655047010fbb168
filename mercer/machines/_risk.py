"""What the machines of the representer theorem share: f = Σ αᵢ k(·, xᵢ) minimises Σ wℓ + λ‖f‖²."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from mercer._array import parse_memory
from mercer._estimator import class_codes
from mercer._sklearn import Interval
from mercer.gram import Gram, gram
from mercer.kernels.sample import Sample
from mercer.machines._margin import MarginEstimator
from mercer.result import Certificate, Solution, Status


class RiskEstimator(MarginEstimator):
    """A machine with coefficients for the rows that take part, one column for each output."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MarginEstimator._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    lam: float
    fit_intercept: bool

    def _exact_gram(self, rows: Sample) -> Gram:
        """Return the training matrix in float64, held as an array if half of the budget allows."""
        budget = parse_memory(self.memory) // 2
        return gram(self.kernel_, rows, memory=budget, dtype=np.float64)

    def _classes(self, y: Any, weight: np.ndarray, class_weight: Any = None) -> tuple[Any, Any]:
        """Store the labels; return their codes and the weights, those of the classes included."""
        self.classes_, codes = class_codes(y)
        factors = compute_class_weight(class_weight, classes=self.classes_, y=y)
        weight = weight * factors[codes]
        missing = np.setdiff1d(np.arange(len(self.classes_)), codes[weight > 0])
        if len(missing):
            label = self.classes_.tolist()[missing[0]]
            raise ValueError(f"class {label!r} of y has only weights of zero")
        return codes, weight

    def _keep(self, sample: Sample, used: np.ndarray, solution: Solution) -> None:
        """Store α, of which rows without a part are left out, b and the proof."""
        support = np.flatnonzero(solution.value.any(axis=1))
        self._keep_support(sample, used[support])
        coefs, single = solution.value[support], solution.value.shape[1] == 1
        self.dual_coef_ = coefs[:, 0] if single else coefs
        self.intercept_ = float(solution.intercept[0]) if single else solution.intercept
        self.n_iter_ = max(1, int(solution.stats["steps"]))
        self._accept(solution)

    def _outputs(self, X: Any) -> np.ndarray:
        """Return f(x) + b, shape (m, t)."""
        check_is_fitted(self)
        columns = self.dual_coef_.reshape(len(self.support_), np.size(self.intercept_))
        return self._sums(X, columns) + self.intercept_

    def _decision(self, X: Any) -> np.ndarray:
        values = self._outputs(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def _labels(self, values: np.ndarray) -> np.ndarray:
        codes = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]


def used_rows(sample: Sample, weight: np.ndarray) -> tuple[Sample, np.ndarray]:
    """Return the rows whose weight is not 0, and their numbers."""
    used = np.flatnonzero(weight)
    return (sample if len(used) == len(sample) else sample[used]), used


def together(solutions: list[Solution]) -> Solution:
    """Return solutions of one column each as one, with a proof that speaks for all."""
    if len(solutions) == 1:
        return solutions[0]
    proofs = [s.certificate for s in solutions]
    worst = max(proofs, key=lambda c: (np.isnan(c.value), c.value))
    parts = dict(worst.parts)
    for name in ("primal", "dual", "gap", "steps"):
        parts[name] = sum(c.parts[name] for c in proofs)
    parts["worst"] = worst.about
    parts["problems"] = [{"about": c.about, "value": c.value, **c.parts} for c in proofs]
    about = f"{len(solutions)} problems, one class against the rest"
    return Solution(
        np.hstack([s.value for s in solutions]),
        next((s.status for s in solutions if not s.status.ok), Status.OPTIMAL),
        Certificate(worst.kind, worst.value, worst.tolerance, about, parts),
        intercept=np.concatenate([s.intercept for s in solutions]),
        stats={"steps": max(s.stats["steps"] for s in solutions)},
    )
