"""Options of the state store `file`."""

from __future__ import annotations

from pathlib import Path

from cdckit.api.plugin_config import PluginConfig


class FileStateConfig(PluginConfig):
    """Options of the state store `file`."""

    path: Path | None = None
    """The directory of offsets, schema history and snapshot progress. By default `./state/NAME`, beside the pipeline
    file.
    """
