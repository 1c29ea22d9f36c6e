"""Names in one text."""

from __future__ import annotations

import pytest

from cdckit import names_in, names_text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["id"], "id"),
        (["a", "b", "a,b"], "a,b,a%2Cb"),
        (["100%", "%2c"], "100%,%2c"),  # as they are
        (["a%2Cb", "a%25b", ",%"], "a%252Cb,a%2525b,%2C%25"),
    ],
)
def test_names_are_told_apart(names: list[str], text: str) -> None:
    assert names_text(names) == text
    assert names_in(text) == names
