"""Each kind of change of a definition, live, into Spark's tables: what stops them, a command resolves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit.tables.behavior import ChangeKind, EvolutionMode
from delta_sink.kinds import KINDS, UNTOLD
from delta_sink.outcomes import HALVES, OUTCOMES, of_partitions, where_left_out
from delta_sink.played import COMMAND, Outcome, Played
from delta_sink.shop import Shop
from histories.lakes import LoggedRows, MirroredRows
from histories.on_spark import Changelog, Mirror
from histories.rows import keys_of
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]


@dataclass(frozen=True)
class PlayedOnSpark(Played):
    """The same on Spark.

    Attributes:
        session: what runs the pipeline, and reads its lake.
        kind: the sink's type.
    """

    session: SparkSession
    kind: str = "spark"

    @property
    def lake(self) -> MirroredRows | LoggedRows:
        """What reads the tables."""
        place = self.session, self.shop.folder, self.shop.name, self.shop.name
        if self.shop.mode == "mirror":
            return Mirror(*place)
        return Changelog(*place, partial(keys_of, self.shop.server, self.shop.name))

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        made = super().pipeline
        return replace(made, sink={**made.sink, "type": self.kind}, others={**made.others, "runner": "spark"})

    def stopped(self) -> str:
        """Delivers what there is; what it says where it stops, or ""."""
        try:
            SparkRunner(load_pipeline(self.pipeline.written())).run(once=True)
        except SinkError as error:
            return str(error)
        return ""


NewPlayed = Callable[..., PlayedOnSpark]


@pytest.fixture
def played(
    session: SparkSession, unique_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], afterwards: ExitStack
) -> NewPlayed:
    """Makes a pipeline of a server's new database, of a mode and options of `schema.evolution`."""

    def make(
        server: SQLServer,
        evolution: EvolutionMode,
        mode: str = "mirror",
        kind: str = "spark",
        **kinds: Collection[ChangeKind],
    ) -> PlayedOnSpark:
        shop = Shop(server, unique_name, tmp_path, mode)
        shop.make()
        afterwards.callback(server.execute, f"DROP DATABASE {unique_name}")
        options = {f"schema.evolution.{name}": ",".join(sorted(chosen)) for name, chosen in kinds.items()}
        printed = partial(_printed, capsys)
        return PlayedOnSpark(shop, {"schema.evolution": evolution, **options}, printed, session, kind)

    return make


def _printed(capsys: pytest.CaptureFixture[str]) -> str:
    return "".join(capsys.readouterr())


@pytest.mark.nightly
@pytest.mark.parametrize("evolution", ["evolve", "exception"])
def test_what_stops_is_resolved_as_the_message_says(
    played: NewPlayed, db_server: SQLServer, evolution: EvolutionMode
) -> None:
    pipeline = played(db_server, evolution)
    tables = {name + end for name, kind in KINDS.items() for end in ("", *kind.untold)}
    resolved = {("resnapshot", table) for table in tables & UNTOLD}
    if evolution == "exception":
        resolved |= {("schema accept", table) for table in tables - UNTOLD}
    assert pipeline.play() == resolved
    assert pipeline.unequal() == set()


EACH_DAY = ("dropped", "renamed", "retyped", "anew")
"""Kinds of change that `make test` plays on Spark; it plays all of them on the direct runner."""
FOLLOWED_IN_PART = pytest.mark.unequal("what cannot be followed leaves rows as they were")


@FOLLOWED_IN_PART
@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
@pytest.mark.parametrize(
    "evolution", [o if o == "lenient" else pytest.param(o, marks=pytest.mark.nightly) for o in OUTCOMES]
)
def test_nothing_stops_where_changes_are_tried_or_ignored(
    played: NewPlayed, db_server: SQLServer, evolution: EvolutionMode, nightly: bool
) -> None:
    pipeline = played(db_server, evolution)
    kinds, expected = KINDS, OUTCOMES[evolution]
    if not nightly:
        kinds = {name: KINDS[name] for name in EACH_DAY}
        rows = {name: found for name, found in expected.rows.items() if name in kinds}
        expected = Outcome(expected.unequal & {*EACH_DAY}, rows)
    assert pipeline.play(kinds) == set()
    assert pipeline.outcome(expected.rows) == expected


@FOLLOWED_IN_PART
@pytest.mark.nightly
@pytest.mark.parametrize(("evolution", "way"), [("evolve", "include"), ("exception", "exclude")])
def test_kinds_that_are_left_out_leave_the_tables(
    played: NewPlayed, db_server: SQLServer, evolution: EvolutionMode, way: str
) -> None:
    """Those that are chosen are followed, or asked for; the others are as where all are ignored."""
    [half, _] = HALVES
    pipeline = played(db_server, evolution, **{way: half})
    commands, outcome = where_left_out(evolution, half if way == "include" else set(ChangeKind) - half)
    assert pipeline.play() == commands
    assert pipeline.outcome(outcome.rows) == outcome


@pytest.mark.parametrize("db_server", [pytest.param("mysql", marks=pytest.mark.nightly), "mariadb"], indirect=True)
@pytest.mark.parametrize(
    ("mode", "evolution"),
    [
        ("mirror", "evolve"),
        pytest.param("mirror", "exception", marks=pytest.mark.nightly),
        pytest.param("changelog", "evolve", marks=pytest.mark.nightly),
    ],
)
def test_what_happens_to_partitions_is_followed_or_read_anew(
    played: NewPlayed, db_server: SQLServer, mode: str, evolution: EvolutionMode
) -> None:
    pipeline = played(db_server, evolution, mode)
    kinds, commands = of_partitions(db_server, evolution)
    assert pipeline.play(kinds) == commands
    assert pipeline.unequal() == set()


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("mirror", "spark"), pytest.param("changelog", "spark", marks=pytest.mark.nightly), ("mirror", "delta")],
)
def test_an_acceptance_holds_where_another_table_stops_its_batch(
    played: NewPlayed, mysql_server: SQLServer, mode: str, kind: str
) -> None:
    """Each table is asked about once, though all that is accepted comes again with the batch."""
    pipeline = played(mysql_server, "exception", mode, kind)
    kinds = dict.fromkeys(("one", "two", "three"), KINDS["truncated"])
    assert pipeline.play(kinds) == {("schema accept", table) for table in kinds}
    assert pipeline.unequal() == set()


@pytest.mark.nightly
def test_a_table_is_gone_before_it_can_be_read_anew(played: NewPlayed, mysql_server: SQLServer) -> None:
    """The batch that stopped the pipeline comes again as it was, without the end of the table."""
    pipeline = played(mysql_server, "evolve")
    kind = KINDS["partitioned"]
    pipeline.shop.run(kind.made("t") + "CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO other VALUES (1)")
    assert not pipeline.stopped()
    pipeline.shop.run(kind.changed("t"))
    said = pipeline.stopped()
    _, second = COMMAND.findall(said)
    pipeline.shop.run("DROP TABLE t; INSERT INTO other VALUES (2)")
    assert pipeline.stopped() == said
    assert pipeline.called(second) == 0
    assert not pipeline.stopped()
    assert not pipeline.stopped()
    assert pipeline.unequal() == set()
