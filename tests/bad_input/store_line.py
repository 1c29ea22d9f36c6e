"""A pipeline whose line to an object store may fall silent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pyarrow import fs

from bad_input.lines import HOST, Line, ids
from testkit.running import PASSWORD, to_file
from testkit.servers.object_store import ObjectStore
from testkit.servers.proxy import CuttingProxy

_SCHEMA = {
    "Schema": "d",
    "Table": "t",
    "TableVersion": 5,
    "TableColumns": [{"ColumnName": "id", "ColumnType": "INT", "ColumnPrecision": "11", "ColumnIsPk": "true"}],
}


def store_line(store: ObjectStore, bucket: str, folder: Path, *, patience_ms: int) -> Iterator[Line]:
    """What TiCDC writes to a store, each change a file."""
    options = {"scheme": "http", "region": "us-east-1", "access_key": "reader", "secret_key": PASSWORD}
    written = fs.S3FileSystem(**options, endpoint_override=store.endpoint, allow_bucket_creation=True)
    written.create_dir(bucket)

    def put(path: str, content: str) -> None:
        with written.open_output_stream(f"{bucket}/feed/d/t/{path}") as stream:
            stream.write(content.encode())

    def write(number: int) -> None:
        put(f"5/2024-05-09/CDC{number:06}.csv", f'"I","t","d",{number},{number}\r\n')

    put("meta/schema_5_0123456789.json", json.dumps(_SCHEMA))
    with CuttingProxy(store.port) as proxy:
        patience = {name: str(patience_ms / 1000) for name in ("request_timeout", "connect_timeout")}
        source = {
            "type": "ticdc",
            "protocol": "csv",
            "storage.url": f"s3://{bucket}/feed",
            "storage.options": {**options, **patience, "endpoint_override": f"{HOST}:{proxy.port}"},
        }
        made = to_file(folder, source)
        yield Line(proxy, made, write, lambda: ids(made))
