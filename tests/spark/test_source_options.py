"""The data source's options in the place of a pipeline file."""

from __future__ import annotations

import pytest

from cdckit.engine.spark.failures import WorkerError
from cdckit.spark import CdckitDataSource

OPTIONS = {
    "source.type": "mysql", "source.topic.prefix": "p", "source.database.hostname": "h", "source.database.user": "u",
    "source.database.password": "${SHOP_PASSWORD}",
}  # fmt: skip


def test_variables_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hidden")
    options = CdckitDataSource(OPTIONS).job.pipeline.source_config.model_dump()
    assert options["database_password"].get_secret_value() == "hidden"
    monkeypatch.delenv("SHOP_PASSWORD")
    with pytest.raises(WorkerError, match="the environment variable SHOP_PASSWORD is not set"):
        CdckitDataSource(OPTIONS).schema()
