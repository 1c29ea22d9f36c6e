"""Delta tables read back without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from cdckit import Barrier, ConfigError
from cdckit.tables.delta.version import at_batch
from cdckit.tables.destinations import folder_name
from cdckit.tables.images import TableImages
from cdckit_spark.config import LakeConfig

_BATCH_ROWS = 16_384
_READ = frozenset({"timestampNtz", "typeWidening", "typeWidening-preview", "variantType"})
"""The features of tables that are read here: files of another type are cast."""


class DeltaImages(TableImages):
    """Of the tables of the sink `spark`.

    Args:
        config: the sink's options.
        place: the tables' folder on this machine, or the URL of an object store that is reached without Spark.
    """

    keeps = True

    def __init__(self, config: LakeConfig, place: str) -> None:
        super().__init__(config)
        self._place = place
        self._storage = config.storage or None
        self._barrier: Barrier | None = None

    def until(self, barrier: Barrier) -> None:
        """By the versions of the tables, each of which says which batch it has."""
        self._barrier = barrier

    def _unread(self, topic: str) -> str | None:
        unread = unread_features(self._table(topic))
        return f"its table cannot be read without Spark: it has {', '.join(unread)}" if unread else None

    def _schema(self, topic: str) -> pa.Schema | None:
        table = self._table(topic)
        return None if table is None else pa.schema(table.schema().to_arrow())

    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = _files(self._table(topic), self._storage).to_batches(
            columns=list(names), batch_size=_BATCH_ROWS, batch_readahead=1, fragment_readahead=1
        )
        return found

    def _table(self, topic: str) -> Any:
        from deltalake import DeltaTable  # noqa: PLC0415 - the extra need not be there

        path = f"{self._place.rstrip('/')}/{folder_name(topic)}"
        if not DeltaTable.is_deltatable(path, self._storage):
            return None
        table, at = DeltaTable(path, storage_options=self._storage), self._barrier
        return table if at is None else at_batch(table, at.application, at.batch)


def unread_features(table: Any) -> list[str]:
    """What of a table is not read here."""
    from cdckit.tables.delta.features import MAPPING, maps_names  # noqa: PLC0415 - the extra need not be there

    named = set(table.protocol().reader_features or ())
    # Tables whose readers' version is 2 list no features, and may have this one.
    if maps_names(table):
        named.add(MAPPING)
    return sorted(named - _READ)


def place_here(config: LakeConfig) -> str:
    """The tables' folder on this machine, or the URL of an object store that is reached without Spark.

    Raises:
        ConfigError: tables are elsewhere, or of another kind.
    """
    try:
        import deltalake  # noqa: F401, PLC0415 - the extra need not be there
    except ImportError as error:
        raise ConfigError("sink.type: cdc diff reads its tables by deltalake: pip install 'cdckit[diff]'") from error
    if config.format != "delta":
        raise ConfigError(f"sink.format: cdc diff reads Delta tables back, and these are '{config.format}'")
    if config.path is None:
        raise ConfigError("sink.database: cdc diff reads tables back by their folder, and a catalog's are not found so")
    path = str(config.path).removeprefix("file://")
    if ("://" in path or path.startswith("file:")) and not config.reaches_store:
        raise ConfigError(
            f"sink.path {config.path}: cdc diff reads back tables on this machine, and in an object store that "
            "'storage.options' say how to reach"
        )
    require_told_columns(config)
    return path


def require_told_columns(config: LakeConfig) -> None:
    """Looks whether it is known which columns tables have.

    Raises:
        ConfigError: documents tell.
    """
    if config.infers_columns:
        raise ConfigError("sink.document.columns: cdc diff cannot tell columns that are 'inferred' from documents")


def _files(table: Any, storage: Mapping[str, str] | None) -> pa.dataset.Dataset:
    """The files of a table's version, with its columns: files may lack some, or have them in narrower types."""
    from cdckit.tables.delta.data_files import DeltaFiles  # noqa: PLC0415 - the extra need not be there

    read = dataset.ParquetFileFormat(read_options={"coerce_int96_timestamp_unit": "us"})
    schema, files = pa.schema(table.schema().to_arrow()), table.file_uris()
    if storage is None:
        return dataset.dataset(files, schema, format=read)
    root = table.table_uri.rstrip("/") + "/"
    names = [uri.removeprefix(root) for uri in files]
    return dataset.dataset(names, schema, format=read, filesystem=DeltaFiles(root, storage).filesystem())
