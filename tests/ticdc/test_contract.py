"""Both sources keep the contract that every source keeps."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.testing import SourceSuite
from ticdc.emulation import FIRST_TS, STEP, Change, Emulator, Transaction


class _Recorded(SourceSuite):
    """Changes go into files of recorded messages."""

    partitions = 1

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "recorded"
        self.folder.mkdir()
        for number in range(self.partitions):
            (self.folder / f"{number}.jsonl").touch()

    def change(self, tokens: Sequence[int]) -> None:
        """A row for each token."""
        for token in tokens:
            with (self.folder / f"{token % self.partitions}.jsonl").open("a") as file:
                file.write(json.dumps(self.line(token)) + "\n")

    def line(self, token: int) -> dict[str, Any]:
        """The message of a token as a line of a file."""
        raise NotImplementedError

    def token(self, record: Record) -> int | None:
        """The row's id."""
        assert isinstance(record.value, Struct)
        number: int = record.value["after"]["id"]
        return number


class TestTicdc(_Recorded):
    type_name = "ticdc"
    partitions = 2

    def options(self) -> Mapping[str, Any]:
        return {"files": [str(self.folder / "*.jsonl")], "protocol": "debezium", "watermarks": "always"}

    def line(self, token: int) -> dict[str, Any]:
        writer = Emulator(random.Random(token), partitions=1, watermarks=False, restarts=0)
        row = {"id": token, "v": "x"}
        transaction = Transaction(FIRST_TS + token * STEP, (Change(None, row),))
        ((message,),) = writer.write_transactions((transaction,)).values()
        value, key = (message.value or b"").decode(), (message.key or b"").decode()
        return {"topic": "t", "partition": token % 2, "key": key, "value": value}


class TestDebezium(_Recorded):
    type_name = "debezium"

    def options(self) -> Mapping[str, Any]:
        return {"files": [str(self.folder / "*.jsonl")]}

    def line(self, token: int) -> dict[str, Any]:
        source = {"connector": "mysql", "name": "s", "ts_ms": 1, "db": "shop", "table": "orders"}
        value = {"before": None, "after": {"id": token}, "source": source, "op": "c", "ts_ms": 2}
        return {"topic": "s.shop.orders", "key": {"id": token}, "value": value}
