"""What a reader is told, and what it finds by itself: comments, sheets, lists, decimal commas."""

from __future__ import annotations

import datetime as dt
import json

import pytest

pl = pytest.importorskip("polars")

from mercer.datasets import DataError, load_file, read_batches  # noqa: E402
from mercer.datasets.files import delimited  # noqa: E402
from mercer.datasets.files.dialect import Dialect  # noqa: E402
from mercer.datasets.files.source import Source  # noqa: E402
from tests.compare import refuses  # noqa: E402


def both(path, **options):
    """Read a file at once and in batches; return the rows, which are the same."""
    whole = load_file(path, **options).X
    assert pl.concat(read_batches(path, rows=2, **options)).equals(whole)
    return whole


# ---------------------------------------------------------------- above the table
@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("# made by x\n# on Monday\na,b\n1,x\n2,y\n", ["a", "b"], [(1, "x"), (2, "y")]),
        ("# made by x\n\n\na,b\n1,x\n2,y\n", ["a", "b"], [(1, "x"), (2, "y")]),
        ("# a,b\n1,5\n2,6\n", ["a", "b"], [(1, 5), (2, 6)]),
        ("# comment\n#a,b\n1,5\n2,6\n", ["a", "b"], [(1, 5), (2, 6)]),
        ("#,b\n1,5\n2,6\n", ["#", "b"], [(1, 5), (2, 6)]),
        ("sep=;\na;b\n1;x,y\n2;z\n", ["a", "b"], [(1, "x,y"), (2, "z")]),
        ("a,b\n#1,x\n#2,y\n", ["a", "b"], [("#1", "x"), ("#2", "y")]),
    ],
)
def test_lines_above_the_table(put, text, names, rows):
    frame = both(put(text))
    assert frame.columns == names
    assert frame.rows() == rows
    small = delimited.batches(Source.of(put(text)), 2, Dialect(), block=20)
    assert pl.concat(small).equals(frame)


def test_quotes_below_a_comment_that_are_now_borders_now_characters(put):
    assert both(put('# c\na,b\n1,"x\ny"\n2,5" pipe\n')).rows() == [(1, "x\ny"), (2, '5" pipe')]


def test_errors_count_the_lines_of_the_file(put):
    refuses(lambda: load_file(put("# c\n# d\na,b\n1,2\n3\n")), DataError, "line 5 has 1 field")
    lenient = '# c\na,b\n1,x "y"\n2,"z" w\n3\n'
    refuses(lambda: load_file(put(lenient)), DataError, "line 5 has 1 field")


# ---------------------------------------------------------------- what is told
def test_the_separator(put):
    path = put("a:b,c\n1:2,5\n3:4,5\n")
    assert both(path, sep=":").columns == ["a", "b,c"]
    assert both(put("a\tb,c\n1\t2,5\n"), sep="tab").rows() == [(1, "2,5")]
    for wrong in ("", ";;", "é", '"'):
        refuses(lambda w=wrong: load_file(path, sep=w), DataError, "sep must be one character")


def test_words_for_missing_values(put, tmp_path):
    text = "a,b\n1,x\n-999,k.A.\n3,y\n"
    assert both(put(text), na=["-999", "k.A."]).rows() == [(1, "x"), (None, None), (3, "y")]
    frame = pl.DataFrame({"a": [1.0, -999.0, 3.0], "b": ["x", "k.A.", "y"]})
    for name in ("a.parquet", "a.arrow", "a.jsonl"):
        getattr(
            frame, {"a.parquet": "write_parquet", "a.arrow": "write_ipc"}.get(name, "write_ndjson")
        )(tmp_path / name)
        got = both(tmp_path / name, na=["-999", "k.A."])
        assert got.rows() == [(1.0, "x"), (None, None), (3.0, "y")]


def test_the_decimal_sign(put):
    text = "a;b;c\n1.234,5;1.234;x,y\n0,5 €;2.500;1,5\n"
    assert both(put(text), decimal=",").rows() == [(1234.5, 1234.0, "x,y"), (0.5, 2500.0, "1,5")]
    assert both(put("a;b\n1,234;x\n5,678;y\n"), decimal=".")["a"].to_list() == [1234.0, 5678.0]
    assert both(put("a;b\n1,234;x\n5,678;y\n"))["a"].to_list() == ["1,234", "5,678"]
    refuses(lambda: load_file(put(text), decimal=";"), DataError, "decimal must be '.' or ','")


def test_columns_that_stay_text(put):
    path = put("zip,n\n007,1\n012,2\n")
    assert both(path, text=["zip"]).rows() == [("007", 1), ("012", 2)]
    assert both(path, text=["other"]).rows() == [(7, 1), (12, 2)]


# ---------------------------------------------------------------- JSON
ROWS = [{"a": 1, "b": "x"}, {"a": 2.5, "b": None}, {"a": None, "b": "z", "c": [1]}]


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {name: [row.get(name) for row in ROWS] for name in "abc"},
        {name: {str(i): row.get(name) for i, row in enumerate(ROWS)} for name in "abc"},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_that_is_one_value(put, value, indent):
    frame = both(put(json.dumps(value, indent=indent), "a.json"))
    assert frame.rows() == [(1.0, "x", None), (2.5, None, None), (None, "z", "[1]")]


def test_json_that_is_no_table(put):
    refuses(lambda: load_file(put("[1, 2]", "a.json")), DataError, "entry 1 of the list")
    refuses(lambda: load_file(put("[]", "a.json")), DataError, "empty list")
    refuses(lambda: load_file(put('[{"a": 1},\n', "a.json")), DataError, "line 2 is not JSON")
    assert load_file(put('[{"a": 1}]', "a.txt")).format == "jsonl"


# ---------------------------------------------------------------- workbooks
CELLS = [
    ["size", "day", "note", "flag", "mixed", None, "size"],
    [1, dt.datetime(2024, 1, 31), "x", True, "1,5", None, 1e-12],
    [2.5, dt.datetime(2024, 2, 1, 12, 30), "NA", False, 3, None, 0.1],
    [None, None, None, None, None, None, None],
    [3, None, "y", True, "k.A.", None, 1e20],
]


def xlsx(path, sheets, above=0):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for i, row in enumerate(rows, start=1 + above):
            for j, value in enumerate(row, start=1):
                sheet.cell(i, j, value)
    book.save(path)
    return path


@pytest.mark.parametrize("above", [0, 3])
def test_the_first_sheet_of_a_workbook(tmp_path, above):
    pytest.importorskip("fastexcel")
    frame = both(xlsx(tmp_path / "a.xlsx", {"One": CELLS, "Two": [["q"], [7]]}, above))
    assert frame.columns == ["size", "day", "note", "flag", "mixed", "size_2"]
    assert frame.rows() == [
        (1.0, dt.datetime(2024, 1, 31), "x", True, "1,5", 1e-12),
        (2.5, dt.datetime(2024, 2, 1, 12, 30), None, False, "3", 0.1),
        (3.0, None, "y", True, "k.A.", 1e20),
    ]
    assert both(tmp_path / "a.xlsx", sheet="Two").rows() == [(7.0,)]
    wrong = "there is no sheet 'Tow' in .*: did you mean 'Two'"
    refuses(lambda: load_file(tmp_path / "a.xlsx", sheet="Tow"), DataError, wrong)


def test_a_title_above_a_sheet_is_no_header(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["Sales of 2024"], [None], ["a", "b"], [1, "x"], [2, None]]
    frame = both(xlsx(tmp_path / "a.xlsx", {"S": rows}))
    assert frame.columns == ["a", "b"]
    assert frame.rows() == [(1.0, "x"), (2.0, None)]


def test_a_text_far_below_makes_a_column_text(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["a", "b"], *([i, i] for i in range(1500)), ["late", 0.5]]
    frame = both(xlsx(tmp_path / "a.xlsx", {"S": rows}))
    assert frame["a"][-1] == "late"
    assert frame["b"][-1] == 0.5


def test_a_sheet_without_a_header_or_without_rows(tmp_path):
    pytest.importorskip("fastexcel")
    frame = both(xlsx(tmp_path / "a.xlsx", {"S": [[1, 2], [3, 4]]}))
    assert frame.rows() == [(1, 2), (3, 4)]
    for name, rows in {"empty": [], "a header and no rows": [["a", "b"]]}.items():
        path = xlsx(tmp_path / "b.xlsx", {"S": rows})
        refuses(lambda p=path: load_file(p), DataError, name)


def test_a_sheet_of_libreoffice(tmp_path):
    pytest.importorskip("fastexcel")
    pd = pytest.importorskip("pandas")
    pytest.importorskip("odf")
    pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}).to_excel(tmp_path / "a.ods", index=False)
    assert both(tmp_path / "a.ods").rows() == [(1.5, "x"), (2.5, "y")]
