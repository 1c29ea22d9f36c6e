"""Registers the source."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl

CDCKIT_API = 1
"""The version of the plugin API that this is made for."""


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """The source `sqlite-log`."""
    return [
        Registration(
            name="sqlite-log",
            factory="cdckit_sqlite.source:SqliteSource",
            config="cdckit_sqlite.config:SqliteConfig",
            summary="captures the tables of an SQLite file by triggers and a log table",
        )
    ]
