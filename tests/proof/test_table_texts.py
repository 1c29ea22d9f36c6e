"""Columns of tables as texts: what stands between columns, or for no value, is told from what a value holds."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, strategies as st

from cdckit.tables.row_texts import joined, split, texts, unescaped

VALUES = st.none() | st.text(st.sampled_from("a\u00e9\U0001f600\x1d\x1e\x1f012"), max_size=4)


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=12), cut=st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_rows_come_back_from_their_texts(rows: list[tuple[str | None, str | None]], cut: tuple[int, int]) -> None:
    columns = [pa.array([row[at] for row in rows], pa.string()).slice(*cut) for at in range(2)]
    made = joined([texts(column, document=False) for column in columns])
    assert [tuple(map(unescaped, split(row))) for row in made] == rows[cut[0] : cut[0] + cut[1]]
    assert len(set(made)) == len(set(rows[cut[0] : cut[0] + cut[1]]))
