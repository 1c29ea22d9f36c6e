"""What the owner of a pipeline has changed in its file since it was made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

LONG = 2_147_483_647
"""For so many milliseconds changes wait beside a mirror: nothing is merged but what has to be."""
_WAITING = ("delta", "iceberg")
"""The sinks that let them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Options of a pipeline that change.

    Attributes:
        runner: who delivers.
        kind: the sink's type.
        checkpoint: the name of a folder for Spark's; "" for that in the state folder.
        interval: for how many milliseconds changes wait beside a mirror.
        workers: whether the sink `spark` leaves all to Spark, be it ever so little.
    """

    runner: str
    kind: str
    checkpoint: str = ""
    interval: int = 0
    workers: bool = False

    def sink(self, options: dict[str, Any]) -> dict[str, Any]:
        """A sink's options with these."""
        waits = {"mirror.apply.interval.ms": self.interval} if self.interval and self.kind in _WAITING else {}
        writes = {"small.batch.rows": 0} if self.workers and self.kind == "spark" else {}
        return {**options, "type": self.kind, **waits, **writes}

    def others(self, folder: Path) -> dict[str, Any]:
        """Those of the pipeline, which has its files in a folder."""
        place = {"checkpoint": str(folder / self.checkpoint)} if self.checkpoint else {}
        return {"runner": self.runner, **place}

    def elsewhere(self, chance: Random) -> Setting:
        """The same with another checkpoint."""
        return replace(self, checkpoint=chance.choice([one for one in ("", "one", "two") if one != self.checkpoint]))

    def waiting(self) -> Setting:
        """The same where changes wait if they have not, or do not any more."""
        return replace(self, interval=0 if self.interval else LONG)

    def switched(self, chance: Random) -> Setting:
        """The same tables, written by another runner, sink or writer."""
        writers = [("direct", self.kind, False), ("spark", self.kind, False)]
        if self.kind != "iceberg":
            sparks = [("spark", "spark", workers) for workers in (False, True)]
            writers = [("direct", "delta", False), ("spark", "delta", False), *sparks]
        present = self.runner, self.kind, self.workers
        runner, kind, workers = chance.choice([writer for writer in writers if writer != present])
        return replace(self, runner=runner, kind=kind, workers=workers)
