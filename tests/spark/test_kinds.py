"""Each kind of change of a definition, live, into Spark's mirrors: what stops them, a command resolves."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from delta_sink.kinds import KINDS, UNTOLD
from delta_sink.played import COMMAND, Played
from delta_sink.shop import Shop
from histories.lakes import MirroredRows
from histories.on_spark import Mirror
from testkit.running import Pipeline
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]


@dataclass(frozen=True)
class PlayedOnSpark(Played):
    """The same on Spark.

    Attributes:
        session: what runs the pipeline, and reads its lake.
    """

    session: SparkSession

    @property
    def lake(self) -> MirroredRows:
        """What reads the mirrors."""
        return Mirror(self.session, self.shop.folder, self.shop.name, self.shop.name)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        made = super().pipeline
        return replace(made, sink={**made.sink, "type": "spark"}, others={**made.others, "runner": "spark"})

    def stopped(self) -> str:
        """Delivers what there is; what it says where it stops, or ""."""
        try:
            SparkRunner(load_pipeline(self.pipeline.written())).run(once=True)
        except SinkError as error:
            return str(error)
        return ""


def _played(
    session: SparkSession,
    server: MySQLServer,
    name: str,
    folder: Path,
    evolution: str,
    capsys: pytest.CaptureFixture[str],
    afterwards: ExitStack,
) -> PlayedOnSpark:
    shop = Shop(server, name, folder)
    shop.make()
    afterwards.callback(server.execute, f"DROP DATABASE {name}")
    return PlayedOnSpark(shop, {"schema.evolution": evolution}, lambda: "".join(capsys.readouterr()), session)


@pytest.mark.parametrize("evolution", ["evolve", "exception"])
def test_what_stops_is_resolved_as_the_message_says(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], afterwards: ExitStack, evolution: str,
) -> None:  # fmt: skip
    pipeline = _played(session, mysql_server, unique_name, tmp_path, evolution, capsys, afterwards)
    tables = {name + end for name, kind in KINDS.items() for end in ("", *kind.untold)}
    resolved = {("resnapshot", table) for table in tables & UNTOLD}
    if evolution == "exception":
        resolved |= {("schema accept", table) for table in tables - UNTOLD}
    assert pipeline.play() == resolved
    assert pipeline.unequal() == set()


def test_a_table_is_gone_before_it_can_be_read_anew(
    session: SparkSession,
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    afterwards: ExitStack,
) -> None:
    """The batch that stopped the pipeline comes again as it was, without the end of the table."""
    pipeline = _played(session, mysql_server, unique_name, tmp_path, "evolve", capsys, afterwards)
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
