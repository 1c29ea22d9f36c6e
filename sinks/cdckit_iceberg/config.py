"""Options of the sink `iceberg`."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pyiceberg.catalog import CatalogType
from pyiceberg.table.refs import MAIN_BRANCH

from cdckit import Dataset, split_names
from cdckit.tables.destinations import table_name
from cdckit.tables.lake.options import LakeOptions, Secret, revealed
from cdckit_iceberg.partitions import Term, parse_terms

_SHOWN = ("type", "name")
_SECRET = re.compile(r"secret|token|credential|password|passphrase|key|sas|auth|header", re.IGNORECASE)
"""In the names of catalogs' properties: what may be a secret."""
_TYPES = sorted(known.value for known in CatalogType)
_LEVEL = re.compile(r"[^.\s]+")


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _checked_terms(text: str) -> str:
    parse_terms(text)
    return text


def _checked_namespace(text: str) -> str:
    if not all(_LEVEL.fullmatch(level) for level in text.split(".")):
        raise ValueError("should be a name, or names with a '.' between them")
    return text


def _checked_branch(text: str) -> str:
    if not text or text.strip() != text:
        raise ValueError("should be the name of a branch")
    return text


Terms = Annotated[str, BeforeValidator(_joined), AfterValidator(_checked_terms)]


class IcebergConfig(LakeOptions):
    """Options of the sink `iceberg`."""

    identifying: ClassVar[tuple[str, ...]] = ("mode", "namespace", "warehouse")
    asked: ClassVar[tuple[str, ...]] = ("mode", "catalog.type", "catalog.uri", "warehouse")

    catalog: dict[str, Secret] = Field(default_factory=dict, repr=False)
    """The catalog, by pyiceberg's names: `catalog.type` (`sql`, `rest`, `hive`, `glue` …), `catalog.uri`,
    `catalog.credential`, `catalog.s3.endpoint` and so on; `catalog.name` is what a catalog in a database calls itself
    (`default`). What is not given is that of pyiceberg's own file and of the environment.
    """
    warehouse: str | None = None
    """The folder or URL under which the catalog puts new tables, or what it calls its warehouse."""
    namespace: Annotated[str, AfterValidator(_checked_namespace)] = "default"
    """The namespace of the tables, which is made where it is not there; a `.` leads into one below another. Tables are
    named as the topics with `_` for each `.` and `-`; two topics of one name are refused.
    """
    branch: Annotated[str, AfterValidator(_checked_branch)] = MAIN_BRANCH
    """The branch of the tables that is written to, made of `main` where a table lacks it: who reads `main` sees what is
    there once the branch is published.
    """
    partition_by: Terms = ""
    """How new tables are partitioned, as a list or with commas: `COLUMN`, `years(COLUMN)`, `months(COLUMN)`,
    `days(COLUMN)`, `hours(COLUMN)`, `bucket(NUMBER, COLUMN)`, `truncate(NUMBER, COLUMN)`. A table that lacks a column,
    or has it with another type, is not partitioned by that.
    """
    table: dict[str, str] = Field(default_factory=dict)
    """Properties of new tables, by Iceberg's names: `table.write.target-file-size-bytes`, `table.format-version` …"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "type" not in self.catalog and "py-catalog-impl" not in self.catalog:
            raise ValueError(f"give 'catalog.type': {', '.join(_TYPES)}")
        kind = self.properties.get("type")
        # A variable without a value is told by itself.
        if kind is not None and "${" not in kind and kind.lower() not in _TYPES:
            raise ValueError(f"catalog.type: '{kind}' is no catalog that pyiceberg knows: {', '.join(_TYPES)}")
        if self.branch != MAIN_BRANCH and self.mirror_apply_interval_ms:
            raise ValueError(
                "'mirror.apply.interval.ms' keeps changes beside a mirror, which a 'branch' does by itself: "
                "take one of them away"
            )
        return self

    def dataset(self, name: str) -> Dataset:
        """The topic's table."""
        return Dataset("iceberg", f"{self.namespace}.{table_name(name)}", "TABLE")

    def identity(self) -> dict[str, str | list[str]]:
        """The catalog is identified by its kind and place, without who comes there."""
        shown = {f"catalog.{name}": self.properties[name] for name in _SHOWN if name in self.properties}
        uri = self.properties.get("uri")
        place = {} if uri is None else {"catalog.uri": _without_secrets(uri)}
        return super().identity() | shown | place | ({} if self.branch == MAIN_BRANCH else {"branch": self.branch})

    @property
    def properties(self) -> dict[str, str]:
        """The catalog's, secrets among them."""
        return revealed(self.catalog)

    @property
    def secrets(self) -> list[str]:
        """What no message may show: secrets by their names; of a URL what stands before its host, and behind `?`."""
        found = [value for name, value in self.properties.items() if _SECRET.search(name)]
        for parts in (urlsplit(value) for value in self.properties.values() if "://" in value):
            found += [parts.netloc.rpartition("@")[0], parts.password or "", parts.query]
            found += [value for _, value in parse_qsl(parts.query)]
        return sorted(filter(None, found), key=len, reverse=True)

    @property
    def clustered(self) -> tuple[str, ...]:
        """The columns by which rows are sorted."""
        return split_names(self.cluster_by)

    @property
    def terms(self) -> tuple[Term, ...]:
        """How tables are partitioned."""
        return parse_terms(self.partition_by)


def _without_secrets(uri: str) -> str:
    parts = urlsplit(uri)
    plain = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
    return f"{parts.scheme}://{plain}" if "://" in uri else plain
