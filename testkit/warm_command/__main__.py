"""The warm process: imports what the command imports, and forks. Its argument is a listening socket."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from testkit.warm_command.asked import Asked
from testkit.warm_python.children import Child, Forks

_MODULES = (
    "cdckit.cli.main",
    "cdckit.cli.run",
    "cdckit.engine.builtin",
    "cdckit.engine.ledger.keeper",
    "cdckit.engine.runners.direct",
    "cdckit.engine.runners.spark",
    "cdckit.engine.serializers.json",
    "cdckit.engine.state.file",
    "cdckit.engine.state.sqlite",
    "cdckit_file.file",
    "cdckit_kafka.sink",
    "cdckit_mongodb.source",
    "cdckit_mysql.source",
    "cdckit_redis.store",
    "cdckit_s3.store",
    "cdckit_spark.sink",
    "cdckit_ticdc.source",
    *(f"cdckit_{name}.plugin" for name in ("mongodb", "mysql", "redis", "s3", "ticdc")),
    *(f"cdckit_{name}.plugin" for name in ("delta", "file", "iceberg", "kafka", "spark", "transforms")),
    "cdckit_delta.sink",
    "cdckit_iceberg.sink",
    "pyarrow.acero",
    "encodings.utf_8_sig",
)


class Commands(Forks[Asked]):
    """Forks that are calls of the command: how they end is all that is seen to."""

    def asked(self, connection: socket.socket) -> Asked:
        return Asked.received(connection)

    def began(self, child: Child) -> None:
        """Tells the caller its number."""
        with suppress(OSError):
            child.caller.sendall(f"{child.pid}\n".encode())

    def begin(self) -> None:
        pass

    def kill(self, child: Child) -> None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)

    def said(self, code: int) -> str:
        return str(code)


def main(listener: int) -> None:
    """Serves callers until it is killed; in a fork, is the command that its caller wants."""
    for module in _MODULES:
        importlib.import_module(module)
    threads = [*Path("/proc/self/task").iterdir()]
    if len(threads) > 1:
        raise RuntimeError(f"{len(threads)} threads run in the process that is to fork")
    gc.freeze()
    asked = Commands(socket.socket(fileno=listener)).serve()
    asked.become()
    sys.argv[:] = ["cdc", *asked.words]
    try:
        importlib.import_module("cdckit.cli.main").main()
    except SystemExit as ended:
        _end(ended.code)


def _end(code: str | int | None) -> NoReturn:
    """Ends as Python does, but for the modules: to take those apart would copy nearly all of the warm process."""
    getattr(threading, "_shutdown")()  # noqa: B009 - Python's own begin of its end, of which types know nothing
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main(int(sys.argv[1]))
