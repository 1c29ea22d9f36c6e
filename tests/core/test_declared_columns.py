"""Columns that are declared of documents, read out of their JSON."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.tables.documents import parse_columns, parsed


def read(kind: str, text: str) -> Any:
    (column,) = parse_columns(f"f {kind}")
    return column.value_in(parsed(f'{{"f": {text}}}'))


@pytest.mark.parametrize(("kind", "text", "value"), [
    ("int", "-2147483648", -(1 << 31)),
    ("bigint", '{"$numberLong": "-9223372036854775808"}', -(1 << 63)),
    ("bigint", "1.152921504606847E18", 1 << 60),
    ("double", "-Infinity", float("-inf")),
    ("string", "NaN", "NaN"),
    ("json", "[1, Infinity]", '[1,{"$numberDouble":"Infinity"}]'),
])  # fmt: skip
def test_numbers_at_the_ends_of_their_range_keep_their_values(kind: str, text: str, value: object) -> None:
    """As JSON a double is shown with as few digits as tell it from others, which need not be those of its value."""
    assert read(kind, text) == value


@pytest.mark.parametrize(("kind", "text"), [
    ("int", "2147483648"), ("int", "-2147483649"), ("bigint", "9.223372036854775808E18"), ("int", "Infinity"),
    ("bigint", "NaN"), ("decimal(9,2)", "Infinity"),
])  # fmt: skip
def test_numbers_beyond_are_of_another_type(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"field f is no \w+"):
        read(kind, text)
