"""The sink `spark` breaking off a batch."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.errors import SinkError
from cdckit_spark.sink import LakeSink

DIED = -1


def dies_once(monkeypatch: pytest.MonkeyPatch, number: int) -> list[int]:
    """Has it die once, before it writes the batch with that number; gives the numbers of batches, and `DIED`."""
    write = LakeSink.write
    written: list[int] = []

    def dies(sink: LakeSink, frame: Any, batch: int) -> int:
        if batch == number and len(written) == number:
            written.append(DIED)
            raise SinkError("it died")
        written.append(batch)
        return write(sink, frame, batch)

    monkeypatch.setattr(LakeSink, "write", dies)
    return written
