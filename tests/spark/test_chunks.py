"""What a worker puts together before it is packed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cdckit import Batch, Record
from cdckit.engine.spark.worker import CHUNK, _chunks


def _batches(tables: int, rounds: int, log_bytes: int = 100) -> Iterator[Batch]:
    """A row of each table after the other, as many times."""
    for _ in range(rounds):
        yield Batch([Record(f"t{table}", None, None) for table in range(tables)], None, log_bytes=log_bytes)


def _sizes(batches: Iterator[Batch], *, by_table: bool) -> list[int]:
    return [len(records) for records, _ in _chunks(batches, by_table=by_table)]


def test_rows_of_many_tables_come_to_packets_of_many_rows() -> None:
    """A packet of four rows costs as much as one of a hundred."""
    [first, *_] = (records for records, _ in _chunks(_batches(500, 200), by_table=True))
    assert min(Counter(record.topic for record in first).values()) >= 60


def test_what_is_gathered_for_many_tables_is_bounded_by_the_log_that_it_took() -> None:
    assert max(_sizes(_batches(500, 200, 1 << 20), by_table=True)) <= 8 * 500


def test_of_very_many_tables_no_more_is_held_than_of_many() -> None:
    assert max(_sizes(_batches(5000, 20), by_table=True)) == 50_000


def test_messages_and_few_tables_are_put_together_as_ever() -> None:
    assert _sizes(_batches(500, 8), by_table=False) == [CHUNK, CHUNK]
    assert _sizes(_batches(10, 400), by_table=True) == [CHUNK, CHUNK]
