"""Parameters of candidates: which are the kernel's, how they are set, which names there are."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from sklearn.base import clone

from mercer.kernels import as_kernel


def is_kernel_parameter(name: str) -> bool:
    """Whether a parameter of an estimator decides its kernel."""
    return name == "kernel" or name.startswith("kernel__")


def with_params(estimator: Any, params: dict[str, Any]) -> Any:
    """Return a fresh estimator with parameters set.

    A kernel that is given by its name becomes an object if parameters of it are to be set:
    ``SVC("rbf")`` accepts ``kernel__gamma`` here.
    """
    fresh = clone(estimator)
    params = clone(params, safe=False)  # values may be estimators, which fits would change
    for name in _named_kernels(fresh, params):
        params[name] = as_kernel(_current(fresh, params, name))
    return fresh.set_params(**params)


def first_candidate(job: Any) -> Any:
    """Return the estimator of the first candidate: it knows whether rows are those of a matrix."""
    return with_params(job.estimator, job.candidates[0])


def _named_kernels(estimator: Any, params: dict[str, Any]) -> list[str]:
    """Return the paths of kernels that are names but have parameters to set."""
    paths = {name.rpartition("__")[0] for name in params if "__" in name}
    return [
        path
        for path in sorted(paths)
        if path.rpartition("__")[2] == "kernel"
        and isinstance(_current(estimator, params, path), str)
    ]


def _current(estimator: Any, params: dict[str, Any], name: str) -> Any:
    return params[name] if name in params else estimator.get_params().get(name)


def check_names(estimator: Any, candidates: list[dict[str, Any]]) -> None:
    """Raise if a candidate names a parameter that the estimator does not have."""
    seen = set()
    for params in candidates:
        objects = tuple(id(v) for v in params.values() if hasattr(v, "get_params"))
        names = tuple(v for v in params.values() if isinstance(v, str))
        key = (*params, objects, names)
        if key not in seen:
            seen.add(key)
            _check_one(estimator, params)


def _check_one(estimator: Any, params: dict[str, Any]) -> None:
    done: dict[str, Any] = {}
    for name in sorted(params, key=lambda name: name.count("__")):  # owners before their parts
        # with_params would make an object of a kernel's name only for a deeper name
        owner = with_params(estimator, done)
        valid = set(owner.get_params())
        for path in _named_kernels(owner, {name: None}):
            kernel = as_kernel(owner.get_params()[path])
            valid |= {f"{path}__{part}" for part in kernel.get_params()}
        if name not in valid:
            raise ValueError(_unknown(owner, name, valid))
        done[name] = params[name]


def _unknown(estimator: Any, name: str, valid: set[str]) -> str:
    near = get_close_matches(name, sorted(valid), n=3, cutoff=0.5) or sorted(valid)[:8]
    hint = ""
    if is_kernel_parameter(name):
        hint = "; kernels with different parameters go into a list of grids, one for each"
    return (
        f"param_grid has {name!r}, which is no parameter of {estimator!r}; the nearest are "
        f"{near}{hint}"
    )
