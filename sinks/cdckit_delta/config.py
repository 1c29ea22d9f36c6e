"""Options of the sink `delta`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, NonNegativeInt, field_validator

from cdckit import Dataset, FolderUrl, NameList, dataset_below, split_names
from cdckit.tables.delta.places import is_misread
from cdckit.tables.delta.placing import Placing
from cdckit.tables.destinations import folder_name
from cdckit.tables.lake.options import LakeOptions, Secret, revealed
from cdckit.tables.options import plain_path


class DeltaConfig(LakeOptions):
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

    partition_by: NameList = ""
    """The columns that new tables are partitioned by, as a list or with commas. A table is not partitioned by those
    that it lacks, nor by bytes, decimals with digits behind the point and columns of several values.
    """
    table: dict[str, str] = Field(default_factory=dict)
    """Properties of new tables, by Delta's names: `table.delta.deletedFileRetentionDuration: interval 3 days`,
    `table.delta.logRetentionDuration` …
    """

    task_file_bytes: NonNegativeInt = 4 << 20
    """On Spark, in `mode: changelog`: a task that has read so many bytes of a table's rows, as they take memory, puts
    them into a data file itself. Smaller shares go to the driver, which makes one file of those of all tasks; 0 sends
    all rows there.
    """

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if is_misread(plain_path(path)):
            raise ValueError("delta-rs takes '%' with two hexadecimal digits for another letter: name another folder")
        return path

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
    def placing(self) -> Placing:
        """How rows are put into files."""
        return Placing(split_names(self.partition_by), split_names(self.cluster_by), self.table)

    @property
    def storage(self) -> dict[str, str]:
        """The store's options, secrets among them."""
        return revealed(self.storage_options)
