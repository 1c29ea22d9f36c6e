"""What waits for watermarks: DDL, until its time; transactions of one time, each kept together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.errors import DecodeError
from cdckit_ticdc.config import TicdcConfig
from cdckit_ticdc.decoding.decoder import DecoderOptions
from cdckit_ticdc.decoding.protocols import make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.assembler import Assembler, Limits
from cdckit_ticdc.ordering.resent import RowsAtWatermark
from cdckit_ticdc.reading.log import Chunk
from cdckit_ticdc.source import TicdcSource
from ticdc.emulation import FIRST_TS, STEP, source_block
from ticdc.recordings import envelope_of


class Changefeed:
    """Two partitions, and what comes out of them."""

    def __init__(self) -> None:
        decoder = make_decoder("debezium", DecoderOptions(), Definitions(), None)
        self._ends = {Partition("t", number): 0 for number in (0, 1)}
        self.told: list[str] = []
        self.given: list[Record] = []
        self._assembler = Assembler(
            decoder, LogOffset(self._ends), self._ends, Limits(messages=2), self._tell, watermarked=True
        )

    def _tell(self, ddl: Ddl) -> None:
        self.told.append(ddl.statement)

    def send(self, number: int, *payloads: dict[str, Any]) -> list[Record]:
        """Messages to a partition; the records that this lets out."""
        partition = Partition("t", number)
        messages = []
        for payload in payloads:
            offset = self._ends[partition]
            key = json.dumps({"payload": {"id": (payload.get("after") or {}).get("id")}}, separators=(",", ":"))
            value = json.dumps({"payload": payload}, separators=(",", ":"))
            messages.append(Message("t", number, offset, key.encode(), value.encode()))
            self._ends[partition] = offset + 1
        self._assembler.take(Chunk(partition, messages, self._ends[partition], 100))
        before = len(self.given)
        for batch in self._assembler.batches():
            self.given += batch.records
        return self.given[before:]


def row(time: int, after: dict[str, Any], start: int = 0) -> dict[str, Any]:
    """An insert; times count steps."""
    source = {**source_block(FIRST_TS + time * STEP), **({"start_ts": FIRST_TS + start} if start else {})}
    return {"source": source, "op": "c", "before": None, "after": after, "ts_ms": 0}


def mark(time: int) -> dict[str, Any]:
    return {"source": source_block(FIRST_TS + time * STEP), "op": "m", "ts_ms": 0}


def ddl(time: int, statement: str, columns: Iterable[str]) -> dict[str, Any]:
    described = [{"name": name, "typeName": "INT", "optional": name != "id"} for name in columns]
    table = {"primaryKeyColumnNames": ["id"], "columns": described}
    change = {"type": "ALTER", "id": '"shop"."orders"', "table": table}
    return {
        "source": source_block(FIRST_TS + time * STEP), "databaseName": "shop", "ddl": statement,
        "tableChanges": [change],
    }  # fmt: skip


def columns(records: Iterable[Record]) -> list[tuple[str, ...]]:
    return [tuple(field.name for field in envelope_of(one)["after"].schema.fields) for one in records]


def test_ddl_is_held_until_its_time() -> None:
    """It comes to every partition and counts once; rows before it, read after it, have the columns of their time."""
    feed = Changefeed()
    create, alter = ddl(1, "CREATE", ["id", "a"]), ddl(5, "ALTER", ["id", "a", "b"])
    assert feed.send(0, create, row(2, {"id": 1, "a": 1}), alter, row(6, {"id": 2, "a": 1, "b": 1})) == []
    assert feed.send(0, mark(7)) == []
    assert feed.told == []
    assert feed.send(1, create, row(4, {"id": 3, "a": 1})) == []
    out = feed.send(1, mark(4))
    assert columns(out) == [("id", "a"), ("id", "a")]
    assert feed.told == ["CREATE"]
    out = feed.send(1, alter, mark(7))
    assert columns(out) == [("id", "a", "b")]
    assert feed.told == ["CREATE", "ALTER"]


def test_transactions_of_one_time_stay_apart() -> None:
    """Where `include-start-ts` tells them, rows of each come together, whatever partition they came through."""
    feed = Changefeed()
    feed.send(0, row(1, {"id": 1}, start=20), row(1, {"id": 2}, start=10), row(1, {"id": 3}, start=20), mark(2))
    out = feed.send(1, row(1, {"id": 4}, start=10), row(1, {"id": 5}, start=20), mark(2))
    starts = [envelope_of(one)["source"]["start_ts"] - FIRST_TS for one in out]
    assert starts == [10, 10, 20, 20, 20]
    assert {envelope_of(one)["source"]["commit_ts"] for one in out} == {FIRST_TS + STEP}


def test_a_partition_without_watermarks_holds_all_back() -> None:
    """The lowest watermark counts, and one that goes back counts for nothing."""
    feed = Changefeed()
    assert feed.send(0, row(1, {"id": 1}), row(3, {"id": 2}), mark(5), mark(2)) == []
    assert [one.position[:20] for one in feed.send(1, mark(1))] == [f"{FIRST_TS + STEP:020d}"]
    assert [one.position[:20] for one in feed.send(1, mark(9))] == [f"{FIRST_TS + 3 * STEP:020d}"]


def test_what_is_held_back_and_cannot_be_understood_is_told_with_its_place() -> None:
    """Only when its time has come is a row read whole; rows before it are delivered."""
    feed = Changefeed()
    feed.send(0, row(1, {"id": 1}), row(3, {"id": 3}))
    feed.send(1, row(2, {"id": 2}), {**row(3, {"id": 4}), "op": "?"}, mark(5))
    feed.given.clear()
    with pytest.raises(DecodeError, match=r"^topic t, partition 1, offset 1: "):
        feed.send(0, mark(5))
    assert [envelope_of(one)["after"]["id"] for one in feed.given] == [1, 2, 3]


def test_what_cannot_be_put_into_order_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message that is known ends so."""

    def fails(_rows: RowsAtWatermark, _record: Record, _time: int) -> None:
        raise TypeError("unhashable type")

    feed = Changefeed()
    feed.send(0, row(1, {"id": 1}), mark(5))
    monkeypatch.setattr(RowsAtWatermark, "note", fails)
    with pytest.raises(DecodeError, match=r"^topic t, partition 0, offset 0: TypeError: .* in the message key b'"):
        feed.send(1, mark(5))


def test_rows_below_the_watermark_come_once() -> None:
    """A resent row that is new to this consumer, though older than the newest, is delivered."""
    feed = Changefeed()
    feed.send(0, row(2, {"id": 1}), row(9, {"id": 1}), mark(3))
    assert len(feed.send(1, mark(3))) == 1
    assert feed.send(0, row(2, {"id": 1}), row(4, {"id": 1}), row(9, {"id": 1}), mark(9)) == []
    times = [one.position[:20] for one in feed.send(1, mark(9))]
    assert sorted(set(times)) == [f"{FIRST_TS + number * STEP:020d}" for number in (4, 9)]


def test_the_offset_tells_the_watermarks_time() -> None:
    """In milliseconds, for those who watch; none before the first."""
    source = TicdcSource(TicdcConfig.load({"files": ["none"], "protocol": "debezium"}, "source")[0])
    assert source.time_ms({"partitions": {}}) is None
    assert source.time_ms({"partitions": {}, "watermark": FIRST_TS}) == FIRST_TS >> 18
