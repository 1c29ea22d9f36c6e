"""The trial on one machine: its files fit together, and the pipeline in it is one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from deploy.files import DEPLOY, loaded
from testkit.servers.mysql import MySQLServer
from testkit.servers.prometheus import programs

FOLDER = DEPLOY / "compose"


def test_each_file_that_is_mounted_is_there() -> None:
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    mounts = [mount for service in compose["services"].values() for mount in service.get("volumes", [])]
    mounted = [mount.split(":")[0] for mount in mounts if mount.startswith(".")]
    named = {mount.split(":")[0] for mount in mounts if not mount.startswith(".")}
    assert len(mounted) >= 6
    assert [path for path in mounted if not (FOLDER / path).exists()] == []
    assert named == set(compose["volumes"])
    for service in compose["services"].values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
        assert set(service.get("depends_on", ())) <= set(compose["services"])


def test_its_pipeline(tmp_path: Path) -> None:
    pipeline = loaded((FOLDER / "pipeline.yaml").read_text(), tmp_path)
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert pipeline.source.config.model_dump()["database_hostname"] in compose["services"]
    assert pipeline.sink.config.model_dump()["bootstrap_servers"].split(":")[0] in compose["services"]
    assert str(pipeline.folder).startswith("/var/lib/cdckit/")
    assert (
        pipeline.source.config.model_dump()["database_password"].get_secret_value()
        in (FOLDER / "mysql" / "shop.sql").read_text()
    )


def test_its_database(mysql_server: MySQLServer, unique_name: str) -> None:
    """The statements are MySQL's; in a database and for a user of the test's own."""
    text = (FOLDER / "mysql" / "shop.sql").read_text()
    own = text.replace("'cdc'@", f"'{unique_name}'@").replace("shop", unique_name)
    mysql_server.run_sql(own)
    mysql_server.run_sql(
        f"select * from {unique_name}.orders; drop database {unique_name}; drop user '{unique_name}'@'%';"
    )


def test_prometheus_takes_its_file(tmp_path: Path) -> None:
    text = (FOLDER / "prometheus.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(
        text.replace("/etc/prometheus/alerts.yml", str(DEPLOY / "grafana" / "alerts.yml"))
    )
    command: list[str | Path] = [programs() / "promtool", "check", "config", tmp_path / "prometheus.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "9 rules found" in done.stdout
    targets = yaml.safe_load(text)["scrape_configs"][0]["static_configs"][0]["targets"]
    assert targets == ["cdckit:9400"]
