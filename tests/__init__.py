"""Tests that teach: they mirror the package and assert mathematics.

`cases.py` lists what is under test (one line puts the whole suite behind a kernel, a storage or an
estimator), `naive.py` holds the slow and obvious truths, `compare.py` says how equal is equal,
`strategies.py` draws random expressions.
"""
