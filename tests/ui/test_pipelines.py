"""The page of pipelines that really run: what they keep for it, what it can have them do, and what it never shows."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.metrics.details_file import read_details
from cdckit.engine.metrics.status_file import read_status
from cdckit.ui.fleet import identify
from testkit.running import PASSWORD, Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from ui.serving import TOKEN, Served, serving

CAST = {"type": "Cast$Value", "spec": "amount:int32"}
UNWRAP = {"type": "ExtractNewRecordState"}


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with two tables."""
    create_reader(mysql_server)
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name};"
        "CREATE TABLE orders (id INT PRIMARY KEY, amount VARCHAR(20));"
        "CREATE TABLE quiet (id INT PRIMARY KEY); INSERT INTO quiet VALUES (1);"
    )
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def everything(served: Served, pipeline: Pipeline) -> str:
    """All that the page is told of a pipeline, and of the others."""
    own = f"api/pipelines/{identify(pipeline.state.resolve())}"
    paths = ("", "api/fleet", own, f"{own}/quarantine", f"{own}/quarantine/1")
    return "\n".join(_asked(served, path) for path in paths)


def _asked(served: Served, path: str, body: Any = None) -> str:
    request = urllib.request.Request(
        f"{served.url}{path}",
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {TOKEN}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


def act(served: Served, pipeline: Pipeline, action: str, **asked: Any) -> Any:
    """Has something done; gives what was said."""
    return json.loads(_asked(served, f"api/pipelines/{identify(pipeline.state.resolve())}/actions/{action}", asked))


def test_a_run_from_begin_to_replay(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    source = source_of(mysql_server, shop, table_include_list=f"{shop}.*", signal_enabled_channels="in-process")
    pipeline = to_file(
        tmp_path, source, transforms=[UNWRAP, CAST], **{"errors.tolerance": "quarantine", "quarantine.max.share": 1}
    )
    orders = f"{shop}.orders"
    variables = {"CDC_UI_TOKEN": TOKEN}
    with serving(tmp_path, "--allow-actions", log=tmp_path / "ui.log", variables=variables) as served:
        with pipeline.running() as running:
            running.wait_for("snapshot of")
            mysql_server.run_sql(
                f"USE {shop}; INSERT INTO orders VALUES (1, '10'), (2, '20'), (3, 'dear');"
                "UPDATE orders SET amount = '21' WHERE id = 2; DELETE FROM orders WHERE id = 1;"
                "ALTER TABLE orders ADD COLUMN note INT;"
                "INSERT INTO orders VALUES (4, '40', 1)"
            )
            running.wait_until(lambda: _counted(pipeline, orders) == (4, 1, 1), "the changes in details.json")
            running.wait_until(lambda: _knows_lags(pipeline), "their way in status.json")
            told = _details(served, pipeline)
            assert told["state"] == "running"
            assert told["what"] == "1 records in quarantine"
            assert told["signals"]
            assert told["file"] == str(pipeline._path)
            assert [told["source_lag"] is not None, told["sink_lag"] is not None] == [True, True]
            tables = {table["name"]: table for table in told["tables"]}
            assert (tables[orders]["c"], tables[orders]["u"], tables[orders]["d"]) == (4, 1, 1)
            assert tables[orders]["quarantined"] == 1
            assert tables[f"{shop}.quiet"]["rows"] == 1
            assert told["tables"][0]["name"] == f"{shop}.quiet"
            statements = [entry for entry in told["timeline"] if entry[1] == "schema" and "ADD COLUMN" in entry[2]]
            assert [entry[3] for entry in statements] == [orders]
            assert told["refusals"]["replay"].startswith("stop the pipeline first")
            assert told["refusals"]["signal"] == ""
            said = act(served, pipeline, "signal", type="log", data={"message": "hi"})["said"]
            assert "takes it within seconds" in said
            running.wait_for("hi")
            shown = everything(served, pipeline)
            assert "'dear' is no whole number" in shown
            assert PASSWORD not in shown
            running.stop()
        told = _details(served, pipeline)
        assert told["state"] == "stopped"
        assert told["trend"]["cpu"]
        assert told["trend"]["memory"][-1] > 10_000_000
        said = act(served, pipeline, "resnapshot", tables=[f"{shop}.quiet"])["said"]
        assert said == f"{shop}.quiet: read again when the pipeline is started next"
        assert _details(served, pipeline)["resnapshot"] == [f"{shop}.quiet"]
        mended = to_file(tmp_path, source, transforms=[UNWRAP], **{"errors.tolerance": "quarantine"})
        mended.written()
        assert "delivered 1 records, 0 stay" in act(served, pipeline, "replay")["said"]
        assert _details(served, pipeline)["quarantine"] == 0
        assert PASSWORD not in everything(served, pipeline) + (tmp_path / "ui.log").read_text()


def test_a_run_that_fails_shows_no_password(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    source = source_of(mysql_server, shop, database_user="nobody_known")
    pipeline = to_file(tmp_path, source)
    assert pipeline.run().code == 3
    with serving(tmp_path, log=tmp_path / "ui.log") as served:
        told = _details(served, pipeline)
        assert (told["state"], told["grade"]) == ("failed", "down")
        assert "nobody_known" in told["what"]
        assert told["command"] == f"cdc validate {pipeline._path} --connect"
        assert told["timeline"][-1][1] == "failed"
        assert PASSWORD not in everything(served, pipeline)


def _counted(pipeline: Pipeline, table: str) -> tuple[int, int, int]:
    counts = read_details(pipeline.state).get("tables", {}).get(table, {})
    return counts.get("c", 0), counts.get("u", 0), counts.get("d", 0)


def _knows_lags(pipeline: Pipeline) -> bool:
    status = read_status(pipeline.state) or {}
    return status.get("source_lag") is not None and status.get("sink_lag") is not None


def _details(served: Served, pipeline: Pipeline) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_asked(served, f"api/pipelines/{identify(pipeline.state.resolve())}"))
    return told
