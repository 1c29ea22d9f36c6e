"""Which records a quarantine takes for the same, and what counts as a fault of the serializer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from cdckit.api.messages import Messages
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import STRING
from cdckit.api.undecoded import Undecoded
from cdckit.engine.chain import make_chain
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.pipeline import Encoder
from cdckit.engine.quarantine.delivery import TolerantEncoder
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.store import Quarantined, QuarantineStore, Stage
from cdckit.engine.serializers.string import StringConfig, StringSerializer
from cdckit.errors import DecodeError, SinkError, TransformError


def _records(*values: str) -> list[Record]:
    """Of one key and one place in the log, as where an upstream transform has made several of one."""
    return [Record("t", SchemaAndValue(STRING, "k"), SchemaAndValue(STRING, value), position="7") for value in values]


def test_several_records_of_one_place_are_each_kept_and_once(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(QuarantineStore(tmp_path)) as store:
            faulty = FaultyRecords(
                ErrorHandling("quarantine", folder=tmp_path), store, FaultCounts(), Entries("mysql", "file")
            )
            for record in _records("one", "two"):
                faulty.record_failed(record, "transform", "t", TransformError("no"))
            faulty.sync()
            assert store.count == 2


def test_a_log_that_mostly_cannot_be_decoded_stops_the_pipeline(tmp_path: Path) -> None:
    with closing(QuarantineStore(tmp_path)) as store:
        faulty = FaultyRecords(ErrorHandling("quarantine"), store, FaultCounts(), Entries("mysql", "file"))
        for number in range(999):
            faulty.undecoded(Undecoded(str(number), "t", "it is no event", {"rows": b""}))
        with pytest.raises(DecodeError, match=r"more than 50% of the last .*; the last one: log\.1:999: no event"):
            faulty.undecoded(Undecoded("999", "t", "log.1:999: no event", {"rows": b""}))


@pytest.mark.parametrize("error", [AttributeError("stray"), SinkError("the registry is away")])
def test_a_stray_error_of_a_serializer_is_a_fault_of_its_record(error: Exception, tmp_path: Path) -> None:
    class Failing(StringSerializer):
        def values(self, records: Sequence[Record]) -> list[bytes | None]:
            if any(record.value == SchemaAndValue(STRING, "bad") for record in records):
                raise error
            return super().values(records)

    with closing(QuarantineStore(tmp_path)) as store:
        faulty = FaultyRecords(
            ErrorHandling("quarantine", folder=tmp_path), store, FaultCounts(), Entries("mysql", "file")
        )
        encode = TolerantEncoder(
            Encoder(make_chain([]), Failing(StringConfig()), position_header=False), faulty, "failing"
        )
        if isinstance(error, SinkError):
            with pytest.raises(SinkError):
                encode(_records("good", "bad"))
            return
        made: Messages = encode(_records("good", "bad", "good"))
        assert (made.values, store.count) == ([b"good", b"good"], 1)


def _handed_over(stage: Stage, count: int) -> list[Quarantined]:
    return [Quarantined(f"{stage} {at}", 0.0, stage, "spark", "no", "t", f"{at}", "k", b"{}") for at in range(count)]


def test_what_a_task_hands_over_counts_once_and_what_waits_does_not(tmp_path: Path) -> None:
    with closing(QuarantineStore(tmp_path)) as store:
        faulty = FaultyRecords(ErrorHandling("quarantine"), store, FaultCounts(), Entries("mysql", "spark"))
        faulty.take(_handed_over("wait", 900), 1000)
        faulty.batch_begins()
        for _ in range(3):  # a batch that is read again for a table that refuses rows of it
            faulty.take(_handed_over("write", 700), 800)
            faulty.read_again()
        with pytest.raises(SinkError, match=r"more than 50% of the last"):
            faulty.take(_handed_over("write", 1100), 1200)
