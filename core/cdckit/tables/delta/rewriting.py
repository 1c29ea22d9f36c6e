"""All rows of a Delta table by other columns, to be written anew."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from cdckit.tables.lake.rewriting import Rewriting
from cdckit.tables.lake.rewritten import rewritten, rewritten_schema
from cdckit.tables.lake.spilled_rows import SpilledRows
from cdckit.tables.lake.target import Version


@contextmanager
def rows_anew(made: Rewriting, version: Version) -> Iterator[pa.RecordBatchReader]:
    """The rows of a version as they are to be; all are read before, as delta-rs cannot read and write in one go."""
    before = version.schema()
    schema = rewritten_schema(made, before)
    with tempfile.TemporaryDirectory(prefix="cdckit-delta-") as folder:
        rows = SpilledRows(Path(folder) / "rows.arrow", schema)
        for batch in version.scan(before.names):
            rows.write(rewritten(made, batch, schema))
        yield pa.RecordBatchReader.from_batches(schema, map(pa.record_batch, rows))
