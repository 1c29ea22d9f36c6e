"""A folder of this machine, asked as those are that only Hadoop's clients reach."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AskedFolder:
    """What `HadoopFolder` is, without Java.

    Attributes:
        path: where it is.
    """

    path: Path

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.name

    def __truediv__(self, name: str) -> AskedFolder:
        return AskedFolder(self.path / name)

    def __str__(self) -> str:
        return str(self.path)

    def iterdir(self) -> Iterator[AskedFolder]:
        """What is in it."""
        return map(AskedFolder, self.path.iterdir())

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    def read_text(self) -> str:
        """The text of a file."""
        return self.path.read_text()

    def read_bytes(self) -> bytes:
        """The content of a file."""
        return self.path.read_bytes()

    def write_bytes(self, content: bytes) -> None:
        """Makes a file, and the folders above it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(content)

    def remove(self) -> None:
        """Takes away a file, or a folder with all in it, if it is there."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)

    def absolute(self) -> AskedFolder:
        """The same."""
        return self

    def as_uri(self) -> str:
        """Its address."""
        return self.path.as_uri()
