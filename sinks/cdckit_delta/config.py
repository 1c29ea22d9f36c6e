"""Options of the sink `delta`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, PositiveInt, SecretStr

from cdckit import Dataset, FolderUrl, dataset_below
from cdckit.tables.destinations import folder_name
from cdckit.tables.documents import parse_columns
from cdckit.tables.options import TableOptions, plain_path


def _as_text(value: Any) -> Any:
    """What YAML takes for a number or a truth value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _declared(text: str) -> str:
    parse_columns(text)
    return text


Secret = Annotated[SecretStr, BeforeValidator(_as_text)]


class DeltaConfig(TableOptions):
    """Options of the sink `delta`."""

    identifying: ClassVar[tuple[str, ...]] = ("mode", "path")

    path: FolderUrl
    """The folder, or an object store's URL (`s3://BUCKET/FOLDER`, `az://`, `gs://`), under which each topic has a
    table, named as the topic, with `_` and a digest where it has other characters than letters, digits, `.`, `_` and
    `-`.
    """
    storage_options: dict[str, Secret] = Field(default_factory=dict, repr=False)
    """How an object store is reached, as delta-rs names it: `storage.options.AWS_REGION`,
    `storage.options.AWS_SECRET_ACCESS_KEY`, `storage.options.AWS_ENDPOINT_URL` and so on. What is not given is the
    environment's.
    """
    document_columns: Annotated[str, AfterValidator(_declared)] = ""
    """For documents (MongoDB): columns to read out of them in the place of one that holds the document as JSON, as
    `FIELD TYPE, …`: `name string, address.city string, bought timestamp, price decimal(10,2), tags json`. A dot leads
    into a nested field and becomes `_` in the column's name. Types: string, json, boolean, int, bigint, double,
    decimal(p,s), timestamp, binary.
    """
    mirror_apply_interval_ms: NonNegativeInt = 0
    """With `mode: mirror`: for how long, in milliseconds, changes wait in a table beside the mirror (named as it, with
    `~changes` behind) before they are merged into it together; 0 merges each batch.
    """
    optimize_interval_ms: NonNegativeInt = 0
    """How often, in milliseconds, small files of a table are put together and files that no version of Delta's
    retention time needs are removed, between two commits; 0 leaves that to others.
    """
    commit_interval_ms: NonNegativeInt = 0
    """How long, in milliseconds, changes are gathered for one commit; 0 commits as they come, and gathers them for half
    a second at the most while there are more than commits could follow.
    """
    tables_parallel: PositiveInt = 4
    """How many tables are written at the same time."""

    def dataset(self, name: str) -> Dataset:
        """The topic's table."""
        return dataset_below(self.place, folder_name(name))

    def identity(self) -> dict[str, str | list[str]]:
        """A path is the same as its `file:` URL."""
        return super().identity() | {"path": self.place}

    @property
    def place(self) -> str:
        """`path` without `file:`, which a folder may have or not."""
        return plain_path(self.path)

    @property
    def storage(self) -> dict[str, str]:
        """The store's options, secrets among them."""
        return {name: secret.get_secret_value() for name, secret in self.storage_options.items()}
