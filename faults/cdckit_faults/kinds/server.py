"""Faults of the server, and of what its log says."""

from __future__ import annotations

import random
import time

from cdckit_faults.drivers.driver import Start
from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import Stage
from testkit.topology import detach, follow

_DEFINITIONS = (
    "ALTER TABLE {table} ADD COLUMN c{number} VARCHAR(30) DEFAULT 'new'",
    "ALTER TABLE {table} ADD COLUMN c{number} INT FIRST",
    "ALTER TABLE {table} ADD COLUMN c{number} DATETIME(3) NULL, ADD COLUMN cc{number} DECIMAL(12, 4) NULL",
    "ALTER TABLE {table} ADD COLUMN c{number} BIGINT UNSIGNED NOT NULL DEFAULT 1",
    "ALTER TABLE {table} MODIFY token VARCHAR({length}) NOT NULL",
    "ALTER TABLE {table} ADD INDEX (token)",
    "CREATE TABLE beside{number} LIKE {table}",
)


def _restart(stage: Stage, chance: random.Random) -> None:
    _away(stage, chance, killed=False)


def _kill(stage: Stage, chance: random.Random) -> None:
    _away(stage, chance, killed=True)


def _away(stage: Stage, chance: random.Random, *, killed: bool) -> None:
    primary = stage.place.topology.primary
    with stage.quiet():
        if killed:
            primary.kill()
        else:
            primary.stop()
        time.sleep(chance.uniform(0, 0.5))
        primary.start()
        stage.load.move(primary)


def _failover(stage: Stage, chance: random.Random) -> None:
    """The primary dies, the replica has what it had, and takes over; the dead one comes back as its replica."""
    topology = stage.place.topology
    with stage.quiet():
        topology.wait_for_replicas()
        former, chosen = topology.primary, chance.choice(topology.replicas)
        stage.may_repeat()
        former.kill()
        detach(chosen)
        topology.primary = chosen
        stage.line.lead_to(chosen.port)
        stage.line.cut()
        stage.load.move(chosen)
    time.sleep(chance.uniform(0.1, 0.5))
    former.start()
    follow(former, chosen)


def _purge(stage: Stage, chance: random.Random) -> None:
    """While the pipeline is away; a new snapshot is what the refusal asks for."""
    stage.driver.kill()
    stage.go_on()  # what it has not read yet is lost
    time.sleep(chance.uniform(0.1, 0.4))
    primary = stage.place.topology.primary
    with stage.quiet():
        primary.execute("FLUSH BINARY LOGS")
        stage.place.topology.wait_for_replicas()
        primary.purge_logs()
    stage.start()
    stage.require_refusal("purge")
    stage.start_anew(Start(new_snapshot=True))


def _rotation(stage: Stage, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 6)):
        stage.execute("FLUSH BINARY LOGS")
        time.sleep(chance.uniform(0, 0.1))


def _definitions(stage: Stage, chance: random.Random) -> None:
    statements = chance.randint(5, 20)
    for number in range(statements):
        table = chance.choice(("accounts", "parts"))
        made = chance.choice(_DEFINITIONS).format(table=table, number=number, length=chance.randint(40, 60))
        stage.execute(made)
        time.sleep(chance.uniform(0, 0.03))
    with stage.quiet():
        _tidy(stage)
    stage.notes.append(f"{statements} statements")


def _tidy(stage: Stage) -> None:
    """The tables are as they were, or a thousand faults would make them wide."""
    found = stage.place.topology.primary.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s "
        "AND (column_name LIKE 'c%%' OR table_name LIKE 'beside%%')",
        (stage.place.database,),
    )
    dropped: dict[str, list[str]] = {}
    for table, column in found:
        dropped.setdefault(table, []).append(column)
    for table, columns in dropped.items():
        if table.startswith("beside"):
            stage.execute(f"DROP TABLE {table}")
        else:
            stage.execute(f"ALTER TABLE {table} " + ", ".join(f"DROP COLUMN {column}" for column in columns))
    _drop_indexes(stage)


def _drop_indexes(stage: Stage) -> None:
    found = stage.place.topology.primary.execute(
        "SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE table_schema = %s "
        "AND index_name LIKE 'token%%'",
        (stage.place.database,),
    )
    for table, index in found:
        stage.execute(f"ALTER TABLE {table} DROP INDEX {index}")


KINDS = (
    Kind("server-restart", "server", "shut down in order, and started", "", _restart, weight=0.5),
    Kind("server-kill", "server", "SIGKILL of the server, and a start", "", _kill, weight=0.5),
    Kind("failover", "server", "the primary dies, a replica takes over", "", _failover, weight=0.5, servers=2),
    Kind(
        "purge",
        "server",
        "the log is purged while the pipeline is away",
        "refused by name; then a new snapshot",
        _purge,
        refuses=True,
    ),
    Kind("rotation", "server", "up to 6 new files of the log", "", _rotation, weight=6),
    Kind("ddl-storm", "definitions", "5 to 20 changes of definitions under load", "", _definitions, weight=6),
)
