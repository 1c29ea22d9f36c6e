"""Rows that a table does not take, found where somebody asks which: by what the table asks of rows, in no commit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cdckit.api.record import Record
from cdckit.errors import RowsRefusedError
from cdckit.tables.context import TableContext
from cdckit.tables.refused import RowsFoundError
from cdckit_delta.config import DeltaConfig
from cdckit_delta.sink import DeltaSink
from spark.test_encoder import event

CHECK = "constraint 'good' (name NOT LIKE 'bad%') does not hold"


def _opened(folder: Path, mode: str, *, finds: bool = True) -> DeltaSink:
    sink = DeltaSink(DeltaConfig.load({"path": str(folder), "mode": mode}, "sink")[0])
    sink.open(TableContext("p", "g", finds_refused=finds))
    sink.begin("g", ())
    return sink


def _change(op: str, number: int, name: str | None, place: int) -> Record:
    return event(op, number, name).replace(position=f"p{place}")


def _write(sink: DeltaSink, records: Sequence[Record], batch: int) -> None:
    sink.write(records, (), whole=True)
    try:
        sink.commit(batch, again=True)
    finally:
        sink.drop()


def _made(folder: Path, sink: DeltaSink) -> DeltaTable:
    """A table with a row, which asks something of rows from then on."""
    _write(sink, [_change("c", 1, "n", 0)], 0)
    [place] = folder.iterdir()
    table = DeltaTable(str(place))
    table.alter.add_constraint({"good": "name NOT LIKE 'bad%'"})
    sink.look_again()
    return table


BAD = [_change("c", 2, "bad", 1), _change("c", 3, "c", 2), _change("c", 4, "bad", 3), _change("u", 4, "d", 4)]


@pytest.mark.parametrize(
    ("mode", "places", "filed"),
    [
        ("changelog", {"p1", "p3"}, False),
        ("changelog", {"p1", "p3"}, True),
        ("mirror", {"p1"}, False),
        ("mirror", {"p1"}, True),
        ("history", {"p1", "p3"}, False),
    ],
)
def test_they_are_named_and_all_others_are_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, places: set[str], filed: bool
) -> None:
    """Of several changes of a row in a batch a mirror puts the newest alone."""
    with closing(_opened(tmp_path, mode)) as sink:
        table = _made(tmp_path, sink)
        if filed:
            monkeypatch.setattr("cdckit.tables.lake.sink.FULL_BYTES", 1)
            monkeypatch.setattr("cdckit.tables.lake.sink._GATHERED", 1)
        with pytest.raises(RowsFoundError) as found:
            _write(sink, BAD, 1)
        assert set(found.value.reasons) == places
        assert all(said.endswith(CHECK) for said in found.value.reasons.values())
        assert str(found.value).startswith(f"table {tmp_path}/t: ")
        _write(sink, [record for record in BAD if record.position not in places], 1)
        _write(sink, BAD, 1)  # what comes again is passed over
    table.update_incremental()
    rows = table.to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["name"]) for row in rows) == [(1, "n"), (3, "c"), (4, "d")]


def test_where_nobody_asks_it_is_said_that_rows_are_refused(tmp_path: Path) -> None:
    with closing(_opened(tmp_path, "changelog", finds=False)) as sink:
        _made(tmp_path, sink)
        with pytest.raises(RowsRefusedError) as refused:
            _write(sink, BAD, 1)
    assert not isinstance(refused.value, RowsFoundError)


def test_a_null_breaks_a_constraint_and_a_column_that_takes_none(tmp_path: Path) -> None:
    with closing(_opened(tmp_path, "changelog")) as sink:
        _made(tmp_path, sink)
        with pytest.raises(RowsFoundError) as found:
            _write(sink, [_change("c", 2, None, 1), _change("c", 3, "c", 2)], 1)
    assert set(found.value.reasons) == {"p1"}
