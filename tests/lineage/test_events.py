"""What OpenLineage is told of a pipeline that reads MySQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from lineage.receiver import Receiver, receiving
from lineage.run_event import check
from testkit.running import PASSWORD, Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

TABLES = """
create table orders (id bigint unsigned primary key, word varchar(20) comment 'what was said');
create table notes (n int primary key);
insert into orders values (1, 'a');
"""
INTEGRATION = "openlineage.integration."


def pipeline(server: MySQLServer, database: str, folder: Path, transport: dict[str, Any], **options: Any) -> Pipeline:
    server.run_sql(f"create database {database}")
    server.run_sql(TABLES, database=database)
    create_reader(server)
    (folder / "lineage.yml").write_text(yaml.safe_dump({"transport": transport}))
    source = source_of(server, database, **{INTEGRATION + "enabled": True, **options})
    source[INTEGRATION + "config.file.path"] = "lineage.yml"
    return to_file(folder, source)


def http(receiver: Receiver) -> dict[str, Any]:
    auth = {"type": "api_key", "api_key": "a-key-that-nobody-sees"}
    return {"type": "http", "url": receiver.url, "endpoint": "/api/v1/lineage", "auth": auth}


def datasets(events: list[dict[str, Any]], which: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The fields of each dataset, as it was told last."""
    return {
        (one["namespace"], one["name"]): one["facets"].get("schema", {}).get("fields", [])
        for event in events
        for one in event[which]
    }


def test_a_run_from_its_start_to_its_end(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    about = {"job.namespace": "sales", "job.description": "the shop", "job.tags": "env=prod", "job.owners": "Ada=owner"}
    with receiving() as receiver:
        options = {INTEGRATION + name: value for name, value in about.items()}
        found = pipeline(mysql_server, unique_name, tmp_path, http(receiver), **options)
        namespace = f"mysql://{mysql_server.host}:{mysql_server.port}"
        with found.running() as running:
            both = {(namespace, f"{unique_name}.{name}") for name in ("orders", "notes")}
            running.wait_until(lambda: set(datasets(receiver.events, "inputs")) == both, "the tables")
            running.wait_until(lambda: bool(datasets(receiver.events, "outputs")), "what is written")
            mysql_server.run_sql("alter table notes add column more json", database=unique_name)
            running.wait_until(lambda: _has_column(receiver, (namespace, f"{unique_name}.notes")), "the new column")
            assert running.stop().code == 0
        events = receiver.events
    for event in events:
        check(event)
    states = [event["eventType"] for event in events]
    assert (states[0], states[-1], set(states[1:-1])) == ("START", "COMPLETE", {"RUNNING"})
    assert len({event["run"]["runId"] for event in events}) == 1
    assert set(receiver.authorized) == {"Bearer a-key-that-nobody-sees"}
    _check_job(events[0]["job"])
    _check_datasets(events, namespace, unique_name, found)
    told = events[0]["run"]["facets"]
    assert told["processing_engine"]["name"] == "cdckit"
    assert "database.password=********" in told["debezium_config"]["configs"]
    assert f"database.port={mysql_server.port}" in told["debezium_config"]["configs"]
    text = json.dumps(events) + running.log
    assert PASSWORD not in text
    assert "a-key-that-nobody-sees" not in text


def _has_column(receiver: Receiver, table: tuple[str, str]) -> bool:
    return [one["name"] for one in datasets(receiver.events, "inputs")[table]] == ["n", "more"]


def _check_job(job: dict[str, Any]) -> None:
    facets = job["facets"]
    assert (job["namespace"], job["name"]) == ("sales", "p.0")
    assert facets["documentation"]["description"] == "the shop"
    kind = [facets["jobType"][name] for name in ("processingType", "integration", "jobType")]
    assert kind == ["STREAMING", "DEBEZIUM", "TASK"]
    assert [(one["key"], one["value"], one["source"]) for one in facets["tags"]["tags"]] == [("env", "prod", "CONFIG")]
    assert [(one["name"], one["type"]) for one in facets["ownership"]["owners"]] == [("Ada", "owner")]


def _check_datasets(events: list[dict[str, Any]], namespace: str, database: str, found: Pipeline) -> None:
    orders = datasets(events, "inputs")[namespace, f"{database}.orders"]
    assert [(one["name"], one["type"], one.get("description")) for one in orders] == [
        ("id", "BIGINT UNSIGNED", None),
        ("word", "VARCHAR", "what was said"),
    ]
    ((place, fields),) = datasets(events, "outputs").items()
    assert place == ("file", str(found.output))
    assert {"before", "after", "source", "op"} <= {one["name"] for one in fields}
    (after,) = [one for one in fields if one["name"] == "after"]
    assert (after["type"], [(one["name"], one["type"]) for one in after["fields"]]) == (
        "STRUCT",
        [("id", "INT64"), ("word", "STRING")],
    )


def test_a_run_that_fails(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    """Into a file, which is described as for Java's client."""
    told = tmp_path / "events.jsonl"
    found = pipeline(mysql_server, unique_name, tmp_path, {"type": "file", "location": str(told)})
    assert found.run("--once").code == 0
    found.source["database.password"] = "another-password"  # type: ignore[index]
    ended = found.run("--once")
    assert ended.code == 3
    events = [json.loads(line) for line in told.read_text().splitlines()]
    for event in events:
        check(event)
    first, second = [event["run"]["runId"] for event in events if event["eventType"] == "START"]
    states = [event["eventType"] for event in events if event["run"]["runId"] == first]
    assert (states[0], states[-1]) == ("START", "COMPLETE")
    (failed,) = [event for event in events if event["eventType"] == "FAIL"]
    assert failed["run"]["runId"] == second
    error = failed["run"]["facets"]["errorMessage"]
    assert error["message"] in ended.errors
    assert "direct.py" in error["stackTrace"]
    assert "another-password" not in told.read_text()


def test_without_the_option_nobody_is_told(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    with receiving() as receiver:
        found = pipeline(mysql_server, unique_name, tmp_path, http(receiver))
        del found.source[INTEGRATION + "enabled"]  # type: ignore[attr-defined]
        assert found.run("--once").code == 0
        assert receiver.events == []
