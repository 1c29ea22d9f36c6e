"""A pipeline on Spark whose state is in Kafka: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka.state.places import forgetful
from spark.folderless import assert_each_runner_goes_on
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.nightly
def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    assert_each_runner_goes_on(
        mariadb_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, kafka_broker, unique_name),
        afterwards,
    )
