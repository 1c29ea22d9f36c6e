"""A limit for how much a source captures: include lists may match more than was meant."""

from __future__ import annotations

import logging
from typing import Literal

from pydantic import NonNegativeInt

from cdckit.api.plugin_config import PluginConfig
from cdckit.errors import ConfigError

log = logging.getLogger(__name__)


class GuardrailOptions(PluginConfig):
    """The limit."""

    guardrail_collections_max: NonNegativeInt = 0
    """How many tables or collections may be captured; 0: any number."""
    guardrail_collections_limit_action: Literal["warn", "fail"] = "warn"
    """What happens where there are more: a warning, or the pipeline ends."""


def check_guardrail(options: GuardrailOptions, captured: int) -> None:
    """Looks whether more is captured than may be.

    Args:
        options: the limit.
        captured: how many tables or collections are captured.

    Raises:
        ConfigError: they are too many, and `guardrail.collections.limit.action` is `fail`.
    """
    most = options.guardrail_collections_max
    if not most or captured <= most:
        return
    message = (
        f"source.guardrail.collections.max: {captured} are captured, {most} may be: name fewer in the include lists, "
        "or raise the limit"
    )
    if options.guardrail_collections_limit_action == "fail":
        raise ConfigError(message, number="CDC2603")
    log.warning("%s", message)
