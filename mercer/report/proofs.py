"""What a certificate proves, in a sentence for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from mercer._display import four_digits
from mercer.report.study import Proof
from mercer.result import Certificate, Status

Words = Callable[[Certificate], str]

UNPROVED = "no proof came with this model: {} does not check its own fit"


def explain(model: Any, before: Any = ()) -> Proof:
    """Return the proof of a fitted estimator; ``before`` are the steps whose output it saw."""
    found, rows = _certificate(model), tuple(_rows(model, before))
    if found is None:
        return Proof(UNPROVED.format(type(model).__name__), False, rows)
    name = str(getattr(model, "status_", "")).upper()
    status = Status[name] if name in Status.__members__ else None
    ok = found.ok and (status is None or status.ok)
    sentence = sentence_of(found) if ok else _failure(found, status)
    said = [sentence, *_restriction(found), *_approximations(before)]
    return Proof("; ".join(said), ok, rows)


def _certificate(step: Any) -> Certificate | None:
    found = getattr(step, "certificate_", None)
    return found if isinstance(found, Certificate) else None


def sentence_of(certificate: Certificate) -> str:
    """Return what a certificate that holds proves."""
    return SENTENCES.get(certificate.kind, _plain)(certificate)


FEASIBLE = "relative gap, pair violation"
"""Here the gap is a bound on the objective even where the other figure is too large."""


def _failure(certificate: Certificate, status: Status | None) -> str:
    if math.isnan(certificate.value) and certificate.kind != "global optimum":
        why = f"; {status.advice}" if status is not None and not status.ok else ""
        return f"not proved: the figures of a proof ({certificate.kind}) were not computed{why}"
    figures = f"{certificate.kind} {_size(certificate.value)}"
    sentence = f"not proved: {figures}, and {_size(certificate.tolerance)} was allowed"
    if certificate.ok:  # within the tolerance, and yet something is wrong
        sentence = f"not proved: {figures}"
    if certificate.kind == FEASIBLE and status is not Status.INDEFINITE:
        gap = _percent(_relative_gap(certificate))
        sentence += f"; yet the objective is within {gap} of its best possible value"
    if certificate.kind == "global optimum":
        sentence = "not proved: of this problem only a stationary point is known, not the optimum"
    if status is None or status is Status.OPTIMAL:
        return sentence
    return f"{sentence}; {status.advice}"


def _restriction(found: Certificate) -> Iterator[str]:
    """Yield what functions beyond the span of landmarks could gain, and whether that is proved."""
    gap = found.parts.get("restriction_gap")
    if not isinstance(gap, float):
        return
    span = f"this is among functions of {found.parts['landmarks']:,} landmarks"
    if found.parts["restriction"] == "estimate":
        high = _percent(min(found.parts["restriction_high"], 1.0))
        yield f"{span}: others could lower the objective by up to {high} (estimated, not proved)"
    else:
        yield f"{span}: others could lower the objective by at most {_percent(min(gap, 1.0))}"


def _approximations(before: Any) -> Iterator[str]:
    """Yield how far the problem that was solved is from the one that was meant."""
    for found in filter(None, map(_certificate, before)):
        parts = found.parts
        if found.kind == "landmark residual" and parts.get("trace_error", 0.0) > 0.0:
            yield (
                f"this is of the problem with a kernel that {parts['landmarks']:,} landmarks "
                f"approximate: they miss {_percent(parts['trace_error'])} of its trace"
            )
        if found.kind == "kernel error":
            yield (
                f"this is of the problem with a kernel that random features approximate: its "
                f"values are off by {_size(parts.get('rms_error', math.nan))} (root mean square)"
            )


def _rows(model: Any, before: Any) -> Iterator[tuple[str, str]]:
    """Yield the figures of the estimator, then those of the steps before it."""
    yield "estimator", type(model).__name__
    if hasattr(model, "status_"):
        yield "status", str(model.status_)
    for step in (model, *before):
        found, prefix = _certificate(step), "" if step is model else f"{type(step).__name__}: "
        if found is not None and found.about:
            yield f"{prefix}claim", found.about
        if found is not None:
            yield from ((prefix + name, text) for name, text in found.rows())


# ---------------------------------------------------------------- one sentence for each kind
def _gap(certificate: Certificate) -> str:
    """The distance of an upper and a lower bound."""
    gap = _percent(_relative_gap(certificate))
    return (
        f"the optimum is known to within {gap} of the best possible value of the training objective"
    )


def _relative_gap(certificate: Certificate) -> float:
    """Return the gap; of several problems the largest, which need not be that of the worst."""
    several = certificate.parts.get("problems", [certificate.parts])
    return max(float(parts.get("relative_gap", certificate.value)) for parts in several)


def _gradient(certificate: Certificate) -> str:
    """A gradient of 0: the optimum of a convex problem, else a place that is flat."""
    size = _percent(certificate.value)
    if "no global guarantee" in certificate.about or "local" in certificate.about:
        return (
            f"a stationary point: the gradient of the training objective has shrunk to {size}; "
            f"there is no global guarantee, and other starts may end elsewhere"
        )
    return (
        f"the optimum: the gradient of the training objective is 0 to within {size}, and a convex "
        f"function has no other such point"
    )


def _perceptron(certificate: Certificate) -> str:
    bound = certificate.parts.get("bound", float("inf"))
    sentence = "every training row is on the right side"
    if bound < float("inf"):
        updates = certificate.parts.get("updates", 0)
        sentence += f", after {updates} updates; the theorem allows at most {four_digits(bound)}"
    return sentence


def _adaboost(certificate: Certificate) -> str:
    error, bound = certificate.value, certificate.parts.get("bound", 1.0)
    sentence = f"{_decimal(100 * error)} % of the training rows are predicted wrongly"
    if bound < 1.0:
        return f"{sentence}; the theorem promised at most {_percent(bound)}"
    return f"{sentence}; the bound of the theorem is not below 100 % and says nothing here"


def _says(text: str) -> Words:
    """Return a sentence with the value in place of {} (as a share) or {size}."""
    return lambda c: text.format(_percent(c.value), size=_size(c.value))


def _plain(certificate: Certificate) -> str:
    about = f" ({certificate.about})" if certificate.about else ""
    return (
        f"{certificate.kind} {_size(certificate.value)}, within the tolerance "
        f"{_size(certificate.tolerance)}{about}"
    )


_STATIONARY = (
    "a stationary point to within {size}: no better nearby; there is no global guarantee, and "
    "other starts may differ"
)
_EIGEN = "the directions solve their eigenvalue problem to within {} of the largest eigenvalue"
_SETTLED = (
    "every row lies with its nearest centre, a local optimum; there is no global guarantee, and "
    "other starts may differ"
)

SENTENCES: dict[str, Words] = {
    "relative duality gap": _gap,
    "relative gap": _gap,
    "relative gap, pair violation": _gap,
    "relative gap, infeasibility": _gap,
    "relative gradient": _gradient,
    "error and relative gradient": _gradient,
    "relative decrement": _says(
        "the optimum for the last part of the rows and a parabola for those before, to within a "
        "relative Newton decrement of {size}; it is not proved for all rows together"
    ),
    "gradient norm": _says(_STATIONARY),  # of any function: nothing is known of convexity
    "generalised gradient norm": _says(_STATIONARY),
    "stationarity": _says(_STATIONARY),
    "optimality residual": _says(_STATIONARY),
    "gain of one more step": _says(
        "a local optimum: one more step would gain {size} of log-likelihood; no better nearby, and "
        "other starts may differ"
    ),
    "training mistakes": _perceptron,
    "training error": _adaboost,
    "relative residual": _says(
        "the exact solution: its linear equations hold to within {} of the targets, so that no "
        "other coefficients do better"
    ),
    "cosine": _says(
        "the exact least squares fit: what is left over is orthogonal to the columns to within {}"
    ),
    "eigen residual": _says(_EIGEN),
    "eigen residual, share that would move": _says(f"{_EIGEN}; {_SETTLED}"),
    "share that would move": _says(_SETTLED),
    "moment residual": _says(
        "the maximum of the likelihood: means and covariances are those of the data to within {}"
    ),
    "rank error": _says(
        "the neighbours are the nearest ones: distances computed afresh agree to within {}"
    ),
    "landmark residual": _says(
        "the map reproduces the kernel on its landmarks to within {}; elsewhere it approximates it"
    ),
    "Gram error": _says("the map reproduces the kernel to within {}"),
    "kernel error": _says("kernel values are off by {size} at most, as promised"),
    "distortion": _says("distances are off by {} at most, as promised"),
    "whitening error": _says("the columns are uncorrelated with variance 1 to within {}"),
    "KKT residual": _says("the conditions of optimality hold to within {size}"),
    "contradiction": _says("no point satisfies all constraints: a contradiction was found"),
    "ray": _says("the function falls without end: a direction was found along which it does"),
    "relative error of the gradient": _says("the gradient agrees with differences to within {}"),
    # never within its tolerance: the sentence is that of a failure
    "global optimum": _says("only a stationary point is known"),
}
"""Kind of certificate: what it means if it holds."""


# ---------------------------------------------------------------- figures
def _percent(bound: float) -> str:
    """Return an upper bound in percent, rounded up; nobody reads more than a few zeros."""
    percent = 100.0 * max(bound, 1e-9)
    unit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{_decimal(math.ceil(percent / unit * (1.0 - 1e-12)) * unit)} %"


def _decimal(value: float) -> str:
    """Return two significant digits without an exponent."""
    return f"{float(f'{value:.2g}'):.12f}".rstrip("0").rstrip(".")


def _size(value: float) -> str:
    return f"{value:.2g}"
