"""Partitions that are emptied, go or change hands: what the log does not tell is read anew, as the message says."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from cdckit.tables.behavior import EvolutionMode
from delta_sink.outcomes import of_partitions
from delta_sink.played import Played
from delta_sink.shop import Shop
from testkit.servers.mysql_family import SQLServer


@pytest.mark.parametrize(
    ("mode", "evolution"),
    [
        ("mirror", "evolve"),
        pytest.param("mirror", "exception", marks=pytest.mark.nightly),
        ("changelog", "evolve"),
    ],
)
def test_what_is_not_told_is_read_anew(
    db_server: SQLServer, unique_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], afterwards: ExitStack,
    mode: str, evolution: EvolutionMode,
) -> None:  # fmt: skip
    """And what moves no row, or rows of which the log tells, is followed."""
    shop = Shop(db_server, unique_name, tmp_path, mode)
    shop.make()
    afterwards.callback(db_server.execute, f"DROP DATABASE {unique_name}")
    pipeline = Played(shop, {"schema.evolution": evolution}, lambda: "".join(capsys.readouterr()))
    kinds, commands = of_partitions(db_server, evolution)
    assert pipeline.play(kinds) == commands
    assert pipeline.unequal() == set()
