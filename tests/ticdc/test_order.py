"""Order, resent rows and restarts: whatever happens on the way, each key ends as the history says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.source import SourceContext
from cdckit.api.struct import Struct
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_ticdc.config import TicdcConfig
from cdckit_ticdc.decoding.decoder import DecoderOptions
from cdckit_ticdc.decoding.protocols import make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.assembler import Assembler, Limits
from cdckit_ticdc.ordering.resent import NewestByKey
from cdckit_ticdc.reading.log import Chunk
from cdckit_ticdc.records import time_of
from cdckit_ticdc.source import TicdcSource
from ticdc.emulation import Dispatcher, Emulator, History, make_history
from ticdc.recordings import envelope_of

Log = Mapping[Partition, list[Message]]
Rows = dict[int, dict[str, Any]]

DISPATCHERS: tuple[Dispatcher, ...] = ("index-value", "table", "columns", "ts")
WATERMARKED = [(dispatcher, split) for dispatcher in DISPATCHERS for split in (True, False)]
UNMARKED = [("index-value", True), ("table", True), ("table", False)]
"""Without watermarks a key change in one piece needs all rows of the table in one partition."""


@pytest.fixture
def seeds(nightly: bool) -> range:
    return range(500 if nightly else 40)


@pytest.mark.parametrize(("dispatcher", "split"), WATERMARKED)
def test_with_watermarks_every_key_ends_right(dispatcher: Dispatcher, split: bool, seeds: range) -> None:
    """Resends, partitions that run ahead, keys that swap, spilled buffers, and this program's own crashes."""
    for seed in seeds:
        chance = random.Random(seed)
        history = make_history(chance, 60)
        log = Emulator(chance, dispatcher=dispatcher, split_updates=split).write(history)
        assert consumed(chance, log, watermarked=True) == history.final, f"seed {seed}"


@pytest.mark.parametrize(("dispatcher", "split"), UNMARKED)
def test_without_watermarks_every_key_ends_right(dispatcher: Dispatcher, split: bool, seeds: range) -> None:
    """The fallback: partition order, and the newest time of each key."""
    for seed in seeds:
        chance = random.Random(seed)
        history = make_history(chance, 60)
        emulator = Emulator(chance, dispatcher=dispatcher, split_updates=split, watermarks=False)
        assert consumed(chance, emulator.write(history), watermarked=False) == history.final, f"seed {seed}"


def test_rows_come_out_in_the_order_of_their_times() -> None:
    """Without a crash of this program times never go back; rows that come again below the watermark are left out."""
    resent = 0
    for seed in range(5):
        chance = random.Random(seed)
        log = Emulator(chance, restarts=3).write(make_history(chance, 200))
        assembler = _assembler(LogOffset(dict.fromkeys(log, 0)), watermarked=True)
        times = []
        for chunk in _chunks(chance, log, dict.fromkeys(log, 0)):
            assembler.take(chunk)
            times += [time_of(record) for batch in assembler.batches() for record in batch.records]
        assert times == sorted(times)
        resent += assembler.resent
        assembler.close()
    assert resent > 0


@pytest.mark.parametrize(("dispatcher", "split"), UNMARKED)
def test_without_watermarks_no_key_goes_back(dispatcher: Dispatcher, split: bool) -> None:
    """A row that is sent again behind a newer one of its key is left out."""
    resent = 0
    for seed in range(10):
        chance = random.Random(seed)
        emulator = Emulator(chance, dispatcher=dispatcher, split_updates=split, watermarks=False, restarts=3)
        log = emulator.write(make_history(chance, 100))
        assembler = _assembler(LogOffset(dict.fromkeys(log, 0)), watermarked=False)
        newest: dict[int, int] = {}
        for chunk in _chunks(chance, log, dict.fromkeys(log, 0)):
            assembler.take(chunk)
            for record in (record for batch in assembler.batches() for record in batch.records):
                assert time_of(record) >= newest.get(_id(record), 0)
                newest[_id(record)] = time_of(record)
        resent += assembler.resent
    assert resent > 0


def consumed(chance: random.Random, log: Log, *, watermarked: bool) -> Rows:
    """The rows after all messages, read in any interleaving, with crashes that end at a saved offset."""
    rows: Rows = {}
    saved = LogOffset(dict.fromkeys(log, 0)).to_json()
    for crash in (True, True, False):
        start = LogOffset.from_json(saved)
        assembler = _assembler(start, watermarked=watermarked)
        stop = chance.random() if crash else 2.0
        for chunk in _chunks(chance, log, dict(start.resume)):
            assembler.take(chunk)
            for batch in assembler.batches():
                apply(rows, batch.records)
                if batch.offset is not None and chance.random() < 0.5:
                    saved = batch.offset
            if chance.random() > 0.97 and stop < 1:
                break
        else:
            for batch in assembler.batches(all_held=True):
                apply(rows, batch.records)
        assembler.close()
    return rows


def _assembler(start: LogOffset, *, watermarked: bool) -> Assembler:
    decoder = make_decoder("debezium", DecoderOptions(), Definitions(), None)
    limits = Limits(messages=7, bytes=1 << 20, keys=1000)
    return Assembler(decoder, start, start.resume, limits, lambda ddl: None, watermarked=watermarked)


def _chunks(chance: random.Random, log: Log, at: dict[Partition, int]) -> Iterable[Chunk]:
    left = [partition for partition, messages in log.items() if at[partition] < len(messages)]
    while left:
        partition = chance.choice(left)
        messages = log[partition][at[partition] : at[partition] + chance.randint(1, 6)]
        at[partition] += len(messages)
        yield Chunk(partition, messages, at[partition], 100)
        left = [one for one in left if at[one] < len(log[one])]


def apply(rows: Rows, records: Iterable[Record]) -> None:
    """What an idempotent sink does with records, in their order."""
    for record in records:
        value = envelope_of(record)
        if value["op"] == "d":
            rows.pop(_id(record), None)
        else:
            rows[value["after"]["id"]] = value["after"].to_dict()


def _id(record: Record) -> int:
    assert isinstance(record.key, Struct)
    number: int = record.key["id"]
    return number


@pytest.mark.parametrize(("dispatcher", "split"), [("index-value", True), ("index-value", False), ("ts", True)])
def test_parallel_splits_end_right(dispatcher: Dispatcher, split: bool, tmp_path: Path, seeds: range) -> None:
    """As Spark reads: growing partitions planned range by range, a split each, the newest of each key by position."""
    for seed in range(len(seeds) // 4):
        chance = random.Random(seed)
        history = make_history(chance, 60)
        log = Emulator(chance, dispatcher=dispatcher, split_updates=split).write(history)
        assert _planned(chance, history, log, tmp_path / str(seed)) == history.final, f"seed {seed}"


def _planned(chance: random.Random, history: History, log: Log, folder: Path) -> Rows:
    folder.mkdir()
    files = {partition: folder / f"{partition.number}.jsonl" for partition in log}
    for path in files.values():
        path.touch()
    config, _ = TicdcConfig.load(
        {"files": [str(folder / "*.jsonl")], "protocol": "debezium", "watermarks": "always"}, "source"
    )
    state = SqliteStateStore(folder / "state")
    source = TicdcSource(config)
    source.open(SourceContext("emulated", state))
    rows: Rows = {}
    offset = source.initial_offset()
    at = dict.fromkeys(log, 0)
    for chunk in _chunks(chance, log, at):
        _append(files[chunk.partition], chunk.messages)
        if chance.random() < 0.2:
            offset = _microbatch(source, offset, rows, wait=0.001)
    _microbatch(source, offset, rows, wait=0.0)
    state.close()
    return rows


def _microbatch(source: TicdcSource, start: dict[str, Any], rows: Rows, wait: float) -> dict[str, Any]:
    end = source.latest_offset(start, wait)
    newest: dict[int, Record] = {}
    for split in source.plan(start, end, parallelism=4):
        for batch in source.read(split):
            for record in batch.records:
                key = _id(record)
                if key not in newest or newest[key].position < record.position:
                    newest[key] = record
    apply(rows, newest.values())
    return end


def _append(path: Path, messages: list[Message]) -> None:
    with path.open("a") as file:
        for message in messages:
            line = {
                "topic": message.topic,
                "partition": message.partition,
                "key": (message.key or b"").decode(),
                "value": (message.value or b"").decode(),
            }
            file.write(json.dumps(line) + "\n")


def test_forgets_the_keys_seen_longest_ago() -> None:
    """The memory of keys is bounded."""
    decoder = make_decoder("debezium", DecoderOptions(), Definitions(), None)
    log = Emulator(random.Random(1), watermarks=False, restarts=0).write(make_history(random.Random(1), 40))
    records = [event for messages in log.values() for one in messages for event in decoder.decode(one)]
    newest = NewestByKey(2)
    for number, record in enumerate(records):
        assert isinstance(record, Record)
        newest.is_older(record, number)
        assert len(newest) <= 2
