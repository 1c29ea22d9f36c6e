"""What `cdc validate --connect` says of the oplog: which pause it bears, and whether the pipeline's was shorter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cdckit import CdcError, Finding, Offset
from cdckit.connector.durations import duration
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.server.connection import Client, Cluster, connect, driver_errors
from cdckit_mongodb.server.oplog import clock_text, newest_moment, read_oplog
from cdckit_mongodb.server.oplog_window import resized
from cdckit_mongodb.snapshot.modes import snapshot_mode
from cdckit_mongodb.streaming.lost import advice, with_lost_time
from cdckit_mongodb.streaming.retention import why_lost

_PAUSE_HOURS = 24
"""The pause that an oplog should bear: the time in which somebody sees to a pipeline that stands still."""
_TIMES_THE_LAG = 2
_RIGHTS = "grant find and collStats on {db: 'local', collection: 'oplog.rs'}, or look at rs.printReplicationInfo()"
_GIB = 2**30


def oplog_window(client: Client, cluster: Cluster) -> Finding:
    """How far back the oplog reaches, and how large it has to be: bytes an hour times the longest pause.

    After the manual of Debezium's MongoDB connector, "Optimal Oplog configuration".
    """
    if cluster.kind != "replica set":
        return Finding("oplog window", "ok", "that of each shard; look at rs.printReplicationInfo() there")
    oplog = read_oplog(client)
    if oplog is None:
        return Finding(
            "oplog window", "warn", "cannot be told: the user may not read local.oplog.rs", _RIGHTS, number="CDC1106"
        )
    reaches = f"{duration(oplog.newest[0] - oplog.oldest[0])} of changes, since {clock_text(oplog.oldest[0])}"
    if oplog.size is None or oplog.capacity is None:
        return Finding(
            "oplog window", "warn", f"{reaches}; how fast it grows cannot be told", _RIGHTS, number="CDC1106"
        )
    kept = f", and keeps {oplog.kept_hours:g} h at the least" if oplog.kept_hours else ""
    filled = "" if oplog.full else ", and is not full yet"
    hourly = oplog.hourly_bytes / _GIB
    message = f"{reaches}, {hourly:.2f} GiB an hour; it holds {oplog.capacity / _GIB:.2f} GiB{kept}{filled}"
    if not oplog.full or oplog.seconds >= _PAUSE_HOURS * 3600:
        return Finding("oplog window", "ok", message)
    needed = f"a pause of {_PAUSE_HOURS} h needs {hourly * _PAUSE_HOURS:.1f} GiB"
    return Finding("oplog window", "warn", message, f"{needed}: {resized(oplog, _PAUSE_HOURS)}", number="CDC1104")


def place_in_oplog(config: MongoDbConfig, offset: Offset) -> Sequence[Finding]:
    """Whether a pipeline can go on from where it stood, and for how long that will be so."""
    try:
        at = StreamOffset.from_json(offset)
        if at.snapshot_due and at.snapshot is None:
            return [Finding("position", "ok", "a snapshot is to be taken")]
        with connect(config) as client:
            return list(_place(client, config, at))
    except CdcError as error:
        return [Finding.of("position", error)]


def _place(client: Client, config: MongoDbConfig, at: StreamOffset) -> Iterator[Finding]:
    error = why_lost(client, config, at)
    if error is not None:
        again = at.snapshot is not None or snapshot_mode(config).on_data_error
        remedy = "a new snapshot will be taken" if again else advice(client, error)
        yield Finding("position", "warn" if again else "fail", with_lost_time(client, error), remedy, number="CDC1103")
        return
    with driver_errors(config, "asking for the newest operation"):
        newest = newest_moment(client)
    lag = max(0, newest[0] - at.sec) if newest > at.moment else 0
    yield _pause(client, lag)


def _pause(client: Client, lag: int) -> Finding:
    """How much of the oplog's window the pipeline's pause has taken."""
    behind = f"{duration(lag)} behind the newest operation" if lag else "at the newest operation"
    oplog = read_oplog(client)
    if oplog is None:
        return Finding("position", "ok", behind)
    message = f"{behind}, in an oplog that reaches back {duration(oplog.seconds)}"
    if not oplog.full or lag * _TIMES_THE_LAG <= oplog.seconds:
        return Finding("position", "ok", message)
    hours = math.ceil(lag * _TIMES_THE_LAG / 3600)
    return Finding("position", "warn", message, f"run the pipeline soon, or {resized(oplog, hours)}", number="CDC1108")
