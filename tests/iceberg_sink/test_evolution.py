"""What Iceberg tables become as definitions at the source change, and which files are written anew for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cdckit.errors import SinkError
from cdckit.tables.behavior import Behavior, EvolutionMode
from cdckit.tables.evolution import Evolution
from cdckit.tables.policy import Policy
from cdckit.tables.target import BatchId
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.target import IcebergTarget
from delta_sink.test_evolution import ALTER, NEW, evolved


def target_in(folder: Path, **options: Any) -> IcebergTarget:
    """A table of a catalog in a folder."""
    place = {"catalog.type": "sql", "catalog.uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "lake")}
    return IcebergTarget(LakeCatalog(IcebergConfig.load({**place, **options}, "sink")[0]), "t")


def files_of(target: IcebergTarget) -> set[str]:
    return {task.file.file_path for task in target.table.scan().plan_files()}


def found(target: IcebergTarget) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = target.table.scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


def changed(folder: Path, mode: EvolutionMode, *, mirror: bool = True) -> IcebergTarget:
    return evolved(target_in(folder), Policy(mirror, Behavior(mode), told=True))


@pytest.mark.parametrize("mode", ["evolve", "try_evolve"])
def test_a_mirror_follows(tmp_path: Path, mode: EvolutionMode) -> None:
    target = changed(tmp_path, mode)
    assert target.columns() == {"id": "int", "n": "bigint", "x": "string"}
    assert found(target) == [{"id": 1, "n": 5, "x": "seven"}, {"id": 2, "n": None, "x": "seven"}]
    assert target.notes()["due"] == "[]"


def test_lenient_loses_nothing(tmp_path: Path) -> None:
    target = changed(tmp_path, "lenient")
    assert target.columns() == {"id": "int", "v": "int", "w": "string", "n": "bigint", "x": "string"}
    assert found(target)[0] == {"id": 1, "v": 5, "w": "a", "n": None, "x": "seven"}


def test_a_changelog_keeps_what_it_has(tmp_path: Path) -> None:
    target = changed(tmp_path, "evolve", mirror=False)
    assert target.columns() == {"id": "int", "n": "bigint", "w": "string", "x": "string"}
    assert found(target)[0] == {"id": 1, "n": 5, "w": "a", "x": None}


def test_exception_stops(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"schema accept FILE --table shop\.t"):
        changed(tmp_path, "exception")


def made(folder: Path, columns: dict[str, str], rows: dict[str, Any], **options: Any) -> IcebergTarget:
    target = target_in(folder, **options)
    target.create(columns, {})
    target.append(pa.table(rows), BatchId("p/g", 1))
    return target


def test_names_and_wider_types_touch_no_file(tmp_path: Path) -> None:
    columns = {"id": "int", "f": "float", "d": "decimal(5,2)", "gone": "string"}
    target = made(tmp_path, columns, {"id": [1], "f": [1.5], "d": [None], "gone": ["x"]})
    before, numbers = files_of(target), {field.name: field.field_id for field in target.table.schema().fields}
    steps: list[list[Any]] = [
        ["widen", "id", "bigint"], ["widen", "f", "double"], ["widen", "d", "decimal(9,2)"], ["drop", "gone"],
        ["rename", "f", "aside"], ["rename", "id", "f"], ["rename", "aside", "id"], ["add", "gone", "int"],
        ["comment", "id", "a number"], ["comment", "", "some rows"],
    ]  # fmt: skip
    target.alter(steps)
    assert files_of(target) == before
    assert target.columns() == {"f": "bigint", "id": "double", "d": "decimal(9,2)", "gone": "int"}
    assert found(target) == [{"f": 1, "id": 1.5, "d": None, "gone": None}]
    table = target.table
    now = {field.name: field.field_id for field in table.schema().fields}
    assert (now["f"], now["id"], now["gone"] > max(numbers.values())) == (numbers["id"], numbers["f"], True)
    assert (table.schema().find_field("id").doc, table.properties["comment"]) == ("a number", "some rows")


def test_other_types_have_the_files_written_anew_in_one_commit(tmp_path: Path) -> None:
    target = made(tmp_path, {"id": "int", "big": "bigint"}, {"id": [1, 2], "big": [-1, 7]})
    target.alter([["widen", "big", "decimal(20,0)"], ["unsigned", "big"]])
    assert [int(row["big"]) for row in found(target)] == [(1 << 64) - 1, 7]
    assert len(target.table.snapshots()) == 2


def test_an_alteration_that_was_broken_off_is_finished_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    class KilledError(Exception):
        pass

    alter = IcebergTarget.alter

    def killed(self: IcebergTarget, steps: Any) -> None:
        raise KilledError

    monkeypatch.setattr(IcebergTarget, "alter", killed)
    with pytest.raises(KilledError):
        changed(tmp_path, "evolve")
    monkeypatch.setattr(IcebergTarget, "alter", alter)
    target = target_in(tmp_path)
    evolution = Evolution(target, Policy(mirror=True, told=True))
    evolution.follow([("p3", NEW)], [ALTER])
    assert found(target) == [{"id": 1, "n": 5, "x": "seven"}, {"id": 2, "n": None, "x": "seven"}]


def test_a_column_that_partitions_stays(tmp_path: Path) -> None:
    target = made(tmp_path, {"id": "int", "v": "string"}, {"id": [1], "v": ["a"]}, **{"partition.by": "v"})
    with pytest.raises(SinkError, match="partitioned by column 'v'"):
        target.alter([["drop", "v"]])
    target.alter([["rename", "v", "w"]])
    assert found(target) == [{"id": 1, "w": "a"}]
