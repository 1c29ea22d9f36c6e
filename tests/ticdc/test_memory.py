"""Memory is bounded while rows wait for a watermark: what is beyond the limits lies on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from testkit.running import Pipeline, Running
from ticdc.emulation import FIRST_TS, STEP, source_block

pytestmark = pytest.mark.real_python

MOST = 300
"""How many MiB a pipeline may take that has been told to hold 8; it takes 200 to 250, however much waits."""
ROWS, SIZE = 50_000, 8000
"""What waits for the watermark: more than a pipeline that held all of it could hide."""


def write(path: Path, payloads: Iterable[dict[str, Any]]) -> None:
    with path.open("w") as file:
        for number, payload in enumerate(payloads):
            key, value = {"payload": {"id": number}}, {"payload": payload}
            file.write(json.dumps({"topic": "t", "key": key, "value": value}, separators=(",", ":")) + "\n")


def test_rows_that_wait_take_no_memory(tmp_path: Path) -> None:
    """One partition runs ahead by all its rows before the other's watermark lets them out."""
    rows = (
        {
            "source": source_block(FIRST_TS + number * STEP),
            "op": "c",
            "before": None,
            "after": {"id": number, "v": "x" * SIZE},
        }
        for number in range(ROWS)
    )
    mark = {"source": source_block(FIRST_TS + ROWS * STEP), "op": "m"}
    feed = tmp_path / "feed"
    feed.mkdir()
    write(feed / "a.jsonl", chain(rows, [mark]))
    write(feed / "b.jsonl", [mark])
    source = {
        "type": "ticdc", "protocol": "debezium", "files": [str(feed / "*.jsonl")], "watermarks": "always",
        "buffer.max.bytes": 8 << 20,
    }  # fmt: skip
    plain = {"serializer": {"type": "json", "schemas.enable": False}}
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, plain)
    with pipeline.running() as process:
        process.wait_until(lambda: _lines(pipeline.output) == ROWS, "all rows in the file")
        peak = _peak(process)
        process.stop()
    assert peak < MOST


def _lines(path: Path) -> int:
    if not path.exists() or path.stat().st_size < ROWS * SIZE:
        return 0  # to count them at each look would take the processor, and the disk, from the pipeline
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _peak(process: Running) -> float:
    """The most memory so far, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024
