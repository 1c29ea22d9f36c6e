"""Options of the sinks `file` and `stdout`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from cdckit import Dataset, PluginConfig


class FileConfig(PluginConfig):
    """Options of the sink `file`."""

    identifying: ClassVar[tuple[str, ...]] = ("path",)

    path: Path
    """The file to append to. Its folder must exist; the file is made when it is missing."""

    def dataset(self, name: str) -> Dataset:
        """The file, which has all topics."""
        return Dataset("file", str(self.path.absolute()), "FILE")


class StdoutConfig(PluginConfig):
    """The sink `stdout` has no options."""
