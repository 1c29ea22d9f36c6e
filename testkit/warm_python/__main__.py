"""The warm process: imports what Spark's Python processes import, and forks. Its argument is a listening socket."""

from __future__ import annotations

import gc
import importlib
import socket
import sys
import zipimport
from contextlib import suppress
from pathlib import Path

from testkit.warm_python.children import Scripts

_SPARKS = (
    "pyspark.worker",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
)
"""Of which a release of Spark may lack some."""
_OWN = (
    "cdckit.engine.spark.datasource",
    "cdckit.engine.spark.ledger_inbox",
    "cdckit.engine.spark.pipeline_options",
    "cdckit.engine.spark.worker",
    "cdckit.engine.spark.writer_delivery",
    "cdckit.engine.builtin",
    "cdckit.engine.ledger.keeper",
    "cdckit.engine.serializers.avro.serializer",
    "cdckit.engine.serializers.json",
    "cdckit_kafka.sink",
    "cdckit_mongodb.source",
    "cdckit_mysql.source",
    "cdckit_spark.sink",
    "cdckit_transforms.plugin",
)


def main(listener: int) -> None:
    """Serves callers until it is killed; in a fork, does what its caller wants."""
    warm_up()
    caller = Scripts(socket.socket(fileno=listener)).serve()
    caller.become()
    caller.run()


def warm_up() -> None:
    """Imports.

    Raises:
        RuntimeError: an import has started a thread.
    """
    for module in _SPARKS:
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    for module in _OWN:
        importlib.import_module(module)
    _read_archives()
    threads = [*Path("/proc/self/task").iterdir()]
    if len(threads) > 1:
        raise RuntimeError(f"{len(threads)} threads run in the process that is to fork")
    gc.freeze()


def _read_archives() -> None:
    """Has Python know what is in the archives that Spark puts on its path, where each later import is looked for."""
    spark = Path(sys.modules["pyspark"].__path__[0])
    for archive in (*spark.glob("python/lib/*.zip"), *spark.glob("jars/spark-core_*.jar")):
        zipimport.zipimporter(str(archive))


if __name__ == "__main__":
    main(int(sys.argv[1]))
