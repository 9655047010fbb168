"""``mercer fit`` with kernels that read columns of the table as they are."""

from __future__ import annotations

import json

import pytest

pl = pytest.importorskip("polars")

import mercer as library  # noqa: E402

KERNEL = "rbf.on(age, noise) * categorical.on(city)"
QUICK = ("--effort", "quick", "--no-report", "--ignore", "id")


def test_the_model_reads_the_table_without_encoding(mercer, table, mixed, tmp_path):
    ended = mercer(
        "fit", table, "-t", "risk", "--kernel", KERNEL, *QUICK, "--json", "--ignore", "cost"
    )
    assert ended.code == 0, ended.err
    about = json.loads(ended.out)
    model = library.load(tmp_path / "people.mercer")
    gammas = [name for name in about["parameters"] if name.endswith("gamma")]
    assert len(gammas) == 1
    assert about["cross_validated"] > 0.8
    assert model[-1].support_vectors_.names == ("age", "noise", "city")
    turned = mixed.select("city", "cost", "noise", "age")
    assert (model.predict(turned) == model.predict(mixed)).all()


def test_a_kernel_on_all_columns_predicts_numbers(mercer, table):
    words = ("-t", "cost", "--kernel", "gower", "--ignore", "risk", *QUICK)
    ended = mercer("fit", table, *words, "--save", "cost.mercer")
    assert ended.code == 0, ended.err
    assert mercer("predict", "cost.mercer", table).code == 0


def test_the_page_and_the_program_can_be_written(mercer, table, tmp_path):
    words = ("--effort", "quick", "--ignore", "id", "--ignore", "cost")
    outputs = ("--report", "page.html", "--script", "program.py", "--save", "m.mercer")
    ended = mercer("fit", table, "-t", "risk", "--kernel", KERNEL, *words, *outputs)
    assert ended.code == 0, ended.err
    assert "Categorical().on(" in (tmp_path / "program.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("rbf.on(agee)", "--kernel: the table has no column 'agee'; its columns are 'age', 'city'"),
        ("rbf.on(city)", "--kernel: column 'city' must hold numbers"),
        ("rbf.on(17)", "--kernel: column 17 was asked for"),
    ],
)
def test_columns_that_do_not_suit_are_said(mercer, table, kernel, message):
    ended = mercer("fit", table, "-t", "risk", "--kernel", kernel, *QUICK)
    assert ended.code == 2
    assert message in ended.err
