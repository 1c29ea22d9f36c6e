"""Of decimals that the log cannot tell exactly it has no bounds, whatever has written the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arro3.core import RecordBatch, RecordBatchReader
from deltalake import write_deltalake

from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId

COLUMNS = {"id": "decimal(20,0)", "v": "string"}
SMALL, WIDE = 999_999_999_999_999, 9_007_199_254_740_993
"""The greatest number that has exact bounds, and one that a double-precision number does not hold."""


def made(folder: Path, **placing: Any) -> DeltaTarget:
    target = DeltaTarget(str(folder), {}, "t", Placing(**placing))
    target.create(COLUMNS, {})
    return target


def rows(target: DeltaTarget, *ids: int) -> pa.Table:
    found = {name: [Decimal(one) if name == "id" else str(one) for one in ids] for name in target.schema().names}
    return pa.table(found, schema=target.schema())


def stream(target: DeltaTarget, *ids: int) -> pa.RecordBatchReader:
    """Each row in a batch of its own."""
    batches = [batch for one in ids for batch in rows(target, one).to_batches()]
    return pa.RecordBatchReader.from_batches(target.schema(), iter(batches))


def batch(number: int = 1) -> BatchId:
    return BatchId("p/g", number)


def bounds(target: DeltaTarget) -> list[tuple[int | None, int | None]]:
    """The least and the greatest id that the log tells of each file, of which it tells all else."""
    target.refresh()
    told = pa.table(target.table.get_add_actions(flatten=True)).to_pylist()
    assert all(file["num_records"] and file["min.v"] and file["max.v"] for file in told)
    found = [(file.get("min.id"), file.get("max.id")) for file in told]
    return sorted(found, key=str)


def merged(target: DeltaTarget, number: int, *ids: int) -> None:
    put = rows(target, *ids)
    changes = put.append_column(OP, pa.array(["u"] * len(ids)))
    target.merge(Merge(changes, ("id",), (), ()), batch(number))
    target.refresh()


def by_merge(target: DeltaTarget, *ids: int) -> None:
    merged(target, 1, *ids)


def by_local_file(target: DeltaTarget, *ids: int) -> None:
    reader = RecordBatchReader.from_arrow(stream(target, *ids))
    target.append_batches(reader.schema, _each(reader), batch())


def _each(reader: RecordBatchReader) -> Iterator[RecordBatch]:
    yield from map(RecordBatch.from_arrow, reader)


WRITERS: dict[str, Callable[..., object]] = {
    "append": lambda target, *ids: target.append(rows(target, *ids), batch()),
    "stream": lambda target, *ids: target.append(stream(target, *ids), batch()),
    "another stream": lambda target, *ids: target.append(RecordBatchReader.from_arrow(stream(target, *ids)), batch()),
    "replace": lambda target, *ids: target.replace(rows(target, *ids), batch()),
    "replace by a stream": lambda target, *ids: target.replace(stream(target, *ids), batch()),
    "merge": by_merge,
    "local file": by_local_file,
}


@pytest.mark.parametrize("written", WRITERS)
def test_bounds_are_told_of_numbers_alone_that_they_hold_exactly(tmp_path: Path, written: str) -> None:
    exact, wide = made(tmp_path / "exact"), made(tmp_path / "wide")
    WRITERS[written](exact, 1, SMALL)
    WRITERS[written](wide, 1, SMALL + 1)
    assert bounds(exact) == [(1, SMALL)]
    assert bounds(wide) == [(None, None)]
    found = pa.Table.from_batches(list(wide.scan(["id"]))).column("id").to_pylist()
    assert sorted(found) == [1, SMALL + 1]


@pytest.mark.parametrize("written", WRITERS)
def test_more_digits_behind_the_point_than_bounds_have(tmp_path: Path, written: str) -> None:
    """A column of such numbers has no bounds, unless there is none in a file."""
    target = DeltaTarget(str(tmp_path / written), {}, "t")
    target.create({"id": "decimal(30,30)", "v": "string"}, {})
    WRITERS[written](target, 0)
    assert bounds(target) == [(None, None)]
    assert pa.Table.from_batches(list(target.scan(["id"]))).column("id").to_pylist() == [0]


@pytest.mark.parametrize("cluster_by", [(), ("v",)])
def test_files_that_are_put_together(tmp_path: Path, cluster_by: tuple[str, ...]) -> None:
    exact, wide = made(tmp_path / "exact", cluster_by=cluster_by), made(tmp_path / "wide", cluster_by=cluster_by)
    for number in range(1, 10):
        exact.append(rows(exact, number), batch(number))
        wide.append(rows(wide, WIDE if number == 5 else number), batch(number))
    for target in (exact, wide):
        target.refresh()
        target.maintain()
    assert bounds(exact) == [(1, 9)]
    assert bounds(wide) == [(None, None)]


def test_files_that_are_written_anew_for_other_rows(tmp_path: Path) -> None:
    """What a file holds besides counts, too."""
    target = made(tmp_path)
    target.append(rows(target, 1, WIDE), batch(1))
    target.append(rows(target, 2, 3), batch(2))
    merged(target, 3, 1)
    assert bounds(target) == [(2, 3), (None, None)]
    target.delete([(("v", "1"),)], batch(4))
    assert bounds(target) == [(2, 3), (None, None)]


@pytest.mark.parametrize("mended", ["replace", "maintain"])
def test_files_of_before_lose_rounded_bounds_as_they_are_written_anew(tmp_path: Path, mended: str) -> None:
    target = made(tmp_path)
    for number in (WIDE, WIDE + 2):
        write_deltalake(target.path, rows(target, number), mode="append")
    assert bounds(target) == [(WIDE - 1, WIDE - 1), (WIDE + 3, WIDE + 3)]
    if mended == "replace":
        target.replace(stream(target, WIDE), batch())
    else:
        target.maintain()
    assert bounds(target) == [(None, None)]


def test_a_column_that_becomes_one_of_such_numbers(tmp_path: Path) -> None:
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create({"id": "bigint", "v": "string"}, {})
    target.append(pa.table({"id": [WIDE], "v": ["a"]}, schema=target.schema()), batch())
    assert bounds(target) == [(WIDE, WIDE)]
    target.alter([["widen", "id", "decimal(20,0)"]])
    assert bounds(target) == [(None, None)]


def test_names_that_files_do_not_have(tmp_path: Path) -> None:
    """Those of a table whose names are mapped."""
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create({"the id": "decimal(20,0)", "v": "string"}, {})
    schema = target.schema()
    target.append(pa.table([[Decimal(WIDE)], ["a"]], schema=schema), batch())
    put = pa.table([[Decimal(WIDE)], ["b"]], schema=schema).append_column(OP, pa.array(["u"]))
    target.merge(Merge(put, ("the id",), (), ()), batch(2))
    for told in statistics(Path(target.path)):
        assert [*told["minValues"].values(), *told["maxValues"].values()] in (["a", "a"], ["b", "b"])


def test_numbers_within_structs(tmp_path: Path) -> None:
    """Nothing is told of such a file."""
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create({"v": "string", "s": "struct<n:decimal(20,0)>"}, {})
    found = pa.table([["a"], [{"n": Decimal(WIDE)}]], schema=target.schema())
    target.append(found, batch(1))
    reader = RecordBatchReader.from_arrow(found.to_reader())
    target.append_batches(reader.schema, _each(reader), batch(2))
    assert all("s" not in told["maxValues"] for told in statistics(Path(target.path)))


def statistics(table: Path) -> Iterator[dict[str, Any]]:
    """What the log tells of each file that was ever added."""
    for version in sorted((table / "_delta_log").glob("*.json")):
        for line in version.read_text().splitlines():
            if (added := json.loads(line).get("add")) is not None:
                yield json.loads(added["stats"])
