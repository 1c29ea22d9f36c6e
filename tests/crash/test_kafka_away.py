"""Kafka stopped while a MongoDB pipeline runs, and started again: nothing is missing, each document's order holds."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.documents import DocumentWriter, assert_documents_complete, document_records
from crash.targets import KafkaTarget
from testkit.journal import Journal
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet


@pytest.mark.timeout(300)
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_nothing_is_lost_or_out_of_order(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, killed: bool, nightly: bool, afterwards: ExitStack
) -> None:
    source = {
        "type": "mongodb",
        "topic.prefix": unique_name,
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
        "capture.mode": "change_streams",
    }
    journal, broker = Journal(), afterwards.enter_context(KafkaBroker())
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        target = KafkaTarget(broker, unique_name)
        pipeline = Pipeline(tmp_path, source, target.sink, {"serializer": {"schemas.enable": False}})
        with DocumentWriter(client, unique_name, journal, 1, {"a": 500, "b": 500}), pipeline.running() as process:
            process.wait_for("snapshot from")
            known = journal.lengths()
            for times in range(1, 6 if nightly else 2):
                before = target.size()
                process.wait_until(lambda before=before: target.size() > before + 1500)  # type: ignore[misc]
                if killed:
                    broker.kill()
                else:
                    broker.stop()
                process.wait_for("waiting for Kafka to acknowledge records", times)
                broker.start()
                process.wait_for("Kafka answers again", times)
            assert process.stop().code == 0
        ended = pipeline.run("--once")
        assert ended.code == 0, ended.stderr
        assert_documents_complete(journal.changes(), list(document_records(target.arrived())), known)
