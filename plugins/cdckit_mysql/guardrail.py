"""A limit for how many tables are captured (`guardrail.collections.max`): lists may match more than was meant."""

from __future__ import annotations

import logging

from cdckit.errors import ConfigError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")


def check_guardrail(config: MySqlConfig, filters: Filters, tables: Tables) -> None:
    """Looks whether more of the tables are captured than may be.

    Raises:
        ConfigError: there are more, and `guardrail.collections.limit.action` is `fail`.
    """
    most = config.guardrail_collections_max
    if not most:
        return
    captured = sum(filters.captures(*table.id) for table in tables)
    if captured <= most:
        return
    message = (
        f"source.guardrail.collections.max: {captured} tables are captured, {most} may be: name fewer in "
        "table.include.list, or raise the limit"
    )
    if config.guardrail_collections_limit_action == "fail":
        raise ConfigError(message)
    log.warning("%s", message)
