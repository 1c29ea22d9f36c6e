"""A pipeline whose process ends at a chosen place."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

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


_MOVING = """
import os, sys, time
from pathlib import Path
{where}
done, before, behind, folder = owner.write, int(sys.argv.pop(1)), int(sys.argv.pop(1)), Path(sys.argv.pop(1))
def moving(*arguments, **others):
    global before, behind
    done(*arguments, **others)
    before -= 1
    if before == 0:
        (folder / "reached").touch()
        while not (folder / "moved").exists():
            time.sleep(0.01)
    elif before < 0:
        behind -= 1
        if behind < 0:
            os._exit(9)
owner.write = moving
from cdckit.cli.main import main
main()
"""


def die_elsewhere(pipeline: Pipeline, move: Callable[[], None], before: int, behind: int) -> None:
    """Delivers until the process ends behind a table's commit, having been led to another server.

    Args:
        pipeline: what is run.
        move: leads to the other server.
        before: behind so many commits that is done.
        behind: behind how many more the process ends.
    """
    reached = pipeline.folder / "reached"
    place = [str(before), str(behind), str(pipeline.folder), "run", str(pipeline.written())]
    command = [sys.executable, "-c", _MOVING.format(where=WRITES), *place]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None and not reached.exists():
                time.sleep(0.01)
            move()
            (pipeline.folder / "moved").touch()
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 9, said
