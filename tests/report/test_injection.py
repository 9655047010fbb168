"""Names, labels and values that want to be more than text, through the command into a browser."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from tests.cli.conftest import ended  # noqa: E402
from tests.report.test_browser import PROGRAM, browser, context  # noqa: E402, F401

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

RUN = "window.harmed=1;fetch('http://127.0.0.1:9/'+document.title)"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror=\"{RUN}\">",
    f"\"><svg onload=\"{RUN}\">",
    f"' onmouseover='{RUN}' x='",
    f"javascript:{RUN}",
    "<style>@import url(http://127.0.0.1:9/a.css);*{background:url(http://127.0.0.1:9/b)}</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/c><base href=http://127.0.0.1:9/>",
    "<!--", "]]>", "</title></head><body>", "{{7*7}}${7*7}`", "=cmd()|'/C calc'!A0",
    "\x1b[31m\u202e\u2066\u2028 end", "a\nb\r\nc\td",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of all commands for a table whose every name and value is a payload."""
    folder = tmp_path_factory.mktemp("harm")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    classes = np.array(PAYLOADS[:3])[np.digitize(x[:, 0], [-0.4, 0.4])]
    columns = {PAYLOADS[0]: x[:, 0], PAYLOADS[2]: x[:, 1]}
    columns |= {name: rng.choice(PAYLOADS, 150) for name in PAYLOADS[3:6]}
    pl.DataFrame(columns | {PAYLOADS[1]: classes}).write_parquet(folder / "harm.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        target = ("-t", PAYLOADS[1], "--effort", "quick")
        for name in ("bayes", "svm"):
            words = ("--model", name, "--save", f"<b>{name}.mercer", "--report", f"{name}.html")
            assert ended("fit", "harm.parquet", *target, *words, "-q") == 0
        models = ("<b>bayes.mercer", "<b>svm.mercer")
        shown = ("--report", "compare.html", "-q")
        assert ended("compare", "harm.parquet", *models, *shown) == 0
        colored = ("--color", PAYLOADS[1], "--report", "embed.html", "-q")
        assert ended("embed", "harm.parquet", "--method", "pca", *colored) == 0
    return folder


@pytest.mark.parametrize("name", ["svm", "compare", "embed"])
def test_no_script_runs_and_no_request_leaves(pages, context, name):  # noqa: F811
    page = context().new_page()
    requests, dialogs = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    address = (pages / f"{name}.html").as_uri()
    page.goto(address)
    for tab in page.locator("[role=tab]").all():
        tab.click()
        for mark in page.locator("[data-tip]:visible").all()[:5]:
            mark.dispatch_event("mouseover")
            mark.dispatch_event("pointermove")
    assert page.evaluate("window.harmed") is None
    assert requests == [address]
    assert dialogs == []
    assert page.locator("body").inner_text()
    page.close()
