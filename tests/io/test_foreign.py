"""Objects of scikit-learn whose compiled code would follow a file out of an array."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.preprocessing import KBinsDiscretizer, MultiLabelBinarizer, OneHotEncoder

import mercer
from mercer.io import ModelFileError
from tests.io.helpers import round_trip, same

TEXTS, LEVELS = ["aa bb", "cc"], [["a", 1.0], ["b", 2.0], ["b", 3.0], ["c", 3.0]]
NUMBERS = np.array([[1.0], [2.0], [2.0], [3.0]])
FAR = 10**8

GOOD = {
    "words": (CountVectorizer(), TEXTS),
    "weighted words": (TfidfVectorizer(), TEXTS),
    "given words": (CountVectorizer(vocabulary={"aa": 1, "bb": 0}), TEXTS),
    "names": (DictVectorizer(), [{"a": 1.0}, {"b": 2.0}]),
    "labels": (MultiLabelBinarizer(), [["a"], ["b"]]),
    "levels": (OneHotEncoder(), LEVELS),
    "levels without the first": (OneHotEncoder(drop="first"), LEVELS),
    "levels of two": (OneHotEncoder(drop="if_binary"), LEVELS),
    "rare levels": (OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"), LEVELS),
    "rare levels without one": (OneHotEncoder(max_categories=2, drop="first"), LEVELS),
    "numbers as levels": (OneHotEncoder(), NUMBERS),
    "bins": (KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"), NUMBERS),
    "hashed names": (FeatureHasher(8), [{"a": 1.0}]),
    "hashed words": (HashingVectorizer(n_features=8), TEXTS),
}


@pytest.mark.parametrize(("model", "rows"), GOOD.values(), ids=GOOD.keys())
def test_what_a_fit_leaves_is_accepted(model, rows, tmp_path):
    model.fit(rows)
    wanted = model.transform(rows)  # which may leave something in the model, too
    assert same(round_trip(model, tmp_path).transform(rows), wanted)


BAD = {
    "a word far out": ("words", {"vocabulary_": {"aa": FAR, "bb": 0, "cc": 1}}),
    "a word before the first": ("words", {"vocabulary_": {"aa": -1, "bb": 0, "cc": 1}}),
    "a column that is no number": ("words", {"vocabulary_": {"aa": "0"}}),
    "no mapping": ("words", {"vocabulary_": [0, 1]}),
    "a weighted word far out": ("weighted words", {"vocabulary_": {"aa": FAR}}),
    "a name far out": ("names", {"vocabulary_": {"a": FAR, "b": 1}}),
    "a label far out": ("labels", {"_cached_dict": {"a": FAR, "b": 1}}),
    "levels far out": ("levels", {"_n_features_outs": [FAR, 6 - FAR]}),
    "outputs of one column for two": ("levels", {"_n_features_outs": [3]}),
    "a column too few": ("levels", {"n_features_in_": 1}),
    "levels that fall": ("numbers as levels", {"categories_": [np.array([3.0, 2.0, 1.0])]}),
    "a drop far out": (
        "levels without the first",
        {"_drop_idx_after_grouping": np.array([-1, 0], object)},
    ),
    "a drop for one column of two": (
        "levels without the first",
        {"_drop_idx_after_grouping": np.array([0], object)},
    ),
    "a group far out": (
        "rare levels",
        {"_default_to_infrequent_mappings": [np.array([0, FAR, 1]), np.array([1, 1, 0])]},
    ),
    "rare levels far out": ("rare levels", {"_infrequent_indices": [np.array([FAR]), None]}),
    "rare levels without groups": ("rare levels", {"_default_to_infrequent_mappings": [None] * 2}),
    "no places to hash to": ("hashed names", {"n_features": 0}),
    "no places to hash words to": ("hashed words", {"n_features": 0}),
}


@pytest.mark.parametrize(("name", "changes"), BAD.values(), ids=BAD.keys())
def test_what_would_lead_compiled_code_astray_is_refused(name, changes, tmp_path):
    model, rows = GOOD[name]
    model.fit(rows).transform(rows)
    before = {attribute: getattr(model, attribute) for attribute in changes}
    vars(model).update(changes)
    path = mercer.save(model, tmp_path / "m")
    vars(model).update(before)
    with pytest.raises(ModelFileError, match=type(model).__name__ + "|must|parameter"):
        mercer.load(path)
