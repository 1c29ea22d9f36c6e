"""Table marks as a changelog has them: rows that empty a table, or a stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from cdckit.api.marks import DefinitionChange, MarkKind
from cdckit.errors import SinkError
from cdckit.tables.behavior import Behavior, ChangeKind
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.layout import Layout
from cdckit.tables.logged_marks import logged
from cdckit.tables.marks import Mark

ROWS = Layout("rows", "d.a", (("id", "int"),), ("id",), "c")
EVENT = Layout("truncate", "d.a", (), (), "t")
REKEYED = DefinitionChange(key=(("id",), ("k",)))


def mark(kind: str, position: str = "5", **others: Any) -> Mark:
    return Mark(MarkKind(kind), position, "d.a", "d.a", named=("d", "a"), **others)


def told(
    marks: Sequence[Mark], heads: Sequence[tuple[str, Layout]] = (), *, existed: bool = True, **asked: Any
) -> list[dict[str, Any]]:
    """The rows for marks."""
    behavior, accepted = asked.get("behavior", Behavior()), frozenset(asked.get("accepted", ()))
    target, awaited = DeltaTarget("lake", {}, "t"), frozenset(asked.get("awaited", ()))
    found = logged(marks, heads, behavior, accepted, awaited, target, existed=existed)
    return [row for group in found.rows for row in pa.record_batch(group.batch()[1]).to_pylist()]


@pytest.mark.parametrize("kind", ["snapshot_begin", "truncate", "drop", "create"])
def test_what_empties_a_table_is_a_row(kind: str) -> None:
    [row] = told([mark(kind, scope={"shard": "a", "number": 7})])
    assert row == {
        "__op": "t", "__deleted": False, "__source_ts_ms": None, "__ts_ms": None, "__db": "d", "__table": "a",
        "__position": "5", "shard": "a", "number": 7,
    }  # fmt: skip


def test_before_the_first_row_of_a_table_nothing_is_said() -> None:
    marks = [mark("snapshot_begin", "1"), mark("drop", "5")]
    assert told(marks, existed=False) == []
    assert [row["__position"] for row in told(marks, [("3", ROWS)], existed=False)] == ["5"]


def test_a_truncate_that_came_as_an_event_is_no_second_row() -> None:
    marks = [mark("truncate", "4"), mark("truncate", "5")]
    assert [row["__position"] for row in told(marks, [("4", EVENT)])] == ["5"]


UNTOLD = [mark("untold"), mark("rename"), mark("alter", change=REKEYED)]


@pytest.mark.parametrize("one", UNTOLD, ids=lambda one: one.kind)
def test_what_the_log_does_not_tell_stops_unless_the_table_is_read_anew(one: Mark) -> None:
    with pytest.raises(SinkError, match=r"table lake/t: at position 5 .*cdc resnapshot FILE --table d\.a"):
        told([one])
    assert told([one], awaited=["d.a"]) == told([one], accepted=["d.a"]) == []
    assert [row["__position"] for row in told([one, mark("snapshot_begin", "6")])] == ["6"]
    excluded = frozenset({ChangeKind.ALTER_KEY, ChangeKind.RENAME_TABLE, ChangeKind.TRUNCATE_TABLE})
    assert told([one], behavior=Behavior(exclude=excluded)) == told([one], behavior=Behavior("try_evolve")) == []


@pytest.mark.parametrize(
    "change",
    [
        None,
        DefinitionChange(added=("x",)),
        DefinitionChange(key=(("id",), ("number",)), renamed=(("id", "number"),)),
        DefinitionChange(key=(("id",), ())),
    ],
    ids=["unknown", "other columns", "another name", "no key"],
)
def test_rows_that_are_known_as_before_stop_nothing(change: DefinitionChange | None) -> None:
    assert told([mark("alter", change=change)]) == []


def test_the_key_of_a_table_that_never_had_a_row_may_change() -> None:
    assert told([mark("alter", change=REKEYED)], existed=False) == []
    with pytest.raises(SinkError, match="got another key"):
        told([mark("alter", change=REKEYED)], [("3", ROWS)], existed=False)


def test_a_mark_of_a_packet_says_whose_it_is() -> None:
    packet = mark("drop", scope={"shard": "a"}).packet("t")
    assert packet.mark is not None
    assert Mark.loads(packet.mark) == mark("drop", scope={"shard": "a"})
