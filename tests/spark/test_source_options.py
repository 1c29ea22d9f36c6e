"""The data source's options in the place of a pipeline file."""

from __future__ import annotations

import re

import pytest

from cdckit.engine.spark.failures import WorkerError, recover
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


@pytest.mark.parametrize(("given", "said"), [
    ({"tables": "shop.orders"}, r"tables: unknown option; did you mean 'table'\?"),
    ({"maxBytesPerTriger": "1"}, r"maxbytespertriger: unknown option; did you mean 'maxBytesPerTrigger'\?"),
    ({"startingOffsets": "earliest"}, "startingoffsets: unknown option$"),
    ({"documentColumns": "name string"}, "documentColumns: are of a collection's rows: name it by the option 'table'"),
])  # fmt: skip
def test_options_that_mean_nothing_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], said: str
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hidden")
    with pytest.raises(WorkerError) as refused:
        CdckitDataSource({**OPTIONS, **given}).schema()
    error = recover(str(refused.value))
    assert error is not None and re.search(said, str(error))
