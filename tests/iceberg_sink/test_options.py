"""How catalogs are named, and that their secrets are not shown."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from cdckit import ConfigError, SinkError
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.partitions import Term, parse_terms
from cdckit_iceberg.sink import IcebergSink
from testkit.running import PASSWORD


def config(**options: Any) -> IcebergConfig:
    return IcebergConfig.load(options, "sink")[0]


def test_secrets_are_not_shown() -> None:
    secret = f"{PASSWORD}-of-the-catalog"
    options = {"catalog.type": "rest", "catalog.credential": f"id:{secret}", "catalog.s3.secret-access-key": secret}
    made = config(**options, **{"catalog.uri": f"https://user:{secret}@host/api?token={secret}", "warehouse": "shop"})
    assert secret not in repr(made) + str(made.model_dump()) + str(made.identity())
    assert made.identity()["catalog.uri"] == "https://host/api"
    assert made.properties["credential"] == f"id:{secret}"
    said = LakeCatalog(made).said(ValueError(f"no such catalog: {made.properties}"))
    assert secret not in said and "rest" in said


def test_a_catalog_that_is_none_is_told_of_without_its_secrets() -> None:
    made = config(**{"catalog.type": "sql", "catalog.uri": f"nosuch://user:{PASSWORD}@host/db"})
    with pytest.raises(ConfigError) as told:
        _ = LakeCatalog(made).tables
    assert PASSWORD not in str(told.value) and "nosuch" in str(told.value)


def test_what_came_of_a_secret_is_not_shown_as_a_cause() -> None:
    uri = f"sqlite:////nowhere/{PASSWORD}/c.db?password={PASSWORD}"
    faults = IcebergSink(config(**{"catalog.type": "sql", "catalog.uri": uri})).faults
    with pytest.raises(SinkError, match="topic t: no such place: …") as told, faults.told("t"):
        try:
            raise ValueError(PASSWORD)
        except ValueError as error:
            raise OSError(f"no such place: password={PASSWORD}") from error
    assert PASSWORD not in "".join(traceback.format_exception(told.value))


def test_a_catalog_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"give 'catalog\.type'"):
        config(warehouse="x")
    with pytest.raises(ConfigError, match=r"'hiv' is no catalog that pyiceberg knows: .*glue, hive, .*sql"):
        config(**{"catalog.type": "hiv"})
    assert config(**{"catalog.type": "${CATALOG}"}), "commands that need no secrets read files whose variables lack"
    with pytest.raises(ConfigError, match=r"namespace"):
        config(**{"catalog.type": "sql", "namespace": "a..b"})


def test_a_pipeline_is_known_by_its_catalog_and_place(tmp_path: Path) -> None:
    made = config(**{"catalog.type": "sql", "catalog.uri": f"sqlite:///{tmp_path}/c.db", "warehouse": "/lake"})
    assert made.identity() == {
        "mode": "changelog",
        "namespace": "default",
        "warehouse": "/lake",
        "catalog.type": "sql",
        "catalog.uri": f"sqlite:///{tmp_path}/c.db",
    }
    assert made.dataset("p.a-b.c") == ("iceberg", "default.p_a_b_c", "TABLE")


def test_partitionings() -> None:
    assert parse_terms("days(at), bucket(16, id),country , truncate( 2,v )") == (
        Term("at", "days"),
        Term("id", "bucket", 16),
        Term("country"),
        Term("v", "truncate", 2),
    )
    given = config(**{"catalog.type": "sql", "partition.by": ["days(at)", "bucket(16, id)"]})
    assert [term.name for term in given.terms] == ["at_day", "id_bucket"]
    for wrong in ("bucket(id)", "days(2, at)", "weeks(at)", "bucket(0, id)", "days(at) bucket(2, id)", "days(at"):
        with pytest.raises(ConfigError, match="is no partitioning"):
            config(**{"catalog.type": "sql", "partition.by": wrong})
