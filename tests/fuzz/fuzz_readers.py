"""Readers of tables: rows or one line that says what is wrong, whatever the bytes are."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import polars as pl

from mercer.datasets import FORMATS, DataError, load_file, read_batches
from tests.fuzz.campaign import main, mutated

COUNT = 5_000
LONGEST_MESSAGE = 1500  # characters
WORDS = [
    *(b",", b";", b"\t", b"|", b'"', b"'", b'""', b"\n", b"\r\n", b"\r", b"\n\n", b"#", b"sep=;\n"),
    *(b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1a", "é".encode()),
    *(b"1e308", b"-1e308", b"1e999", b"nan", b"NA", b"-", b"9" * 30, b"1,234.5", b"(7)", b"<0.1"),
    *(b"2024-01-31", b"0000-00-00", b"31.12.99", b"9999-12-31T23:59:60", b"true", b"FALSE"),
    *(b"2000000000:1 ", b"-1:1 ", b"1:1 ", b"qid:3 ", b":", b"1 1:1\n", b"4294967297:1"),
    *(b"@data\n", b"@attribute x {a,b}\n", b"@attribute y date\n", b"{0 1}", b"?", b"%", b"\\"),
    *(b"{", b"}", b"[", b"]", b"[[[[[[[[", b'{"a":', b"null", b"\\ud800", b"1e", b"{}\n"),
    *(b"PK\x03\x04", b"PK\x01\x02", b"PAR1", b"ARROW1", b"\x93NUMPY", b"\x1f\x8b\x08"),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"shape': (99999999999, 9)"),
]
OPTIONS = {
    "sep": (";", ",", "tab", "|"),
    "na": ("-999", "x", ""),
    "decimal": (".", ","),
    "sheet": ("Sheet1", "none"),
    "text": (["a"], ["a", "b"]),
    "target": ("a", "y", "label", "zzz"),
}
FRAME = pl.DataFrame(
    {
        "a": [1, 2, None, 4],
        "b": ["x", "y, z", 'q"uote', "Köln"],
        "c": [0.5, 1e308, -1e-308, None],
        "when": ["2024-01-31", "2024-02-01", None, "1999-12-31"],
        "y": ["yes", "no", "yes", "no"],
    }
)


@cache
def corpus() -> dict[str, bytes]:
    """Return small files of every format, by name."""
    rows = FRAME.to_dicts()
    found = {
        "a.csv": FRAME.write_csv().encode(),
        "b.tsv": FRAME.write_csv(separator="\t").encode(),
        "c.csv": FRAME.write_csv(separator=";").replace(".", ",").encode("utf-16"),
        "d.csv": b'# note\nsize,name\n5" pipe,x\n6" pipe,"y"\n',
        "e.jsonl": FRAME.write_ndjson().encode(),
        "f.json": json.dumps(rows).encode(),
        "g.json": json.dumps(FRAME.to_dict(as_series=False)).encode(),
        "h.svm": b"1 1:0.5 3:2 # x\n-1 qid:1 2:1e3\n1 1:1 2:1 3:1\n",
        "i.arff": b"@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n"
        b"@attribute d date\n@data\n1,x,2024-01-31\n?,'y z',?\n{0 3, 1 'y z'}\n",
        "j.npz": _npz(zipfile.ZIP_STORED),
        "k.npz": _npz(zipfile.ZIP_DEFLATED),
        "l.xlsx": _workbook(),
    }
    for name, write in (("m.parquet", FRAME.write_parquet), ("n.arrow", FRAME.write_ipc)):
        stream = io.BytesIO()
        write(stream)
        found[name] = stream.getvalue()
    found["o.csv.gz"] = gzip.compress(found["a.csv"], mtime=0)
    return found


def _npz(method: int) -> bytes:
    arrays = {"X": np.arange(6.0).reshape(3, 2), "y": np.array([0, 1, 0])}
    arrays |= {"classes": np.array(["p", "q"]), "feature_names": np.array(["a", "b"])}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, array in arrays.items():
            held = io.BytesIO()
            np.save(held, array)
            archive.writestr(f"{name}.npy", held.getvalue())
    return stream.getvalue()


def _workbook() -> bytes:
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in [FRAME.columns, *FRAME.rows()]:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def rewritten(rng: random.Random, content: bytes) -> bytes:
    """Return an archive one member of which is altered: its checksum is right again."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        altered = rng.choice(old.namelist())
        for name in old.namelist():
            held = old.read(name)
            new.writestr(name, mutated(rng, held, WORDS) if name == altered else held)
    return stream.getvalue()


def altered(rng: random.Random) -> tuple[str, bytes]:
    """Return the name and the bytes of a damaged file."""
    name = rng.choice(list(corpus()))
    content = corpus()[name]
    if content.startswith(b"PK") and rng.random() < 0.7:
        content = rewritten(rng, content)
    elif rng.random() < 0.05:
        content = rng.choice(list(corpus().values()))  # of another format than the name says
    else:
        content = mutated(rng, content, WORDS)
    return name, gzip.compress(content, 1, mtime=0) if rng.random() < 0.03 else content


def attempt(rng: random.Random) -> str:
    """Read one damaged file."""
    name, content = altered(rng)
    path = Path(FOLDER.name) / name
    path.write_bytes(content)
    given = {key: rng.choice(values) for key, values in OPTIONS.items() if rng.random() < 0.07}
    if rng.random() < 0.03:
        given["format"] = rng.choice(list(FORMATS))
    try:
        if rng.random() < 0.7:
            load_file(path, **given)
            return "read"
        given.pop("target", None)
        for _ in read_batches(path, rows=rng.choice((1, 2, 1000)), **given):
            pass
        return "read in batches"
    except DataError as error:
        return "refused" if len(str(error)) < LONGEST_MESSAGE else _too_long(error)


def _too_long(error: DataError) -> str:
    raise AssertionError(f"a message of {len(str(error))} characters") from error


FOLDER = tempfile.TemporaryDirectory(prefix="mercer-fuzz-")

if __name__ == "__main__":
    main(attempt, COUNT)
