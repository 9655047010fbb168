"""What a fit leaves in an estimator, declared beside it, and the check of a state from elsewhere.

An estimator says by ``fitted_state`` what each attribute must be::

    fitted_state = {"classes_": Labels("classes"), "coef_": Floats(per_class, "columns")}

A length is a number, a name or a function of the lengths that are known so far. A name is bound
where it occurs first and must have the same value wherever it occurs again; "columns" is bound to
``n_features_in_``. A name that ends in "?" is of an axis that may be missing, in all of the
attributes or in none. The declarations of base classes come first.

What is declared is what compiled loops, which look at no bounds, take for granted. A state that
keeps to it may be nonsense, and does no harm.
"""

from mercer._state.attributes import (
    COLUMNS,
    Attribute,
    Chain,
    Either,
    FittedRows,
    Floats,
    Instance,
    Integers,
    Labels,
    LabelsEach,
    Lengths,
    Maybe,
    Objects,
    Pointers,
    ShapeOf,
    SizeOf,
    Sparse,
    Tuple,
    one_more,
    per_class,
    per_pair,
)
from mercer._state.check import check_state, declared, undeclared
from mercer._state.parameters import StateError, check_parameters

__all__ = [
    "COLUMNS",
    "Attribute",
    "Chain",
    "Either",
    "FittedRows",
    "Floats",
    "Instance",
    "Integers",
    "Labels",
    "LabelsEach",
    "Lengths",
    "Maybe",
    "Objects",
    "Pointers",
    "ShapeOf",
    "SizeOf",
    "Sparse",
    "StateError",
    "Tuple",
    "check_parameters",
    "check_state",
    "declared",
    "one_more",
    "per_class",
    "per_pair",
    "undeclared",
]
