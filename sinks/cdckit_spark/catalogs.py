"""The catalog that tables are in, where it is another than Spark's own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdckit import ConfigError
from cdckit_spark.config import LakeConfig

OWN = "spark_catalog"
"""What Spark calls its own."""
_SETTING = "spark.sql.catalog."
_OF_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
"""The class that adds Delta's tables to those of Spark's own catalog."""


_METASTORE = (
    "give the pipeline's 'spark' a metastore, by 'spark.sql.catalogImplementation: hive' and "
    "'spark.hadoop.hive.metastore.uris'"
)


def check_catalog(session: SparkSession, config: LakeConfig) -> None:
    """Looks whether the session has the catalog and the database that the tables are to be in.

    Raises:
        ConfigError: it does not, that catalog holds no tables, or it forgets them when Spark ends.
    """
    if config.database is None:
        return
    catalog = _catalog_of(session, config)
    if catalog != OWN:
        _require_kind(session, catalog)
    forgets = is_sparks_own(session, config) and session.conf.get("spark.sql.catalogImplementation") == "in-memory"
    _require_database(session, config.database, config.database_parts[-1], forgets)


def is_sparks_own(session: SparkSession, config: LakeConfig) -> bool:
    """Whether the database is in the catalog that Spark brings, and not in one that has its name."""
    return _catalog_of(session, config) == OWN and session.conf.get(_SETTING + OWN, _OF_DELTA) == _OF_DELTA


def location_of_database(session: SparkSession, config: LakeConfig) -> str | None:
    """Where a database of Spark's own catalog has its tables; None of others, and where that cannot be asked now."""
    with suppress(PySparkException, Py4JJavaError):
        if is_sparks_own(session, config):
            catalog = session._jsparkSession.sessionState().catalog()
            return _path_of(session, catalog.getDatabaseMetadata(config.database_parts[-1]).locationUri())
    return None


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What Spark's own catalog tells of a name.

    Attributes:
        path: where its files are; None where it is no table of Delta's, or a view.
        made_ms: when it was made; a table of the same name that is another was made at another time.
    """

    path: str | None
    made_ms: int


def known_table(session: SparkSession, database: str, table: str) -> KnownTable | None:
    """What Spark's own catalog has by a name; None where it has nothing."""
    catalog, name = session._jsparkSession.sessionState().catalog(), _identifier(session, database, table)
    if not catalog.tableExists(name):
        return None
    found = catalog.getTableMetadata(name)
    place, kind = found.storage().locationUri(), found.provider()
    is_delta = place.isDefined() and kind.isDefined() and kind.get().lower() == "delta"
    return KnownTable(_path_of(session, place.get()) if is_delta else None, found.createTime())


def new_table_path(session: SparkSession, database: str, table: str) -> str | None:
    """Where Spark's own catalog puts a new table; None where it has no such database."""
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.databaseExists(database):  # a job of one's own may have another current catalog (`USE`)
        return None
    return _path_of(session, catalog.defaultTablePath(_identifier(session, database, table)))


def _identifier(session: SparkSession, database: str, table: str) -> Any:
    jvm = session._jvm
    assert jvm is not None
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, jvm.scala.Option.apply(database))


def _path_of(session: SparkSession, uri: Any) -> str:
    """As Hadoop writes paths; the URI has blanks as `%20`."""
    assert session._jvm is not None
    return str(session._jvm.org.apache.hadoop.fs.Path(uri).toString())


def _catalog_of(session: SparkSession, config: LakeConfig) -> str:
    """That which the database names, or the one that the session uses, as `USE` says, or a setting."""
    *above, _ = config.database_parts
    if above:
        return above[0]
    with suppress(PySparkException, Py4JJavaError):  # of a metastore that is away
        [(name,)] = session.sql("SELECT current_catalog()").collect()
        return str(name)
    return session.conf.get("spark.sql.defaultCatalog", OWN) or OWN


def _require_kind(session: SparkSession, catalog: str) -> None:
    """Looks whether there is such a catalog beside Spark's own."""
    setting = _SETTING + catalog
    kind = session.conf.get(setting, None)
    if kind is None:
        raise ConfigError(
            f"sink.database: Spark has no catalog '{catalog}': name its class by '{setting}' among the pipeline's "
            "'spark', and its settings by names below that",
            number="CDC2402",
        )
    if kind == _OF_DELTA:
        raise ConfigError(
            f"sink.database: the catalog '{catalog}' is {kind.rpartition('.')[2]}, which holds no tables but as "
            f"Spark's own catalog: name that one ('{OWN}'), or a catalog with tables of its own, such as Unity's",
            number="CDC2402",
        )


def _require_database(session: SparkSession, name: str, database: str, forgets: bool) -> None:
    """Looks for the database, which only whoever makes it knows the right place and owner of.

    Args:
        session: whose catalogs are asked.
        name: the database, as the user names it.
        database: its own name.
        forgets: whether its catalog is in the memory of this Spark.
    """
    if forgets and database.lower() == "default":
        raise ConfigError(
            f"sink.database: '{name}' is in the memory of this Spark, which forgets its tables when it ends: "
            f"{_METASTORE}, or name a folder by 'sink.path'",
            number="CDC2402",
        )
    with suppress(PySparkException, Py4JJavaError):  # a metastore that is away is waited for with the first rows
        if not session.catalog.databaseExists(name):
            made = f"make it, by `CREATE DATABASE {name}` with a LOCATION"
            remedy = f"{_METASTORE}, where it is" if forgets else made
            raise ConfigError(f"sink.database: there is no database '{name}': {remedy}", number="CDC2402")
