"""Changes of keys gone through in the log's order, against a table that is changed by them one after another."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, strategies as st

from cdckit.tables.key_follower import Follower
from cdckit.tables.layout import ABSENT, OLD_KEY, OP, POSITION

GONE = "gone"
COLUMNS = ("a", "b")
SCHEMA = pa.schema([
    ("k", pa.int64()), ("a", pa.string()), ("b", pa.int64()), (POSITION, pa.string()), (OP, pa.string()),
    (ABSENT, pa.string()), (f"{OLD_KEY}k", pa.int64()),
])  # fmt: skip

Row = tuple[str | None, int | None]
Table = dict[int, Row]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "change", "move", "move", "delete"]),
        st.integers(1, 4),
        st.integers(1, 4),
        st.sampled_from([None, "x", "y"]),
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from([(), ("a",), ("b",), ("a", "b")]),
    ),
    max_size=14,
)
TABLES = st.dictionaries(st.integers(1, 4), st.tuples(st.sampled_from([None, "t", "u"]), st.integers(10, 19)))


class Log:
    """A table, and the events of what happens to it as partial row images tell."""

    def __init__(self, rows: Table) -> None:
        self.rows = dict(rows)
        self.events: list[dict[str, object]] = []

    def step(self, what: str, key: int, other: int, a: str | None, b: int | None, carried: tuple[str, ...]) -> None:
        row = (a, b)
        if what == "put" and key not in self.rows:
            self._event("c", key, row, COLUMNS)
            self.rows[key] = row
        elif what == "change" and key in self.rows:
            self.rows[key] = self._event("c", key, row, carried)
        elif what == "delete" and key in self.rows:
            self._event("d", key, (None, None), ())
            del self.rows[key]
        elif what == "move" and key in self.rows and other not in self.rows:
            self._event("d", key, (None, None), ())
            self.rows[other] = self._event("m", other, row, carried, key)
            del self.rows[key]

    def _event(self, op: str, key: int, row: Row, carried: tuple[str, ...], old: int | None = None) -> Row:
        before = self.rows.get(key if old is None else old, (None, None))
        absent = [name for name in COLUMNS if name not in carried]
        a = row[0] if "a" in carried else GONE
        b = row[1] if "b" in carried else None
        self.events.append({
            "k": key, "a": a, "b": b, POSITION: f"{len(self.events):04}", OP: op,
            ABSENT: f",{','.join(absent)}," if absent else None, f"{OLD_KEY}k": old,
        })  # fmt: skip
        return (row[0] if "a" in carried else before[0], row[1] if "b" in carried else before[1])


@given(TABLES, STEPS)
def test_rows_come_out_as_they_are(
    rows: Table, steps: list[tuple[str, int, int, str | None, int | None, tuple[str]]]
) -> None:
    log = Log(rows)
    for step in steps:
        log.step(*step)
    follower = Follower(pa.Table.from_pylist(log.events, SCHEMA), ["k"], ["a", "b"], GONE)
    last = follower.last()
    assert _applied(rows, last) == log.rows
    assert _sought(last, log) <= {event[f"{OLD_KEY}k"] for event in log.events if event[OP] == "m"}


def _sought(last: pa.Table, log: Log) -> set[object]:
    """The keys under which the table is asked for rows, of those that are followed: keys that take part in a change."""
    moves = [event for event in log.events if event[OP] == "m"]
    touched = {event[name] for event in moves for name in ("k", f"{OLD_KEY}k")}
    return {row[f"{OLD_KEY}k"] for row in last.to_pylist() if row[ABSENT] is not None and row["k"] in touched}


def _applied(rows: Table, last: pa.Table) -> Table:
    """The table with the last changes; a value that is missing is looked up where the change says."""
    found = dict(rows)
    for change in last.to_pylist():
        absent = change[ABSENT] or ""
        if change[OP] == "d":
            found.pop(change["k"], None)
            continue
        old = rows.get(change[f"{OLD_KEY}k"], (None, None))
        found[change["k"]] = (old[0] if ",a," in absent else change["a"], old[1] if ",b," in absent else change["b"])
    assert len({change["k"] for change in last.to_pylist()}) == last.num_rows
    return found
