"""Where data is, as OpenLineage names it (its specification, "Naming")."""

from __future__ import annotations

from typing import Literal, NamedTuple

DatasetKind = Literal["TABLE", "STREAM", "FILE"]
"""What a dataset is."""


class Dataset(NamedTuple):
    """A table, a topic or a file.

    Attributes:
        namespace: the system that it is in, without secrets: `mysql://HOST:PORT`, `kafka://HOST:PORT`, `s3://BUCKET`.
        name: its name there.
        kind: what it is.
    """

    namespace: str
    name: str
    kind: DatasetKind


def dataset_below(place: str, name: str) -> Dataset:
    """The table in a folder, or below an object store's URL.

    Args:
        place: a path, or `SCHEME://BUCKET/FOLDER`.
        name: of the table's folder there.
    """
    scheme, sign, rest = place.rstrip("/").partition("://")
    if not sign or scheme == "file":
        return Dataset("file", f"{(rest if sign else place).rstrip('/')}/{name}", "TABLE")
    bucket, _, folder = rest.partition("/")
    return Dataset(f"{scheme}://{bucket}", f"{folder}/{name}" if folder else name, "TABLE")
