"""The tables that are systems, and their topics."""

from __future__ import annotations

from testkit.writers import TABLES

PREFIX = "faults"
"""The pipelines' `topic.prefix`."""
POISON = "poison"
"""A table of which no pipeline can take a row: its chain asks for a field that no event has."""
CHANGED = ("accounts", "parts")
"""The tables that the load changes."""
SCRIPT = f"{TABLES} CREATE TABLE {POISON} (id INT PRIMARY KEY AUTO_INCREMENT, token VARCHAR(40));"


def topics_of(database: str) -> list[str]:
    """The topics of the changed tables."""
    return [f"{PREFIX}.{database}.{table}" for table in CHANGED]
