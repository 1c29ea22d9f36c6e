"""The catalog that has the tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

from cdckit import ConfigError
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.faults import FAULTS, KINDS
from cdckit_iceberg.hive import for_threads

_BRIEF = frozenset({"pyiceberg.catalog.glue", "pyiceberg.catalog.hive"})
"""Catalogs that take comments of columns up to a length, and of Glue a line alone:
https://docs.aws.amazon.com/glue/latest/webapi/API_Column.html, Hive's COLUMNS_V2.COMMENT VARCHAR(256)."""
_BRIEF_BYTES = 255

_DEFAULTS = {"commit.manifest-merge.enabled": "true", "write.metadata.delete-after-commit.enabled": "true"}
"""Properties of new tables: what commits leave in the metadata is put together, and removed, in time."""


_RETRIES = "glue.max-retries"
"""Which pyiceberg 0.12 gives to boto3 as it is, and that takes no text."""


class LakeCatalog:
    """The catalog, which is opened with its first use; several threads may use it.

    Args:
        config: the sink's options.
    """

    def __init__(self, config: IcebergConfig) -> None:
        self.config = config
        self.namespace = tuple(config.namespace.split("."))
        self._lock = Lock()
        self._made = False

    @cached_property
    def _catalog(self) -> Catalog:
        properties: dict[str, Any] = dict(self.config.properties)
        name = properties.pop("name", "default")
        if self.config.warehouse is not None:
            place = self.config.warehouse
            properties["warehouse"] = f"file://{place}" if place.startswith("/") else place
        if _RETRIES in properties:
            properties[_RETRIES] = _number(_RETRIES, properties[_RETRIES])
        try:
            catalog = load_catalog(name, **properties)
        except FAULTS as error:
            raise ConfigError(f"sink.catalog: {self.said(error)}") from None
        return for_threads(catalog) if self._is_hive else catalog

    @property
    def _is_hive(self) -> bool:
        return self.config.properties.get("type") == "hive"

    @property
    def tables(self) -> Catalog:
        """The catalog itself.

        Raises:
            ConfigError: there is none by these options.
        """
        with self._lock:
            return self._catalog

    @property
    def table_properties(self) -> Mapping[str, str]:
        """Those of new tables."""
        return {**_DEFAULTS, **self.config.table}

    def docs(self, comments: Mapping[str, str | None]) -> dict[str, str]:
        """The comments of columns as the catalog takes them."""
        brief = type(self.tables).__module__ in _BRIEF
        return {name: _briefly(text or "") if brief else text or "" for name, text in comments.items()}

    def make_namespace(self) -> None:
        """Makes the tables' namespace, and those above it, where they are not there."""
        catalog = self.tables
        with self._lock:
            for length in range(1, 1 if self._made else len(self.namespace) + 1):
                self._make_level(catalog, self.namespace[:length])
            self._made = True

    def _make_level(self, catalog: Catalog, level: tuple[str, ...]) -> None:
        if catalog.namespace_exists(level):
            return
        try:
            catalog.create_namespace(level, self._namespace_properties(catalog, level))
        except KINDS:
            if not catalog.namespace_exists(level):  # else another process was first
                raise

    def _namespace_properties(self, catalog: Catalog, level: tuple[str, ...]) -> dict[str, str]:
        """Of a new one: Hive's metastore puts it into a folder of its own unless it is told of another."""
        warehouse = catalog.properties.get("warehouse")
        return {"location": f"{warehouse.rstrip('/')}/{'.'.join(level)}.db"} if warehouse and self._is_hive else {}

    def shows(self, error: BaseException | None) -> bool:
        """Whether neither an error nor what it came of says a secret."""
        while error is not None:
            if any(secret in str(error) for secret in self.config.secrets):
                return False
            error = error.__cause__ or error.__context__
        return True

    def said(self, error: BaseException) -> str:
        """The first line of what an error says, without secrets."""
        text = str(error).strip().partition("\n")[0] or type(error).__name__
        for secret in self.config.secrets:
            text = text.replace(secret, "…")
        return text


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise ConfigError(f"sink.catalog.{name}: '{text}' is no number")
    return int(text)


def _briefly(text: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line.encode()[:_BRIEF_BYTES].decode(errors="ignore")
