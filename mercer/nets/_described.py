"""The lines that the docstrings of all networks share, written once."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TypeVar

Class = TypeVar("Class", bound=type)

SHARED = {
    "training": """\
    solver : {{"auto", "adam", "sgd", "lbfgs"}}, default="{solver}"
        "adam" and "sgd" (with Nesterov's momentum) step on random batches, and as "lbfgs" on all
        rows once batches gain nothing more; "auto" is "lbfgs" for small samples without early
        stopping (up to 1000 rows; an MLP with more parameters than rows up to 100), else "adam".
    learning_rate : float, default={learning_rate}
        Size of the steps on batches.
    momentum : float, default={momentum}
        How much of the last step the next one keeps, for "sgd".
    batch_size : int, default={batch_size}
        Most rows of a batch.
    max_epochs : int, default={max_epochs}
        Most passes over the rows (steps of "lbfgs").
    early_stopping : bool, default={early_stopping}
        Whether to hold out some rows, stop where their loss no longer falls, and keep the weights
        with which it was smallest.
    patience : int, default={patience}
        Epochs without gain before batches are given up, or before the early stop.
    validation : float, default={validation}
        Share of the rows that early stopping holds out.
""",
    "end": """\
    tol : float, default={tol}
        The norm of the gradient, relative to that at the start, at which the fit is done.
    random_state : int, RandomState instance or None, default={random_state}
        The first weights, the batches and the rows that are held out.
    time_limit : float or None, default={time_limit}
        Seconds for the fit; then what has been reached is kept, with a warning.
""",
    "fitted": """\
    coefs_, intercepts_ : list of arrays
        W_l of shape (inputs, outputs) and b_l of each layer.
    loss_curve_ : array of shape (n_iter_,)
        The objective, averaged over the batches of each epoch.
    validation_curve_ : array of shape (n_iter_,)
        The loss of the held-out rows after each epoch, if there are any.
    n_iter_ : int
        Passes over the rows.
    certificate_ : Certificate
        The gradient over all training rows, in float64: a stationary point, no global guarantee.
""",
}


def described(cls: Class) -> Class:
    """Put the shared lines into a docstring, where ``[training]``, ``[end]``, ``[fitted]`` stand.

    Defaults are those of the signature.
    """
    parameters = signature(cls).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not Parameter.empty}
    text = cls.__doc__ or ""  # none under python -OO
    for name, lines in SHARED.items():
        text = text.replace(f"    [{name}]\n", lines.format(**defaults))
    cls.__doc__ = text
    return cls
