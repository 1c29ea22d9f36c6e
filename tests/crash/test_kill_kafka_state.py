"""Pipelines whose state is in Kafka, killed at random instants, with nothing left of them on their machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.forgetful_kills import kill_and_prove
from kafka.state.places import forgetful
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    mysql_server: MySQLServer,
    kafka_broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    kill_and_prove(
        mysql_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, kafka_broker, unique_name),
        afterwards,
        nightly=nightly,
    )
