"""Registers the sinks `file` and `stdout`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The two sinks that write a JSON line for each record."""
    return [
        Registration(
            name="file",
            factory="cdckit_file.file:FileSink",
            config="cdckit_file.config:FileConfig",
            summary="appends a JSON line for each record to a file",
        ),
        Registration(
            name="stdout",
            factory="cdckit_file.stdout:StdoutSink",
            config="cdckit_file.config:StdoutConfig",
            summary="prints a JSON line for each record",
        ),
    ]
