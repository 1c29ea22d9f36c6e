"""The configurations under which Debezium's events were recorded are taken as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline

RECORDED = Path(__file__).parent.parent / "data" / "debezium"
PARITY = (
    "types", "types-noschema", "types-alt1", "types-alt2", "types-alt3", "dml", "dml-schema", "dml-notombstone",
    "smt-unwrap", "smt-unwrap-default", "smt-route",
)  # fmt: skip
TARGETS = {"mysql97-mysql-3.6.3": "mysql", "mariadb1011-mariadb-3.5.0": "mariadb"}


@pytest.mark.parametrize("scenario", PARITY)
@pytest.mark.parametrize("target", TARGETS)
def test_a_recorded_configuration_is_a_pipeline(target: str, scenario: str) -> None:
    path = RECORDED / target / scenario / "conf.properties"
    pipeline = load_pipeline(path)
    assert pipeline.source.registration.name == TARGETS[target]
    assert (pipeline.name, pipeline.folder, pipeline.runner) == ("g", path.parent / "state/g", "spark")
    assert pipeline.serializer.config.schemas_enable is ("schemas.enable" not in path.read_text())  # type: ignore[attr-defined]
    assert len(pipeline.transforms) == ("transforms=" in path.read_text())
    why = "there is no JDBC driver; the server is spoken to directly"
    expected = (f"options without meaning here, left out: driver.allowPublicKeyRetrieval ({why})",)
    assert pipeline.warnings == (expected if "driver." in path.read_text() else ())


@pytest.mark.parametrize("runner", ["direct", "spark"])
def test_both_runners_have_heartbeats(runner: str) -> None:
    path = RECORDED / "mysql97-mysql-3.6.3" / "heartbeat" / "conf.properties"
    assert [warning for warning in load_pipeline(path, runner=runner).warnings if "heartbeat" in warning] == []
