"""Each kind of change of a definition, live: followed, left out, or refused with a command that resolves it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from cdckit.tables.behavior import ChangeKind, EvolutionMode
from delta_sink.kinds import KINDS, UNTOLD
from delta_sink.outcomes import FIRST, HALVES, OUTCOMES, where_left_out
from delta_sink.played import COMMAND, Played
from delta_sink.shop import Shop
from testkit.servers.mariadb import MariaDBServer

NewPlayed = Callable[..., Played]


@pytest.fixture
def played(shop: Shop, capsys: pytest.CaptureFixture[str]) -> NewPlayed:
    """Makes a pipeline of a mode and options of `schema.evolution`."""

    def make(
        evolution: EvolutionMode, *, mode: str = "mirror", shop: Shop = shop, **kinds: Collection[ChangeKind]
    ) -> Played:
        options = {f"schema.evolution.{name}": ",".join(sorted(chosen)) for name, chosen in kinds.items()}
        made = replace(shop, mode=mode)
        return Played(made, {"schema.evolution": evolution, **options}, lambda: "".join(capsys.readouterr()))

    return make


def test_what_is_not_followed_is_read_anew_as_the_message_says(played: NewPlayed) -> None:
    pipeline = played("evolve")
    assert pipeline.play() == {("resnapshot", table) for table in UNTOLD}
    assert pipeline.unequal() == set()


def test_each_kind_is_asked_for_once(played: NewPlayed) -> None:
    """What would not be followed, if it were accepted, is read anew."""
    pipeline = played("exception")
    accepted = {"moved", *KINDS} - UNTOLD
    assert pipeline.play() == {
        *(("resnapshot", table) for table in UNTOLD),
        *(("schema accept", table) for table in accepted),
    }
    assert pipeline.unequal() == set()
    pipeline.shop.run("".join(f"ALTER TABLE {one} COMMENT 'once more';" for one in ("retyped", "added", "moved_away")))
    assert pipeline.resolved() == {("schema accept", one) for one in ("retyped", "added", "moved_away")}


@pytest.mark.nightly
@pytest.mark.parametrize("evolution", ["evolve", "exception"])
def test_the_same_of_mariadb(
    played: NewPlayed,
    mariadb_server: MariaDBServer,
    unique_name: str,
    tmp_path: Path,
    evolution: EvolutionMode,
    afterwards: ExitStack,
) -> None:
    shop = Shop(mariadb_server, unique_name, tmp_path)
    shop.make()
    afterwards.callback(mariadb_server.execute, f"DROP DATABASE {unique_name}")
    pipeline = played(evolution, shop=shop)
    assert {table for command, table in pipeline.play() if command == "resnapshot"} == UNTOLD
    assert pipeline.unequal() == set()


@pytest.mark.parametrize("evolution", ["evolve", "exception"])
def test_a_table_is_gone_before_it_can_be_read_anew(played: NewPlayed, evolution: EvolutionMode) -> None:
    """Then the message's other command goes on."""
    pipeline = played(evolution, exclude={ChangeKind.DROP_TABLE})
    kinds = {"retyped": KINDS["retyped"], "partitioned": KINDS["partitioned"]}
    pipeline.shop.run("".join(kind.made(name) for name, kind in kinds.items()))
    assert pipeline.called("run FILE --once") == 0
    pipeline.shop.run("".join(kind.changed(name) for name, kind in kinds.items()))
    pipeline.shop.run("DROP TABLE retyped, partitioned")
    for table in kinds:
        assert pipeline.called("run FILE --once") == 4
        first, second = COMMAND.findall(pipeline.printed())
        assert first.endswith(f".{table}")
        assert pipeline.called(second) == 0
    assert pipeline.called("run FILE --once") == 0
    assert pipeline.found("retyped") == [(1, "one", "I"), (2, "two", "2"), (3, "three", "3"), (4, "four", "4")]
    assert pipeline.found("partitioned") == [*FIRST, (4, 4, "four")]
    pipeline.shop.run(kinds["partitioned"].made("partitioned") + kinds["partitioned"].changed("partitioned"))
    assert pipeline.resolved() >= {("resnapshot", "partitioned")}, "an acceptance is for one change"


def test_an_acceptance_that_a_new_reading_has_made_good_is_for_no_later_change(played: NewPlayed) -> None:
    pipeline = played("exception")
    kind = KINDS["retyped"]
    pipeline.shop.run(kind.made("t"))
    assert pipeline.called("run FILE --once") == 0
    pipeline.shop.run(kind.changed("t"))
    for command in ("schema accept", "resnapshot"):
        assert pipeline.called(f"{command} FILE --table {pipeline.shop.name}.t") == 0
    assert pipeline.called("run FILE --once") == 0
    assert pipeline.unequal() == set()
    pipeline.shop.run("ALTER TABLE t ADD COLUMN c INT")
    assert pipeline.resolved() == {("schema accept", "t")}


def _columns(pipeline: Played, table: str) -> set[str]:
    """A table's columns but those about the change."""
    return {
        name
        for name in DeltaTable(pipeline.shop.table(table)).to_pyarrow_table().schema.names
        if not name.startswith("__")
    }


UNTOLD_TO_CHANGELOGS = {"rekeyed", *UNTOLD} - {"retyped", "rounded"}


@pytest.mark.unequal("older rows of a changelog do not have what a column has since")
@pytest.mark.parametrize("evolution", ["evolve", pytest.param("exception", marks=pytest.mark.nightly)])
def test_a_changelog_follows_or_is_told_to(played: NewPlayed, evolution: EvolutionMode) -> None:
    """It keeps what older rows have; what empties a table is a row, and what the log does not tell is read anew."""
    pipeline = played(evolution, mode="changelog")
    asked = {"added", "added_default", "dropped", "renamed", "widened", "commented"}
    asked |= {"truncated", "gone", "moved", "same_anew"}
    stopping = {"retyped", "anew"} | (asked if evolution == "exception" else set())
    assert pipeline.play() == {
        *(("schema accept", table) for table in stopping),
        *(("resnapshot", table) for table in UNTOLD_TO_CHANGELOGS),
    }
    assert _columns(pipeline, "retyped") == {"id", "a__1", "b", "a"}
    assert _columns(pipeline, "renamed") == {"id", "a", "word"}
    assert _columns(pipeline, "dropped") == {"id", "a", "b"}
    assert _columns(pipeline, "anew") == {"id", "a__1", "b", "k", "a"}
    told = sorted((row[0], row[2]) for row in pipeline.found("renamed"))
    assert told == [(1, "ONE"), (1, "one"), (2, "two"), (3, "three"), (4, "four")]
    whole = {"truncated", "anew", "same_anew", *UNTOLD_TO_CHANGELOGS}
    assert pipeline.shop.unequal() & whole == set()
    assert {name: _last(pipeline, name) for name in ("gone", "moved")} == {"gone": "t", "moved": "t"}


def _last(pipeline: Played, table: str) -> str:
    """What the last row of a changelog tells."""
    told = DeltaTable(pipeline.shop.table(table)).to_pyarrow_table(columns=["__position", "__op"]).to_pylist()
    return str(max(told, key=lambda row: row["__position"])["__op"])


FOLLOWED_IN_PART = pytest.mark.unequal("what cannot be followed leaves rows as they were")


@FOLLOWED_IN_PART
@pytest.mark.parametrize("evolution", OUTCOMES)
def test_nothing_stops_where_changes_are_tried_or_ignored(played: NewPlayed, evolution: EvolutionMode) -> None:
    pipeline = played(evolution)
    assert pipeline.play() == set()
    assert pipeline.outcome(OUTCOMES[evolution].rows) == OUTCOMES[evolution]


def _choices() -> Iterator[Any]:
    for way in ("include", "exclude"):
        for half in HALVES:
            marks = [] if way == "include" and half is HALVES[0] else [pytest.mark.nightly]
            yield pytest.param("evolve", way, half, id=f"evolve-{way}-{len(half)}", marks=marks)
        yield pytest.param("exception", way, HALVES[0], id=f"exception-{way}", marks=pytest.mark.nightly)


@FOLLOWED_IN_PART
@pytest.mark.parametrize(("mode", "way", "half"), list(_choices()))
def test_kinds_that_are_left_out_leave_the_tables(
    played: NewPlayed, mode: EvolutionMode, way: str, half: set[ChangeKind]
) -> None:
    """Those that are chosen are followed, or asked for; the others are as where all are ignored."""
    pipeline = played(mode, **{way: half})
    commands, outcome = where_left_out(mode, half if way == "include" else set(ChangeKind) - half)
    assert pipeline.play() == commands
    assert pipeline.outcome(outcome.rows) == outcome
