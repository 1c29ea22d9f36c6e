"""Reads all that a source holds as Spark's workers would, in a process of its own, and prints what that took.

`python reads_splits.py PIPELINE_FILE FORM`: one line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import cast

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.spark.datasource import BatchReader
from cdckit.engine.spark.job import Form, Job


def main(pipeline: str, form: str) -> None:
    """Reads, and prints the records' bytes and the peak of memory in MiB."""
    reader = BatchReader(Job(load_pipeline(Path(pipeline)), cast("Form", form)))
    read = 0
    for partition in reader.partitions():
        for batch in reader.read(partition):
            read += batch.nbytes
    print(json.dumps({"bytes": read, "peak": _peak()}))


def _peak() -> int:
    """In MiB; `getrusage` would count what the process had that this one was started from."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
