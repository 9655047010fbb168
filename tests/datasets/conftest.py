"""What the tests of files share."""

from __future__ import annotations

import pytest


@pytest.fixture
def put(tmp_path):
    """Write a file and return its path."""

    def write(content, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
