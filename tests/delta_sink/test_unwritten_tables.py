"""Tables, and rows, that delta-rs does not take however often it is asked stop the pipeline, with what helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

from cdckit.errors import RetriableSinkError, RowsRefusedError, SinkError
from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId
from cdckit_delta.sink import DeltaSink


def made(folder: Path, columns: dict[str, str], **properties: str) -> DeltaTarget:
    target = DeltaTarget(str(folder), {}, "t", Placing(properties=properties))
    target.create(columns, {})
    return target


def rows(target: DeltaTarget, *ids: int) -> pa.Table:
    return pa.table({"id": ids}, schema=target.schema())


def told(work: Callable[[], None]) -> SinkError:
    with pytest.raises(SinkError) as raised, DeltaSink.faults.told("t"):
        work()
    return raised.value


def merged(target: DeltaTarget) -> None:
    changes = rows(target, 1).append_column(OP, pa.array(["d"]))
    target.merge(Merge(changes, ("id",), (), ()), BatchId("p/g", 2))


def test_a_feature_that_it_does_not_know(tmp_path: Path) -> None:
    target = made(tmp_path, {"id": "int"})
    feature = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
    protocol = json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **feature}})
    Path(target.path, "_delta_log", f"{1:020}.json").write_text(protocol)
    target.refresh()
    error = told(lambda: target.append(rows(target, 1), BatchId("p/g", 1)))
    assert not isinstance(error, RetriableSinkError)
    assert "TypeWidening" in str(error)
    assert "DROP FEATURE" in str(error)


def test_a_table_that_is_appended_to_alone(tmp_path: Path) -> None:
    target = made(tmp_path, {"id": "int"}, **{"delta.appendOnly": "true"})
    target.append(rows(target, 1), BatchId("p/g", 1))
    target.refresh()
    error = told(lambda: merged(target))
    assert not isinstance(error, RetriableSinkError)
    assert "delta.appendOnly" in str(error)


def test_commits_that_another_came_before_are_tried_again(tmp_path: Path) -> None:
    one = made(tmp_path, {"id": "int"})
    one.append(rows(one, 1), BatchId("p/g", 1))
    other = DeltaTarget(str(tmp_path), {}, "t")
    assert other.version_of("p/g") == 1
    one.refresh()
    one.clear(BatchId("q/g", 1))
    error = told(lambda: other.replace(rows(other, 2), BatchId("p/g", 2)))
    assert isinstance(error, RetriableSinkError)
    assert isinstance(error.__cause__, CommitFailedError)


@pytest.mark.parametrize("count", [499, 500, 503])
def test_so_many_rows_are_refused_as_others_are(tmp_path: Path, count: int) -> None:
    """How many there are is told with a number that stores have, too, when they are away."""
    target = made(tmp_path, {"id": "int"})
    target.table.alter.add_constraint({"positive": "id > 0"})
    target.refresh()
    error = told(lambda: target.append(rows(target, *range(-count, 0)), BatchId("p/g", 1)))
    assert f"{count} rows" in str(error)
    assert isinstance(error, RowsRefusedError)
