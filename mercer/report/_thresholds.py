"""What other thresholds would lead to on the rows that are judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.report._subject import ModelAnswers, Subject
from mercer.report.study import ThresholdStudy

TRIED = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
USUAL = 0.5  # where the more probable of two classes changes


def threshold_table(
    subject: Subject, answers: ModelAnswers, chosen: tuple[float, str] | None
) -> ThresholdStudy | None:
    """Return the table of two classes with probabilities, with the threshold that was chosen."""
    if answers.labels is None or len(answers.labels) != 2 or not answers.probabilistic:
        return None
    used = float(getattr(subject.predictor, "threshold", USUAL))
    best, words = chosen or (None, "")
    evaluation: Any = answers.evaluation
    flagged = evaluation.thresholds(TRIED).flagged
    telling = TRIED[(flagged > 0) & (flagged < 1)]  # others say the same as no model
    at = sorted({*telling.tolist(), used, *([] if best is None else [best])})
    return ThresholdStudy(evaluation.thresholds(at), used, best, words)
