"""The catalog that tables are in, where it is another than Spark's own."""

from __future__ import annotations

from contextlib import suppress

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
    *above, database = config.database_parts
    catalog = above[0] if above else OWN
    if catalog != OWN:
        _require_kind(session, catalog)
    _require_database(session, config.database, database, _forgets(session, catalog))


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


def _forgets(session: SparkSession, catalog: str) -> bool:
    """Whether a catalog is Spark's own, in the memory of a session that nobody has given a metastore."""
    if catalog != OWN or session.conf.get(_SETTING + OWN, _OF_DELTA) != _OF_DELTA:
        return False
    return session.conf.get("spark.sql.catalogImplementation") == "in-memory"


def _require_database(session: SparkSession, name: str, database: str, forgets: bool) -> None:
    """Looks for the database, which only whoever makes it knows the right place and owner of."""
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
