"""Kills of pipelines whose state is elsewhere, with nothing left of them on their machine."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from crash.kills import ROWS, Kills
from crash.targets import FileTarget
from testkit.forgetful import Forgetful
from testkit.journal import Journal
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.writers import TABLES, BulkWriter, ShopWriter

MakePipeline = Callable[[dict[str, Any], dict[str, Any]], Forgetful]
"""Makes one of the options of its source and of its sink."""


def kill_and_prove(
    server: MySQLServer, database: str, folder: Path, make: MakePipeline, afterwards: ExitStack, *, nightly: bool
) -> None:
    """Kills a pipeline at random instants of its snapshot and of its stream, and proves what it has delivered.

    Args:
        server: has the tables.
        database: theirs, which is made if it is not there.
        folder: where the pipeline's files are.
        make: makes it.
        afterwards: what happens behind the proof: the database goes.
        nightly: whether it is killed more often.
    """
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    journal, target = Journal(), FileTarget(folder)
    server.run_sql(f"CREATE DATABASE IF NOT EXISTS {database}; USE {database}; {TABLES}")
    afterwards.callback(server.execute, f"DROP DATABASE {database}")
    create_reader(server)
    pipeline = make(source_of(server, database, max_batch_size=300), target.sink)
    kills = Kills(pipeline, target, journal, random.Random(seed))
    with ShopWriter(server, database, journal, seed, accounts=ROWS):
        for _ in range(6 if nightly else 1):
            kills.in_snapshot()
        # With hardly a pause, as it takes seconds to read some of these states, and it has to be inside by chance then.
        with BulkWriter(server, database, journal, seed, rows=2000, pause=0.2):
            for _ in range(7 if nightly else 1):
                kills.in_stream()
                kills.in_transaction()
    kills.to_the_end()
    print(f"killed in: {', '.join(kills.killed_in)}")
    kills.prove(server)
