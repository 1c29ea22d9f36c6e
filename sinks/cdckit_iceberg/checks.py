"""What `cdc validate --connect` finds about the catalog.

Nothing is written there, but that pyiceberg makes the catalog's own tables in a database which lacks them.
"""

from __future__ import annotations

from cdckit import ConfigError, Finding
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.faults import FAULTS


def check_catalog(config: IcebergConfig) -> Finding:
    """Whether the catalog answers, and has the namespace."""
    catalog = LakeCatalog(config)
    try:
        there = catalog.tables.namespace_exists(catalog.namespace)
    except ConfigError as error:
        return Finding("catalog", "fail", str(error), "'sink.catalog' says how the catalog is reached")
    except FAULTS as error:
        return Finding("catalog", "fail", catalog.said(error), "'sink.catalog' says how the catalog is reached")
    return Finding("catalog", "ok", f"namespace {config.namespace} {'is there' if there else 'is made'}")
