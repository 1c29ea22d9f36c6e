"""What the planner keeps for workers is what they read, on its machine and on others."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from cdckit.api.marks import MarkKind, TableExample, TableMark
from cdckit.api.record import Record
from cdckit.api.schema import INT64, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.api.undecoded import Undecoded
from cdckit.engine.spark.kept_batches import MEMBER, BatchWriter, KeptBatch, KeptBatches
from cdckit.engine.spark.kept_inbox import KeptInbox
from cdckit.engine.spark.kept_parts import Part
from cdckit.errors import SnapshotDueError, StateError

ROW = struct_schema("row", {"id": INT64, "name": STRING})
EVENT = struct_schema("event", {"after": ROW, "op": STRING})


def _record(number: int) -> Record:
    return Record("t", None, Struct(EVENT, (Struct(ROW, (number, "ü")), "c")), position=f"{number:03d}")


def _kept(folder: Path) -> tuple[KeptBatches, KeptBatch]:
    kept = KeptBatches(folder)
    with kept.writer() as writer:
        writer.add(Part([_record(1), _record(2)], (), 10))
        example = TableExample("d.t", (_record(1), _record(2)))
        mark = TableMark(MarkKind.TRUNCATE, "003", example, lambda: [example])
        piece = Undecoded("004", "t", "it is damaged", {"value": b"\0"}, {"at": 4})
        writer.add(Part([_record(5)], [mark], 20, [piece]))
        writer.passes()
        writer.add(Part([_record(6)], (), 30))
        writer.finish()
    found = kept.of({"n": 1, MEMBER: writer.name})
    assert found is not None
    return kept, found


@pytest.mark.parametrize("elsewhere", [False, True])
def test_it_is_read_as_it_was_written_up_to_where_it_may_end(tmp_path: Path, elsewhere: bool) -> None:
    _, batch = _kept(tmp_path / "kept")
    with closing(KeptInbox(tmp_path / "kept", "127.0.0.1")) as inbox:
        first, second = batch.parts(inbox.address if elsewhere else None)
    values = [record.value for part in (first, second) for record in part.records]
    assert values == [_record(number).value for number in (1, 2, 5)]
    assert len({id(value.schema) for value in values if isinstance(value, Struct)}) == 1
    assert all(value["after"].schema is value.schema.fields[0].schema for value in values if isinstance(value, Struct))
    assert (first.log_bytes, second.log_bytes) == (10, 20)
    [mark], [piece] = second.marks, second.undecoded
    assert [example.table for example in mark.captured()] == ["d.t"]
    assert (piece.position, piece.raw) == ("004", {"value": b"\0"})
    assert batch.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_is_gone_or_damaged_is_told(tmp_path: Path, elsewhere: bool) -> None:
    kept, batch = _kept(tmp_path)
    os.truncate(batch.path, batch.path.stat().st_size - 1)
    with closing(KeptInbox(tmp_path, "127.0.0.1")) as inbox:
        address = inbox.address if elsewhere else None
        with pytest.raises(StateError, match="cannot be read again"):
            list(batch.parts(address))
        batch.path.unlink()
        with pytest.raises(StateError, match="cannot be read again"):
            list(batch.parts(address))
    with pytest.raises(SnapshotDueError, match="is gone"):
        kept.of({MEMBER: batch.path.stem})
    assert kept.of({"n": 1}) is None


def test_a_batch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    kept = KeptBatches(tmp_path)
    _fails(kept.writer())
    assert list(tmp_path.iterdir()) == []


def _fails(writer: BatchWriter) -> None:
    with pytest.raises(ZeroDivisionError), writer:
        writer.add(Part([_record(1)], (), 0))
        raise ZeroDivisionError
