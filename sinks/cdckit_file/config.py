"""Options of the sinks `file` and `stdout`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from cdckit.config.model import PluginConfig

_JSON_HEADERS = {"header.format": "json"}
"""A line is one JSON document."""


class FileConfig(PluginConfig):
    """Options of the sink `file`."""

    identifying: ClassVar[tuple[str, ...]] = ("path",)
    for_the_serializer: ClassVar[Mapping[str, str]] = _JSON_HEADERS

    path: Path
    """The file to append to. Its folder must exist; the file is made when it is missing."""


class StdoutConfig(PluginConfig):
    """The sink `stdout` has no options."""

    for_the_serializer: ClassVar[Mapping[str, str]] = _JSON_HEADERS
