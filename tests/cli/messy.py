"""Files as people have them, made by code: a table of what they hold and how the command ends."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

OK, DATA = 0, 3


class Messy(NamedTuple):
    """A file: its name, its bytes, the words of the command, how ``fit`` ends and what it says."""

    name: str
    content: Callable[[], bytes]
    words: Sequence[str] = ()
    code: int = OK
    says: str = ""
    target: str = "y"


# ---------------------------------------------------------------- tables
def columns(n: int = 60, seed: int = 0) -> dict[str, list[Any]]:
    """Return numbers, words, a class that they explain, and a quantity."""
    rng = np.random.default_rng(seed)
    a, c = rng.normal(size=n), rng.choice(["red", "blue", "green"], n)
    y = np.where(a + (c == "red") > 0.2, "yes", "no")
    price = 100 + 40 * a + 20 * (c == "red") + rng.normal(size=n)
    return {
        "a": [round(float(v), 3) for v in a],
        "c": [str(v) for v in c],
        "price": [round(float(v), 2) for v in price],
        "y": [str(v) for v in y],
    }


def table(n: int = 60, **more: Sequence[Any]) -> pl.DataFrame:
    """Return the columns as a frame, with more of them, or others under the same name."""
    return pl.DataFrame(columns(n) | {name: list(values) for name, values in more.items()})


def text(frame: pl.DataFrame | None = None, sep: str = ",") -> str:
    """Return a frame as CSV."""
    return (table() if frame is None else frame).write_csv(separator=sep)


def lines(*more: str, n: int = 60) -> str:
    """Return CSV with more lines at its end."""
    return text(table(n)) + "".join(line + "\n" for line in more)


def written(style: Callable[[float], str], **more: Sequence[Any]) -> str:
    """Return CSV in which the column ``a``, a hundred times as large, is written in a style."""
    a = [style(100 * v) for v in columns()["a"]]
    return text(table(a=a, **more), sep=";")


def dated(form: str) -> str:
    """Return CSV with a column of dates."""
    days = np.datetime64("2023-01-01") + np.random.default_rng(1).integers(0, 700, 60)
    return text(table(day=[d.strftime(form) for d in days.tolist()]))


def german(value: float, form: str = ",.2f") -> str:
    """Return a number with a decimal comma and points between thousands."""
    return f"{value:{form}}".translate(str.maketrans(",.", ".,"))


# ---------------------------------------------------------------- formats
def packed(write: str, frame: pl.DataFrame | None = None) -> bytes:
    """Return the bytes that a method of polars writes."""
    stream = io.BytesIO()
    getattr(table() if frame is None else frame, write)(stream)
    return stream.getvalue()


def workbook(**sheets: pl.DataFrame) -> bytes:
    """Return a workbook of Excel."""
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, frame in sheets.items():
        sheet = book.create_sheet(name)
        sheet.append(frame.columns)
        for row in frame.rows():
            sheet.append(row)
    book.save(stream)
    return stream.getvalue()


def open_document() -> bytes:
    """Return a sheet of LibreOffice."""
    import pandas as pd

    stream = io.BytesIO()
    pd.DataFrame(columns()).to_excel(stream, index=False, engine="odf")
    return stream.getvalue()


def archive() -> bytes:
    """Return arrays of NumPy."""
    stream, rng = io.BytesIO(), np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    np.savez(stream, X=X, y=(X[:, 0] > 0).astype(int))
    return stream.getvalue()


def svmlight() -> str:
    """Return sparse rows with the label in front."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    return "".join(f"{1 if x[0] > 0 else -1} 1:{x[0]:.3f} 3:{x[2]:.3f}\n" for x in X)


def arff() -> str:
    """Return Weka's format."""
    head = "@relation r\n@attribute a real\n@attribute c string\n@attribute price real\n"
    rows = "\n".join(",".join(map(str, row)) for row in table().rows())
    return f"{head}@attribute y {{yes,no}}\n@data\n{rows}\n"


def many(n: int) -> pl.DataFrame:
    """Return very many rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).round(3)
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(6)})
    city = rng.choice(["Bonn", "Köln", "Ulm", None], n)
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n) > 0, "up", "down")
    return frame.with_columns(pl.Series("city", city.tolist()), pl.Series("y", y))


def utf8(make: Callable[[], str] | str) -> Callable[[], bytes]:
    """Return the bytes of a text."""
    return lambda: (make if isinstance(make, str) else make()).encode()


def also(**more: Callable[[], Sequence[Any]]) -> Callable[[], bytes]:
    """Return CSV with more columns."""
    return lambda: text(table(**{name: values() for name, values in more.items()})).encode()


def some(*values: Any) -> Callable[[], list[Any]]:
    """Return a column that runs through values."""
    return lambda: [values[i % len(values)] for i in range(60)]


def rng_numbers(scale: float = 1.0) -> list[float]:
    """Return a column of numbers."""
    return (scale * np.random.default_rng(5).normal(size=60)).tolist()


UMLAUTS = some("Köln", "Zürich", "Málaga")
REGRESS = "price"

FILES = (
    # encodings and line ends
    Messy("utf8.csv", also(city=UMLAUTS)),
    Messy("bom.csv", lambda: codecs.BOM_UTF8 + text().encode()),
    Messy("latin1.csv", lambda: text(table(city=UMLAUTS())).encode("latin-1")),
    Messy("cp1252.csv", lambda: text(table(city=some("5 €", "“q”")())).encode("cp1252")),
    Messy("utf16.csv", lambda: text(table(city=UMLAUTS())).encode("utf-16")),
    Messy("utf16be.csv", lambda: codecs.BOM_UTF16_BE + text().encode("utf-16-be")),
    Messy("utf16_unmarked.csv", lambda: text().encode("utf-16-le"), (), DATA, "not a text file"),
    Messy("utf32.csv", lambda: text().encode("utf-32")),
    Messy("mac.csv", lambda: text().replace("\n", "\r").encode()),
    Messy("windows.csv", lambda: text().replace("\n", "\r\n").encode()),
    Messy("mixed_ends.csv", lambda: text().replace("\n", "\r\n", 20).encode()),
    # separators and quotes
    Messy("semicolon.csv", lambda: text(sep=";").encode()),
    Messy("tab.txt", lambda: text(sep="\t").encode()),
    Messy("pipe.csv", lambda: text(sep="|").encode()),
    Messy("colon.csv", lambda: text(sep=":").encode(), ("--sep", ":")),
    Messy("blank.csv", lambda: text(sep=" ").encode(), ("--sep", "space")),
    Messy("named_separator.csv", lambda: ("sep=;\n" + text(sep=";")).encode()),
    Messy("quoted.csv", lambda: table().write_csv(quote_style="always").encode()),
    Messy("newline_in_quotes.csv", also(note=some("two\nlines", "one, line"))),
    Messy("inches.csv", utf8(lambda: lines('0.5,5" pipe,1.0,yes'))),
    Messy("open_quote.csv", utf8(lambda: lines('0.5,"red,1.0,yes', "1,red,2.0,no"))),
    Messy("never_closed.csv", utf8(lambda: lines('0.5,"red', "1,red,2.0,no")), (), DATA),
    Messy("short_line.csv", utf8(lambda: lines("0.5,red")), (), DATA, "line 62 has 2 fields"),
    Messy(
        "long_line.csv", utf8(lambda: lines("0.5,red,1,yes,,")), (), DATA, "line 62 has 6 fields"
    ),
    Messy("trailing.csv", lambda: text().replace("\n", ",\n").encode()),
    Messy("blank_lines.csv", lambda: text().replace("\n", "\n\n", 30).encode()),
    Messy("comments.csv", lambda: ("# made by a tool\n# 2024\n" + text()).encode()),
    Messy("comment_header.csv", lambda: ("# " + text()).encode(), target="y"),
    # headers
    Messy("no_header.csv", lambda: text().split("\n", 1)[1].encode(), target="column_4"),
    Messy("twice.csv", lambda: text(table().rename({"c": "b"})).replace("b", "a", 1).encode()),
    Messy("nameless.csv", lambda: text().replace("a,c", ",", 1).encode()),
    Messy("newline_in_name.csv", lambda: text().replace("a,c", '"a\nb",c', 1).encode()),
    Messy("strange_names.csv", lambda: text().replace("a,c", "a b (%) [€],c", 1).encode()),
    Messy("years.csv", lambda: text().replace("a,c,price", "2019,2020,2021", 1).encode()),
    # columns
    Messy("empty_column.csv", also(e=some(None))),
    Messy("constant_column.csv", also(e=some("same"))),
    Messy("constant_target.csv", also(y=some("yes")), (), DATA, "one value only"),
    Messy("no_target.csv", also(y=some(None)), (), DATA, "are missing"),
    Messy("gaps_in_target.csv", also(y=some("yes", "no", None))),
    Messy("one_column.csv", lambda: text(table().select("y")).encode(), (), DATA, "only column"),
    Messy("names.csv", also(y=lambda: [f"n{i}" for i in range(60)]), (), DATA, "not a class"),
    Messy("only_text.csv", lambda: text(table().select("c", "y")).encode()),
    Messy("only_dates.csv", lambda: text(pl.read_csv(dated("%Y-%m-%d").encode())[:, 3:]).encode()),
    Messy("huge.csv", also(h=lambda: rng_numbers(1e300))),
    Messy("tiny.csv", also(h=lambda: rng_numbers(1e-300))),
    Messy("infinite.csv", also(h=some("inf", "-inf", "1.0", "2.0"))),
    Messy("infinite_target.csv", also(price=some("inf", "1.5", "2.5", "7.25")), target=REGRESS),
    Messy("mixed_types.csv", also(m=some("1", "two", "2024-01-01", "true", "3.5"))),
    Messy("booleans.csv", also(y=some(True, False), b=some("TRUE", "false", None))),
    Messy("unicode.csv", also(y=some("да", "нет", "🙂"))),
    Messy("numbered_classes.csv", also(y=some(1, 2, 3))),
    Messy("leading_zeros.csv", also(y=some("01", "02"), zip=some("01067", "80331"))),
    Messy("rare.csv", also(y=lambda: ["no"] * 56 + ["yes"] * 3 + ["maybe"])),
    Messy("duplicates.csv", lambda: text(pl.concat([table(12)] * 6)).encode()),
    Messy("ids.csv", also(id=lambda: range(60), key=lambda: [f"k{i}" for i in range(60)])),
    Messy("sentinels.csv", also(s=some(-999, 1, 2, 3)), ("--na", "-999")),
    Messy(
        "sentences.csv",
        also(t=lambda: [f"the {c} one of them all {i}" for i, c in enumerate(columns()["c"])]),
    ),
    Messy("json_cells.csv", also(j=some('{"k": 1}', "[1, 2]"))),
    Messy("long_cells.csv", also(t=some("x" * 50_000, "y" * 50_000))),
    Messy("html.csv", also(t=some("<b>[red]</b>", "a & b", "'\\\"", "=1+1"))),
    Messy(
        "wide.csv",
        lambda: text(
            pl.DataFrame(np.random.default_rng(0).normal(size=(20, 1000))).with_columns(
                y=pl.Series(["u", "v"] * 10)
            )
        ).encode(),
    ),
    # numbers and dates as people write them
    Messy("decimal_comma.csv", lambda: written(lambda v: german(v, ".2f")).encode()),
    Messy("thousands.csv", lambda: written(lambda v: german(1000 * v)).encode()),
    Messy("swiss.csv", lambda: written(lambda v: f"{1000 * v:,.2f}".replace(",", "’")).encode()),
    Messy("dollars.csv", lambda: written(lambda v: f"${abs(1000 * v):,.2f}").encode()),
    Messy(
        "accountant.csv", lambda: written(lambda v: f"({-v:.1f})" if v < 0 else f"{v:.1f}").encode()
    ),
    Messy("percent.csv", lambda: written(lambda v: f"{v:.1f} %").encode()),
    Messy("bounds.csv", lambda: written(lambda v: "<1.5" if v < 1.5 else f"{v:.1f}").encode()),
    Messy(
        "words_for_missing.csv",
        lambda: written(
            lambda v: "k.A." if v > 100 else "unknown" if v < -100 else f"{v:.1f}"
        ).encode(),
    ),
    Messy(
        "told_decimal.csv", lambda: written(lambda v: german(v, ".3f")).encode(), ("--decimal", ",")
    ),
    Messy(
        "euros.csv",
        lambda: text(
            table(price=[german(100 * v) + " €" for v in columns()["price"]]), sep=";"
        ).encode(),
        (),
        OK,
        "",
        REGRESS,
    ),
    Messy("german_days.csv", lambda: dated("%d.%m.%Y").encode()),
    Messy("american_days.csv", lambda: dated("%m/%d/%Y").encode()),
    Messy("british_times.csv", lambda: dated("%d/%m/%y 12:30").encode()),
    Messy("named_months.csv", lambda: dated("%d %b %Y").encode()),
    Messy("zoned.csv", lambda: dated("%Y-%m-%dT08:00:00+02:00").encode()),
    Messy("unsure_days.csv", also(d=some("1/2/2024", "3/4/2024", "5/6/2023", "7/8/2022"))),
    Messy("wrong_days.csv", also(d=some("31.02.2024", "99.99.9999", "1.1.2024", "2.2.2024"))),
    Messy(
        "kinds.csv",
        also(zip=some(1010, 8010, 4020), day=some(20240131, 20240229, 20231224)),
        ("--kind", "zip=category", "--kind", "day=date", "--kind", "c=ignore"),
    ),
    # formats
    Messy("sheet.xlsx", lambda: workbook(Data=table(), Notes=table(3))),
    Messy("second_sheet.xlsx", lambda: workbook(Notes=table(3), Data=table()), ("--sheet", "Data")),
    Messy("sheet.ods", open_document),
    Messy("list.json", lambda: json.dumps(table().to_dicts(), indent=1).encode()),
    Messy("lines.jsonl", lambda: packed("write_ndjson")),
    Messy("table.parquet", lambda: packed("write_parquet")),
    Messy("table.arrow", lambda: packed("write_ipc")),
    Messy("stream.arrow", lambda: packed("write_ipc_stream")),
    Messy("arrays.npz", archive),
    Messy("sparse.svm", utf8(svmlight), target="label"),
    Messy("weka.arff", utf8(arff)),
    Messy("packed.csv.gz", lambda: gzip.compress(text().encode(), mtime=0)),
    Messy("parquet_named.csv", lambda: packed("write_parquet")),
    # damage and nothing
    Messy("empty.csv", lambda: b"", (), DATA, "is empty"),
    Messy("white.csv", lambda: b" \n\n \n", (), DATA),
    Messy("header_only.csv", lambda: b"a,c,y\n", (), DATA),
    Messy("one_row.csv", lambda: text(table(1)).encode(), (), DATA),
    Messy("two_rows.csv", lambda: text(table(2)).encode(), (), DATA),
    Messy("garbage.csv", lambda: np.random.default_rng(0).bytes(5000), (), DATA, "not a text file"),
    Messy("nul.csv", lambda: text().encode().replace(b"red", b"r\0d", 1)),
    Messy("cut.csv.gz", lambda: gzip.compress(text().encode(), mtime=0)[:200], (), DATA, "damaged"),
    Messy("damaged.xlsx", lambda: workbook(Data=table())[:700], (), DATA),
    Messy("damaged.parquet", lambda: packed("write_parquet")[:-30], (), DATA, "damaged"),
    Messy("not_json.json", lambda: b'[{"a": 1}, {"a"', (), DATA, "not JSON"),
    # many rows: more than a block of predictions, and more than any search takes
    Messy("many.csv", lambda: text(many(300_000)).encode(), ("--model", "logistic")),
    Messy("more_than_are_fitted.parquet", lambda: packed("write_parquet", many(30_000))),
)

SAMPLE = {
    *(
        "cp1252.csv",
        "never_closed.csv",
        "nameless.csv",
        "constant_target.csv",
        "words_for_missing.csv",
    ),
    *("euros.csv", "sheet.xlsx", "list.json", "empty.csv", "two_rows.csv", "garbage.csv"),
    *("damaged.xlsx", "leading_zeros.csv"),
}
"""Files that are tried in every run of the tests; the others are for the long one."""
