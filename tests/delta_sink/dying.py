"""A pipeline whose process ends at a chosen place."""

from __future__ import annotations

import subprocess
import sys

from testkit.running import Pipeline

WRITES = "from cdckit.tables.lake.table import LakeTable as owner; name = 'write'"
SAVES = "from cdckit.engine.state.sqlite import SqliteStateStore as owner; name = 'save_offset'"
_DYING = """
import os, sys
{where}
done, left, topic = getattr(owner, name), int(sys.argv.pop(1)), sys.argv.pop(1)
def dying(*arguments, **others):
    global left
    counts = name != "write" or arguments[0].target.topic.endswith(topic)
    if name == "write":
        done(*arguments, **others)
    left -= counts
    if left < 0:
        os._exit(9)
    if name != "write":
        done(*arguments, **others)
setattr(owner, name, dying)
from cdckit.cli.main import main
main()
"""


def die(pipeline: Pipeline, where: str, others: int, topic: str = "") -> None:
    """Delivers until the process ends.

    Args:
        pipeline: what is run.
        where: behind a table's commit (`WRITES`), or before the offset is saved (`SAVES`).
        others: behind how many such places.
        topic: what the table's topic ends with, where only one counts.
    """
    place = [str(others), topic, "run", str(pipeline.written()), "--once"]
    command = [sys.executable, "-c", _DYING.format(where=where), *place]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 9, ended.stderr
