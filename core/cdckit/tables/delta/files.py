"""How delta-rs writes data files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltalake import WriterProperties

DICTIONARY_BYTES = 128 << 10
"""A column whose different values take more gets no dictionary. One of a MiB, the default, is given up for columns of
many values, too, but late: writing took 10 to 25 % more CPU, and a file of 200,000 rows a quarter more room."""
ROWS = 128 << 10
"""So many rows are held, compressed, until they are written; a million by default."""

OURS = "-cdckit.snappy.parquet"
"""How the names of files end that Spark's workers write: where no table came of them, they are known by that."""


def files_with(**properties: Any) -> WriterProperties:
    """How files that take a batch's rows are written, with some more of the properties that delta-rs has."""
    return WriterProperties(
        compression="SNAPPY",  # as by default
        dictionary_page_size_limit=DICTIONARY_BYTES,
        max_row_group_size=ROWS,
        **properties,
    )


FILES = files_with()
"""Of files of which all is told."""
COMPACTED: Mapping[str, Any] = {"compression": "ZSTD", "compression_level": 4}
"""How delta-rs writes those that it makes of several."""
INDEXED = 32
"""Of so many columns, the first ones, statistics are made, as Delta does (`delta.dataSkippingNumIndexedCols`)."""
