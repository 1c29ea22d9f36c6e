"""A planner of Spark's that waits for changes, with a driver that does nothing: `python -m mysql.plans_on PIPELINE`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.planner import Planner

HOUR = 3600.0


def drive(pipeline: str) -> None:
    """Starts the planner, and waits."""
    subprocess.run([sys.executable, "-m", "mysql.plans_on", pipeline, "planner"], check=False)


def plan(pipeline: str) -> None:
    """Says its process's number once the state is held and all that there is is planned, and waits for more."""
    planner = Planner(Job(load_pipeline(Path(pipeline), runner="spark"), wait_seconds=HOUR))
    at = planner.latest_offset(planner.initial_offset(), None)
    print(os.getpid(), flush=True)
    while planner.latest_offset(at, None) != at:
        pass


if __name__ == "__main__":
    (plan if sys.argv[2:] else drive)(sys.argv[1])
