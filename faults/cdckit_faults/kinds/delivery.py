"""Faults of what a pipeline delivers, and of the disk that it keeps its state and its output on."""

from __future__ import annotations

import random
import time

from cdckit_faults.drivers.driver import Start
from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import Stage
from cdckit_faults.tables import POISON


def _disk_full(stage: Stage, chance: random.Random) -> None:
    """State and output are on the disk that is full."""
    pid = stage.driver.pid
    if pid is None:  # it has not come up from the fault before; `drain` looks at that
        return
    try:
        stage.place.disk.fill(chance.randint(0, 1 << 16), pid)
        stage.require_refusal("disk-full")
    finally:
        stage.place.disk.empty()
    stage.notes.append(stage.place.disk.how)
    stage.start()


def _poison(stage: Stage, chance: random.Random) -> None:
    """It ends, and is started so that such records pass, until the log holds none any more."""
    time.sleep(chance.uniform(0, 0.2))
    for _ in range(chance.randint(1, 3)):
        stage.execute(f"INSERT INTO {POISON} (token) VALUES ('poison')")
    stage.require_refusal("poison")
    stage.start(Start(poison_passes=True))
    stage.go_on()
    with stage.quiet():
        stage.drain()
    stage.execute(f"TRUNCATE TABLE {POISON}")  # of which no event tells, by default; a snapshot would meet the rows
    stage.driver.stop()
    stage.start()


KINDS = (
    Kind(
        "disk-full",
        "disk",
        "no room for state and output, or up to 64 KiB",
        "refused by name; goes on when there is room",
        _disk_full,
        refuses=True,
    ),
    Kind(
        "poison",
        "records",
        "rows that the chain of transforms cannot take",
        "refused by name; the rest arrives once such rows may pass",
        _poison,
        refuses=True,
    ),
)
