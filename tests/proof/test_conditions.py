"""The conditions by which rows are asked for again, and the options of a reading beside the pipeline."""

from __future__ import annotations

import json

import pytest

from cdckit import PlainMode
from cdckit.api.plugins import config_model, find
from cdckit.api.source_config import SourceConfig
from cdckit.connector.options import snapshot
from cdckit.errors import ConfigError

MYSQL = {"topic.prefix": "p", "database.hostname": "h", "database.user": "u", "database.password": "w"}
MONGODB = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h"}


def options(kind: str, **more: object) -> SourceConfig:
    required = MYSQL if kind == "mysql" else MONGODB if kind == "mongodb" else {}
    named = {name.replace("_", "."): value for name, value in more.items()}
    made = config_model(find("source", kind)).model_validate({**required, **named})
    assert isinstance(made, SourceConfig)
    return made


def test_rows_are_asked_for_in_sql() -> None:
    condition = options("mysql").rows_with([{"id": 1, "na`me": "O'Neil"}, {"id": -2, "na`me": ""}])
    assert condition == "(`id` = 1 AND `na``me` = 'O''Neil') OR (`id` = -2 AND `na``me` = '')"


@pytest.mark.parametrize("value", ["a\\b", None, 1.5, {"a": 1}])
def test_values_that_servers_may_read_differently_are_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="a key has the value"):
        options("mysql").rows_with([{"id": value}])


def test_documents_are_asked_for_by_their_ids() -> None:
    condition = options("mongodb").rows_with([{"id": "77"}, {"id": '{"$oid": "0123456789abcdef01234567"}'}])
    assert json.loads(condition) == {"_id": {"$in": [77, {"$oid": "0123456789abcdef01234567"}]}}


def test_a_reading_beside_takes_all_rows_of_the_tables_and_nothing_else() -> None:
    pipeline = options(
        "mysql", snapshot_mode="no_data", table_include_list=r"shop\..*", skipped_operations="u",
        snapshot_locking_mode="extended", signal_enabled_channels="in-process", heartbeat_interval_ms=10,
    )  # fmt: skip
    whole = pipeline.whole(["shop.or.ders"])
    assert whole.snapshot_takes_rows
    assert not whole.skipped
    assert {
        name: getattr(whole, name)
        for name in ("table_include_list", "snapshot_locking_mode", "signal_enabled_channels", "heartbeat_interval_ms")
    } == {
        "table_include_list": r"shop\.or\.ders", "snapshot_locking_mode": "none", "signal_enabled_channels": "",
        "heartbeat_interval_ms": 0,
    }  # fmt: skip
    assert "reads no rows" in (pipeline.rows_left_out("shop.orders") or "")


@pytest.mark.parametrize("kind", ["mysql", "mongodb"])
def test_a_configured_mode_reads_rows_where_it_says_so(kind: str) -> None:
    streams = {"snapshot_mode": "configuration_based", "snapshot_mode_configuration_based_start_stream": True}
    assert "reads no rows" in (options(kind, **streams).rows_left_out("a.b") or "")
    with_rows = options(kind, **streams, snapshot_mode_configuration_based_snapshot_data=True)
    assert with_rows.rows_left_out("a.b") is None


def test_a_mode_of_a_plugin_reads_rows_where_the_plugin_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "mode_by_plugin", {"none": PlainMode("never"), "all": PlainMode("first")}.get)
    read = {name: options("mysql", snapshot_mode="custom", snapshot_mode_custom_name=name) for name in ("none", "all")}
    assert {name: config.snapshot_takes_rows for name, config in read.items()} == {"none": False, "all": True}


def test_files_of_a_log_are_refused_by_their_option() -> None:
    files = options("mysql", **{"binlog.files": "/archive/binlog.*"})
    with pytest.raises(ConfigError, match=r"source\.binlog\.files: .* no table can be compared"):
        files.whole(())


def test_rows_that_the_snapshot_leaves_out_may_be_missing() -> None:
    name = "snapshot.select.statement.overrides"
    statement = {name: "a.b", "snapshot.statements": {f"{name}.a.b": "select 1"}}
    pipeline = options("mysql", snapshot_include_collection_list=r"a\..*", **statement)
    assert pipeline.rows_left_out("a.c") is None
    assert "a statement chooses" in (pipeline.rows_left_out("a.b") or "")
    assert "does not read this table" in (pipeline.rows_left_out("b.c") or "")
