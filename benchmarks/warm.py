"""A process that has all of `cdc` loaded, and runs each command in a child of its own: `python warm.py`.

It imports nothing but cdckit, so that it measures any revision that is installed. On its standard input come the
arguments of a command, its log, and whether it is to run in the process itself, which loads what it needs, as a line of
JSON; it answers with what the command took. The start of Python and what is imported, most of a short run, are spared.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from collections.abc import Sequence


def _run(arguments: Sequence[str], log: str) -> int:
    """Runs a command, gives its exit status."""
    kept = os.dup(1)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.close(out)
    sys.argv = ["cdc", *arguments]
    status = 0
    try:
        runpy.run_module("cdckit", run_name="__main__")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(kept, 1)
    os.close(kept)
    return status


def _child(arguments: Sequence[str], log: str) -> dict[str, float]:
    """Runs a command in a child, behind one that does nothing: what both have done the same is this process's."""
    began = time.perf_counter()
    nothing = os.fork()
    if nothing == 0:
        os._exit(0)
    os.waitpid(nothing, 0)
    pid = os.fork()
    if pid == 0:
        os._exit(_run(arguments, log))
    _, status, used = os.wait4(pid, 0)
    return {
        "nothing": nothing,
        "pid": pid,
        "status": os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "wall": time.perf_counter() - began,
        "rss": used.ru_maxrss / 1024,
    }


def main() -> None:
    """Runs what is asked for until the input ends."""
    for line in sys.stdin:
        arguments, log, inside = json.loads(line)
        took = {"status": _run(arguments, log)} if inside else _child(arguments, log)
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main()
