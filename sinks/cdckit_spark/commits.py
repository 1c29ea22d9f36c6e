"""Which version of a Delta table has the last batch before a place, by what its log says of batches.

Each commit of a batch notes `txn` with the application that counts the batches, and the number
(https://github.com/delta-io/delta/blob/master/PROTOCOL.md#transaction-identifiers).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from cdckit_spark.folders import hadoop_path

MOST = 1000
"""So many commits are looked at: those that no batch has written are few."""


class Txn(NamedTuple):
    """What a commit notes of a batch: what counts the batches, and the number."""

    application: str
    number: int


NOT_THERE = -1
"""In the place of a version: there was no table."""


def version_before(
    noted: Callable[[int], Iterable[Txn] | None], newest: int, application: str, batch: int
) -> int | None:
    """The newest version without a later batch; `NOT_THERE` where there was none; None: the log does not tell.

    Args:
        noted: gives what a version's commit notes; None: it is not there.
        newest: the newest version.
        application: what counts the batches; parts of one that have commits of their own have `/1`, `/2` … behind it.
        batch: the number of the last one that it may have.
    """
    version = newest
    for number in range(newest, max(NOT_THERE, newest - MOST), -1):
        told = noted(number)
        if told is None:
            return None
        own = [txn.number for txn in told if _is_of(txn.application, application)]
        if any(found > batch for found in own):
            version = number - 1
        elif own:
            return version
    return version if newest < MOST else None


def _is_of(application: str, whole: str) -> bool:
    name, _, part = application.rpartition("/")
    return application == whole or (name == whole and part.isdecimal())


def notes_of(session: SparkSession, location: str) -> Callable[[int], Iterable[Txn] | None]:
    """What the commits of the table in a folder note, by their versions."""

    def noted(version: int) -> Iterable[Txn] | None:
        files, place = hadoop_path(session, f"{location}/_delta_log/{version:020d}.json")
        try:
            stream = files.open(place)
        except Py4JJavaError as error:
            if "FileNotFound" in str(error.java_exception.getClass().getName()):
                return None
            raise
        try:
            return list(_txns(bytes(stream.readAllBytes())))
        finally:
            stream.close()

    return noted


def _txns(commit: bytes) -> Iterator[Txn]:
    for line in commit.splitlines():
        if line.startswith(b'{"txn"'):
            told = json.loads(line)["txn"]
            yield Txn(told["appId"], int(told["version"]))
