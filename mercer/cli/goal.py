"""What a model is judged by: the metric, the positive class, and what is asked of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._words import listing, percent, quoted
from mercer.assess.metrics import METRICS, RARE, Metric
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.options import chosen
from mercer.cli.problem import TableProblem
from mercer.cli.recipes import RECIPES
from mercer.cli.scorers import scorer_of
from mercer.cv_results import Trials
from mercer.meta import TRANSFORMS

OPTIONS = {
    "classify": {
        "accuracy": "accuracy",
        "balanced-accuracy": "uar",
        "auc": "auc",
        "f1": "f1",
        "average-precision": "average_precision",
        "log-loss": "log_loss",
        "brier": "brier",
    },
    "regress": {
        "r2": "r2",
        "rmse": "rmse",
        "mae": "mae",
        "median-error": "median_error",
        "mape": "mape",
        "rmsle": "rmsle",
    },
}
"""The metrics by what the command calls them."""

USUAL = {"classify": "accuracy", "regress": "r2"}
OF_PROBABILITIES = ("log_loss", "brier")
OF_RANKING = ("auc", "average_precision")
LEAST_TARGET = {"mape": (0.0, "above 0"), "rmsle": (-np.finfo(float).tiny, "of 0 or more")}
CLASS_WEIGHTS = ("none", "balanced")
CLEARLY_RARER = 0.4  # share of the rows below which the first class is the one that is looked for


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line."""

    metric: str = "auto"
    positive: str | None = None
    class_weight: str = "none"
    threshold: str | None = None
    target_transform: str = "auto"
    extrapolate: bool = False


@dataclass(frozen=True, eq=False)
class Goal:
    """What a model is judged by, and what becomes of its answers.

    ``threshold`` is a probability, "auto", or None for the model's own answers; ``words`` say why
    this metric and this positive class were taken. ``insists`` says that a threshold was asked for:
    where a class is rare there is one anyway, since a model that ranks well may call no row so.
    """

    metric: Metric
    task: str
    classes: np.ndarray | None = None
    positive: Any = None
    rare: bool = False
    class_weight: str = "none"
    threshold: float | str | None = None
    insists: bool = False
    target_transform: str = "auto"
    extrapolate: bool = False
    words: str = ""

    # ------------------------------------------------------------ for searches
    @property
    def scoring(self) -> Any:
        """What a search takes as ``scoring``."""
        return scorer_of(self.metric.key, self.classes, self.positive)

    def prepared(self, estimator: Any) -> Any:
        """Return an estimator that weighs classes and gives probabilities where that is needed."""
        known = estimator.get_params(deep=False)
        wanted: dict[str, Any] = {}
        if self.class_weight != "none":
            wanted["class_weight"] = self.class_weight
        if self.metric.key in OF_PROBABILITIES and "probability" in known:
            wanted["probability"] = True
        return estimator.set_params(**wanted)

    def told(self, score: float) -> str:
        """Return the score of a search in words."""
        if self.metric.key == "accuracy":
            return f"{percent(score)} right"
        return f"{self.metric.title} {self.metric.told(-score if self.metric.falling else score)}"

    def noise(self, found: Any, n: int) -> float:
        """Return the standard error of the score of a finished search, held out on n rows.

        Of rankings it is 0: a machine that ranks as well as another may yet call no row positive.
        """
        if self.metric.key in OF_RANKING:
            return 0.0
        if self.metric.key == "accuracy":
            return float((found.score * (1 - found.score) / n) ** 0.5)
        trials = Trials.of(found.search)
        return float(trials.std[trials.chosen] / max(trials.folds[trials.chosen], 1) ** 0.5)

    # ------------------------------------------------------------ for models
    @property
    def wants_threshold(self) -> bool:
        """Whether a threshold is looked for on the training rows."""
        two = self.classes is not None and len(self.classes) == 2
        return two and (self.rare or self.threshold == "auto")

    def check(self, model: str, estimator: Any) -> None:
        """Refuse a model that cannot do what is asked of it."""
        known = estimator.get_params(deep=False)
        if self.class_weight != "none" and "class_weight" not in known:
            able = [name for name, r in RECIPES["classify"].items() if _has(r, "class_weight")]
            raise CommandError(
                f"--class-weight {self.class_weight}: the model {model!r} cannot weigh classes; "
                f"{', '.join(able)} can",
                USAGE,
            )
        asks = self._asks_probabilities()
        if asks and not ("probability" in known or hasattr(estimator, "predict_proba")):
            raise CommandError(
                f"{asks} needs probabilities, and the model {model!r} has none; svm, metric, "
                f"logistic, kernel-logistic, knn, bayes, boost and network have them",
                USAGE,
            )

    def _asks_probabilities(self) -> str:
        if self.metric.key in OF_PROBABILITIES:
            return f"--metric {self.metric.key.replace('_', '-')}"
        return "--threshold" if self.insists else ""


def _has(recipe: Any, parameter: str) -> bool:
    return parameter in recipe.make().get_params(deep=False)


# ---------------------------------------------------------------- from the command line
def check_wishes(wishes: Wishes) -> None:
    """Refuse words that mean nothing, before any file is read."""
    names = [*OPTIONS["classify"], *OPTIONS["regress"]]
    chosen("--metric", wishes.metric, ["auto", *names])
    chosen("--class-weight", wishes.class_weight, CLASS_WEIGHTS)
    chosen("--target-transform", wishes.target_transform, ["auto", *TRANSFORMS])
    threshold_of(wishes.threshold)


def threshold_of(text: str | None, rare: bool = False) -> float | str | None:
    """Return "auto", a probability, or None where the usual 0.5 is asked for."""
    if text is None:
        return "auto" if rare else None
    if text == "auto":
        return text
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0.0 < value < 1.0:
        raise CommandError(
            f"--threshold: {text!r} is not a probability; write auto, or a number between 0 and 1",
            USAGE,
        )
    return None if value == 0.5 else value


def goal_of(wishes: Wishes, learn: TableProblem) -> Goal:
    """Return what a model of these rows is judged by."""
    check_wishes(wishes)
    return (_of_classes if learn.task == "classify" else _of_numbers)(wishes, learn)


def _metric(wishes: Wishes, task: str, otherwise: str) -> Metric:
    if wishes.metric == "auto":
        return METRICS[otherwise]
    if wishes.metric not in OPTIONS[task]:
        known = ", ".join(OPTIONS[task])
        raise CommandError(
            f"--metric {wishes.metric} is not for --task {task}; there are auto, {known}", USAGE
        )
    return METRICS[OPTIONS[task][wishes.metric]]


def _of_numbers(wishes: Wishes, learn: TableProblem) -> Goal:
    _refuse(wishes, {"positive": None, "class_weight": "none", "threshold": None}, "classes")
    metric = _metric(wishes, "regress", USUAL["regress"])
    least, words = LEAST_TARGET.get(metric.key, (-np.inf, ""))
    smallest = float(learn.y.min())
    if smallest <= least:
        raise CommandError(
            f"--metric {wishes.metric} needs targets {words}; the smallest {learn.target!r} is "
            f"{smallest:.4g}",
            USAGE,
        )
    if wishes.target_transform == "log" and smallest < 0:
        raise CommandError(
            f"--target-transform log needs targets of 0 or more; the smallest {learn.target!r} is "
            f"{smallest:.4g}",
            USAGE,
        )
    return Goal(
        metric,
        "regress",
        target_transform=wishes.target_transform,
        extrapolate=wishes.extrapolate,
        words="" if wishes.metric == "auto" else f"models are chosen by {metric.title}",
    )


def _of_classes(wishes: Wishes, learn: TableProblem) -> Goal:
    _refuse(wishes, {"target_transform": "auto", "extrapolate": False}, "numbers")
    classes, counts = np.unique(learn.y, return_counts=True)
    positive = _positive(wishes, learn, classes, counts)
    share = float(np.mean(learn.y == positive)) if positive is not None else 1.0
    rare = len(classes) == 2 and share < RARE
    metric = _metric(wishes, "classify", "average_precision" if rare else USUAL["classify"])
    if metric.of_positive and positive is None and metric.key == "f1":
        raise CommandError(
            f"--metric f1 is of one class, and {learn.target!r} has {len(classes)}: name it by "
            f"--positive",
            USAGE,
        )
    threshold = threshold_of(wishes.threshold, rare)
    if threshold is not None and len(classes) != 2:
        raise CommandError(
            f"--threshold is for two classes; {learn.target!r} has {len(classes)}", USAGE
        )
    return Goal(
        metric,
        "classify",
        classes=classes,
        positive=positive,
        rare=rare,
        class_weight=wishes.class_weight,
        threshold=threshold,
        insists=wishes.threshold is not None and threshold is not None,
        words=_why(wishes, metric, positive, share, rare, classes, counts),
    )


def _refuse(wishes: Wishes, usual: dict[str, Any], kind: str) -> None:
    """Refuse options that are for the other task."""
    for name, value in usual.items():
        if getattr(wishes, name) != value:
            option = "--" + name.replace("_", "-")
            raise CommandError(f"{option} is for targets that are {kind}", USAGE)


def _positive(wishes: Wishes, learn: TableProblem, classes: np.ndarray, counts: np.ndarray) -> Any:
    """Return the class that was named, or of two the one that is clearly rarer, or the second."""
    if wishes.positive is None:
        first = counts[0] < CLEARLY_RARER * counts.sum()
        return classes[0 if first else 1] if len(classes) == 2 else None
    found = [label for label in classes if str(label) == wishes.positive]
    if not found:
        known = listing([str(label) for label in classes], "or")
        raise CommandError(
            f"--positive: {learn.target!r} has no value {wishes.positive!r}; there are {known}",
            USAGE,
        )
    return found[0]


def _why(
    wishes: Wishes,
    metric: Metric,
    positive: Any,
    share: float,
    rare: bool,
    classes: np.ndarray,
    counts: np.ndarray,
) -> str:
    """Say in a sentence what models are chosen by, and which class is the positive one."""
    judged = f"models are chosen by {metric.title}"
    if positive is None:
        return "" if wishes.metric == "auto" else judged
    named = quoted(positive)
    why = ", the rarer class" if wishes.positive is None and share < CLEARLY_RARER else ""
    if not rare:
        return f"{judged}; precision, recall and F1 are of {named}{why}"
    common = classes[int(np.argmax(counts))]
    flatters = f"always {quoted(common)} gets {percent(1.0 - share)} accuracy"
    of = f" of {named}" if metric.of_positive else ""
    return f"{judged}{of}: only {percent(share)} of the rows are {named}, and {flatters}"
