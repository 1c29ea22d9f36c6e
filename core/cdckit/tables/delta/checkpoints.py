"""Checkpoints of a small table's log, which delta-rs makes with every hundredth version by itself.

Twice a commit it reads the names of what the log has had since: 0.1 to 0.2 ms of CPU a version. A checkpoint takes 5 to
15 ms for a few hundred files, and tells of each, so that a large table has them as delta-rs makes them.
"""

from __future__ import annotations

import logging

from deltalake import DeltaTable

from cdckit.tables.delta.passing import ERRORS

log = logging.getLogger("cdckit.tables")

_EVERY, _BY_ITSELF = 20, 100
"""With so many versions a small table has one, and any table from delta-rs; the first version is 0."""
_FILES = 500
"""So many files a small table has at the most."""
_INTERVAL = "delta.checkpointInterval"
"""The property by which a user says how often, to which delta-rs holds."""


def checkpoint(table: DeltaTable) -> bool:
    """Makes a checkpoint of a table's version, if one is due; whether there is one."""
    versions = table.version() + 1
    if versions % _EVERY or not versions % _BY_ITSELF or _INTERVAL in table.metadata().configuration:
        return False
    if len(table.file_uris()) > _FILES:
        return False
    try:
        table.create_checkpoint()
    except (OSError, *ERRORS) as error:
        log.info("table %s: a checkpoint of its log is left for later: %s", table.table_uri, error)
        return False
    return True
