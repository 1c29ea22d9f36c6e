"""Batches of a query of one's own on their way to the sink: from the driver, or from the tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink, Transactions
from cdckit.engine.spark.staged import Order, Share, in_order, query_of_task
from cdckit.engine.spark.write_job import WriteJob
from cdckit.errors import SinkError

log = logging.getLogger("cdckit.spark")

_JOB = "job"
"""What the place of a job's transactions has, where a pipeline's has its offset."""

Mark = tuple[str, int]
"""A streaming query's id, and a batch's number."""


def write_share(job: WriteJob, portions: Iterable[Messages]) -> Share:
    """Writes a task's messages, and waits until they are safe.

    Raises:
        SinkError: they are not taken, or not in the log's order.
    """
    records, order = 0, Order()
    with job.opened() as sink:
        for messages in portions:
            order.see(messages.positions)
            if not order.ascends:
                raise SinkError(
                    "rows are not in the order of their positions: with writer 'tasks' have them so by "
                    'rows.repartition("key").sortWithinPartitions("position"), or leave the option out',
                    number="CDC4303",
                )
            _write(job, sink, messages)
            records += len(messages)
        sink.flush()
    return Share(records, query=query_of_task())


def write_batch(job: WriteJob, shares: Sequence[Share | None], batch: int | None) -> None:
    """Writes what tasks have handed on; with transactions as one, unless the last one has this batch.

    Args:
        job: what becomes of it.
        shares: the tasks', by their numbers.
        batch: its number in its streaming query; None: it is none's.

    Raises:
        SinkError: it is not taken: nothing of it is seen by readers of transactions, else some may be.
    """
    given = [share for share in shares if share is not None and share.records]
    if job.in_tasks or not given:
        return
    with job.opened() as sink:
        if sink.transactions is None:
            _write_all(job, sink, given)
            sink.flush()
        else:
            _write_once(job, sink, sink.transactions, given, batch)


def _write_once(
    job: WriteJob, sink: Sink, transactions: Transactions, shares: Sequence[Share], batch: int | None
) -> None:
    last = _noted(job, transactions.committed())
    mark = None if batch is None else (_query(shares), batch)
    if mark is not None and last is not None and last[0] == mark[0] and last[1] >= mark[1]:
        log.info("batch %d of query %s is in the sink already: it is passed over", batch, mark[0])
        return
    _write_all(job, sink, shares)
    transactions.commit({_JOB: mark or last})


def _query(shares: Sequence[Share]) -> str:
    query = shares[0].query
    if not query:
        raise SinkError("Spark does not tell which query a batch is of: exactly-once delivery cannot be had here")
    return query


def _noted(job: WriteJob, place: Any) -> Mark | None:
    """The batch that the last transaction had.

    Raises:
        SinkError: it was a pipeline's.
    """
    if place is None:
        return None
    if not isinstance(place, dict) or _JOB not in place:
        raise SinkError(
            f"name: the offset topic has the offset of a pipeline '{job.name}': give the job a name of its own",
            number="CDC4108",
        )
    found = place[_JOB]
    return None if found is None else (str(found[0]), int(found[1]))


def _write_all(job: WriteJob, sink: Sink, shares: Sequence[Share]) -> None:
    for messages in in_order(shares):
        _write(job, sink, messages)


def _write(job: WriteJob, sink: Sink, messages: Messages) -> None:
    if not job.position_header:
        messages.positions = [""] * len(messages)
    sink.write(messages)
