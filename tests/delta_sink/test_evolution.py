"""What Delta tables become as definitions at the source change, in every mode, as delta-rs writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cdckit.api.marks import DefinitionChange, MarkKind
from cdckit.errors import SinkError
from cdckit.tables.behavior import Behavior, ChangeKind, EvolutionMode
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.policy import Policy
from cdckit.tables.target import BatchId

AnyTarget = TypeVar("AnyTarget", bound=LakeTarget)

OLD = Layout("rows", "shop.t", (("id", "int"), ("v", "int"), ("w", "string")), ("id",))
NEW = Layout("rows", "shop.t", (("id", "int"), ("n", "bigint"), ("x", "string")), ("id",), older=(("x", "seven"),))
CHANGE = DefinitionChange(added=("x",), dropped=("w",), renamed=(("v", "n"),), retyped=("n",))
ALTER = Mark(MarkKind.ALTER, "p2", "shop.t", "shop.t", layout=NEW, change=CHANGE, statement="ALTER TABLE t ...")


def changed(folder: Path, mode: EvolutionMode, *, mirror: bool = True, **kinds: frozenset[ChangeKind]) -> DeltaTarget:
    return evolved(DeltaTarget(str(folder), {}, "t"), Policy(mirror, Behavior(mode, **kinds), told=True))


def evolved(target: AnyTarget, policy: Policy) -> AnyTarget:
    """A table with two rows; of its source a column goes, one comes, one gets another name and a wider type."""
    evolution = Evolution(target, policy)
    evolution.follow([("p1", OLD)])
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "v": pa.array([5, None], pa.int32()), "w": ["a", "b"]})
    target.append(rows, BatchId("p/g", 1))
    evolution.follow([("p3", NEW)], [ALTER])
    return target


def found(target: DeltaTarget) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = DeltaTable(target.path).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


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


def test_ignore_leaves_the_columns(tmp_path: Path) -> None:
    assert changed(tmp_path, "ignore").columns() == {"id": "int", "v": "int", "w": "string"}


def test_exception_stops(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"schema accept FILE --table shop\.t"):
        changed(tmp_path, "exception")


def test_a_changelog_keeps_what_it_has(tmp_path: Path) -> None:
    target = changed(tmp_path, "evolve", mirror=False)
    assert target.columns() == {"id": "int", "n": "bigint", "w": "string", "x": "string"}
    assert found(target)[0] == {"id": 1, "n": 5, "w": "a", "x": None}


def test_kinds_are_left_out(tmp_path: Path) -> None:
    target = changed(tmp_path, "evolve", exclude=frozenset({ChangeKind.DROP_COLUMN}))
    assert target.columns() == {"id": "int", "n": "bigint", "w": "string", "x": "string"}


@pytest.mark.parametrize("step", ["note", "rewritten"])
def test_an_alteration_that_was_broken_off_is_finished_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Killed before the files are written anew, or behind that."""

    class KilledError(Exception):
        pass

    write = DeltaTarget._overwrite

    def killed(self: DeltaTarget, rows: pa.Table, batch: BatchId) -> None:
        if step == "rewritten":
            write(self, rows, batch)
        raise KilledError

    monkeypatch.setattr(DeltaTarget, "_overwrite", killed)
    with pytest.raises(KilledError):
        changed(tmp_path, "evolve")
    monkeypatch.setattr(DeltaTarget, "_overwrite", write)
    target = DeltaTarget(str(tmp_path), {}, "t")
    evolution = Evolution(target, Policy(mirror=True, told=True))
    evolution.follow([("p3", NEW)], [ALTER])
    assert found(target) == [{"id": 1, "n": 5, "x": "seven"}, {"id": 2, "n": None, "x": "seven"}]


def test_an_acceptance_holds_for_marks_that_come_again(tmp_path: Path) -> None:
    """As where another table has stopped their batch; for what happens later another one is wanted."""
    changed(tmp_path, "evolve")
    emptied = [Mark(MarkKind.TRUNCATE, "p5", "shop.t", "shop.t"), Mark(MarkKind.DROP, "p6", "shop.t", "shop.t")]
    for number in ("one", "one", "two"):
        evolution = Evolution(DeltaTarget(str(tmp_path), {}, "t"))
        assert evolution.present()
        assert evolution.accepts({"shop.t": number}, emptied) == {"shop.t"}
        evolution.use({"shop.t": number}, emptied)
    later = [*emptied, Mark(MarkKind.CREATE, "p7", "shop.t", "shop.t")]
    assert Evolution(DeltaTarget(str(tmp_path), {}, "t")).accepts({"shop.t": "two"}, later) == set()


def test_signed_numbers_of_an_older_version_become_unsigned(tmp_path: Path) -> None:
    """Such a table does not say whose it is, and has BIGINT UNSIGNED as bigint."""
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create({"id": "int", "big": "bigint"}, {})
    target.append(pa.table({"id": pa.array([1, 2], pa.int32()), "big": [-1, 7]}), BatchId("p/g", 1))
    target.alter([["widen", "big", "decimal(20,0)"], ["unsigned", "big"]])
    assert [int(str(row["big"])) for row in found(target)] == [(1 << 64) - 1, 7]
