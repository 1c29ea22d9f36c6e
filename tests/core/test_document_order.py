"""`_id` before the other fields of a document's JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cdckit.tables.document_order import identifier_first

NAMES = st.sampled_from(['"', "{", "a,b", "\\", "x", "_id ", "id"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('"\\{}[],_id\n')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.just("_id"), inner, max_size=3),
    max_leaves=6,
)
SPACES = st.sampled_from([(",", ": "), (", ", ": "), (",", ":")])


@given(
    fields=st.lists(st.tuples(NAMES, VALUES), unique_by=lambda field: field[0]),
    key=VALUES,
    spaces=SPACES,
    at=st.integers(0, 7),
)
def test_the_others_keep_their_order(fields: list[tuple[str, Any]], key: Any, spaces: tuple[str, str], at: int) -> None:
    shown, stored = list(fields), [("_id", key), *fields]
    shown.insert(at, ("_id", key))
    assert identifier_first(json.dumps(dict(shown), separators=spaces)) == json.dumps(dict(stored), separators=spaces)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "_id", '"_id"', '["_id", 1]', '{"a": "_id"}', '{"a": 1,"b": {"_id": 1}}', '{"a": 1,"_id": 2',
        '{"a": 1,"_id": 2,', '{"a": 1,"_id": 2} ', '{"a": 1,"_id": 2}}', '{"a": "\\',
    ],
)  # fmt: skip
def test_what_is_no_such_document_stays(text: str) -> None:
    assert identifier_first(text) == text
