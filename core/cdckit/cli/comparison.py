"""What `cdc diff` does. It needs the extra `diff`, which the command itself does without until it is called."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from cdckit.cli.asked_proof import Asked
from cdckit.connector.resnapshot import named
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.blame import proofs
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.repair import Repair
from cdckit.engine.proof.report import TableProof
from cdckit.engine.proof.resuming import resumed
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.proof")

_AGAIN_SECONDS = 2.0
"""How long the rows that were asked for may take before they are looked for, each time."""


def compare(pipeline: ResolvedPipeline, asked: Asked, stopping: StopSignal) -> list[TableProof]:
    """What is found of each table.

    Raises:
        ConfigError: the pipeline cannot be compared so, or a table's name is unknown.
        StoppedError: it was asked to stop.
    """
    wishes = Wishes(
        asked.tables, asked.hash, asked.wait_seconds, asked.max_load, "always" if asked.on_spark else "needed"
    )
    if asked.ledger:
        found = _by_ledger(pipeline, asked.tables, stopping)
    elif asked.resume:
        found = resumed(pipeline, wishes, stopping, log.info)
    else:
        found = Proof(pipeline, wishes, stopping, log.info).tables()
    return _repaired(pipeline, wishes, stopping, found) if asked.repair else found


def _by_ledger(pipeline: ResolvedPipeline, tables: Sequence[str], stopping: StopSignal) -> list[TableProof]:
    """What the ledger says of the sink.

    Raises:
        ConfigError: there is no ledger, or a table's name is unknown to it.
    """
    if not pipeline.ledger:
        raise ConfigError("--ledger: this pipeline keeps none: 'ledger: true', and rows read anew (cdc resnapshot)")
    found = proofs(pipeline, stopping)
    if not found:
        raise ConfigError("--ledger: the ledger tells of no table yet: run the pipeline first")
    if tables:
        wanted = named(tables, [name for each in found for name in each.table.split(", ")])
        found = [each for each in found if {*wanted} & {*each.table.split(", ")}]
    return found


def _repaired(
    pipeline: ResolvedPipeline, wishes: Wishes, stopping: StopSignal, found: list[TableProof]
) -> list[TableProof]:
    """What is found once the rows that could be asked for have come, or have not for as long as the user waits."""
    asked = []
    for table in (each for each in found if each.outcome == "unequal"):
        why = Repair(pipeline).ask(table)
        if why is None:
            asked.append(table.table)
            log.info("%s: rows that are missing or changed are read again", table.table)
        else:
            log.warning("%s: nothing is read again: %s", table.table, why)
    by_name = {each.table: each for each in found}
    deadline = time.monotonic() + wishes.wait_seconds
    while asked and time.monotonic() < deadline and not stopping.wait(_AGAIN_SECONDS):
        again = Proof(pipeline, replace(wishes, tables=tuple(asked)), stopping).tables()
        by_name |= {each.table: each for each in again}
        asked = [each.table for each in again if any(one.fault in ("missing", "changed") for one in each.differences)]
    return list(by_name.values())
