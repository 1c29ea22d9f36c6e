"""The option `custom.metric.tags`: labels of the user's own on every metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from cdckit.api.lists import split_names
from cdckit.api.source_config import SourceConfig

_NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset({"pipeline", "server", "data_collection", "operation", "error", "status"})
"""Labels that the metrics have already."""


def parse_tags(text: str) -> dict[str, str]:
    """`k1=v1,k2=v2` as labels.

    Raises:
        ValueError: an item is no `name=value`, or its name cannot be a label.
    """
    tags: dict[str, str] = {}
    for item in split_names(text):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ValueError(f"should be 'name=value' items with commas between; '{item}' is none")
        if not _NAME.fullmatch(name):
            raise ValueError(f"'{name}' cannot be a label: letters, digits and '_', not a digit first")
        if name in RESERVED:
            raise ValueError(f"the metrics have a label '{name}' already; choose another name")
        if name in tags:
            raise ValueError(f"'{name}' is given twice")
        tags[name] = value
    return tags


def _checked(text: str) -> str:
    parse_tags(text)
    return text


def _joined(value: object) -> object:
    """A YAML mapping as the text that it stands for."""
    return ",".join(f"{name}={item}" for name, item in value.items()) if isinstance(value, dict) else value


class MetricTags(SourceConfig):
    """What the options of a source say about its metrics."""

    custom_metric_tags: Annotated[str, BeforeValidator(_joined), AfterValidator(_checked)] = ""
    """Labels for every metric: `name=value` items with commas between."""

    @property
    def metric_labels(self) -> Mapping[str, str]:
        """These."""
        return parse_tags(self.custom_metric_tags)
