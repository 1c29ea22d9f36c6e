"""Log files where they lie: in the file system, or behind any URL that fsspec knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

from cdckit import ConfigError, SourceError
from cdckit_mysql.offsets import file_number

_NUMBERED = re.compile(r".+\.\d+")


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a log.

    Attributes:
        name: as the server calls it: `binlog.000012`.
        path: where it lies; a URL outside of the file system.
    """

    name: str
    path: str

    @property
    def number(self) -> int:
        """Its place among the files of its log."""
        return file_number(self.name)

    def open(self) -> BinaryIO:
        """The file, to be read.

        Raises:
            SourceError: it cannot be opened.
        """
        try:
            if "://" not in self.path:
                return Path(self.path).open("rb")
            files, path = _file_system(self.path)
            return cast(BinaryIO, files.open(path, "rb"))
        except OSError as error:
            raise SourceError(f"{self.path} cannot be opened: {error}", number="CDC3402") from error

    def size(self) -> int:
        """Its length in bytes; raises as `open`."""
        try:
            if "://" not in self.path:
                return Path(self.path).stat().st_size
            files, path = _file_system(self.path)
            return int(files.size(path))
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error}", number="CDC3402") from error


def find_log_files(pattern: str) -> Sequence[LogFile]:
    """The files that a path or glob pattern names, in the order of their numbers.

    What has no number at its end, such as the index that lies beside them, is left out where a pattern finds it.

    Raises:
        ConfigError: fsspec, or what it needs for this kind of URL, is not installed.
        SourceError: there are none, they cannot be listed, or two have one number.
    """
    paths = _remote(pattern) if "://" in pattern else _local(Path(pattern).expanduser())
    found = [LogFile(path.rpartition("/")[2], path) for path in paths]
    files = sorted((file for file in found if _NUMBERED.fullmatch(file.name)), key=lambda file: file.number)
    if not files:
        raise SourceError(f"binlog.files: {pattern} names no log file (such as binlog.000001)", number="CDC3401")
    for file, following in pairwise(files):
        if file.number == following.number:
            raise SourceError(
                f"binlog.files: {file.path} and {following.path} have the same number: name files of one server only",
                number="CDC3402",
            )
    return files


def _local(pattern: Path) -> list[str]:
    anchor = Path(pattern.anchor or ".")
    return [str(path) for path in anchor.glob(str(pattern.relative_to(pattern.anchor)))]


def _remote(pattern: str) -> list[str]:
    files, path = _file_system(pattern)
    try:
        return [str(files.unstrip_protocol(each)) for each in files.glob(path)]
    except OSError as error:
        raise SourceError(f"binlog.files: {pattern} cannot be listed: {error}", number="CDC3402") from error


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an optional extra

        files, path = url_to_fs(url)
    except ImportError as error:
        raise ConfigError(
            f"binlog.files: {url} is read through fsspec: pip install 'cdckit[files]' and what fsspec needs for "
            f"such URLs ({error})",
            number="CDC2301",
        ) from error
    except ValueError as error:
        raise ConfigError(f"binlog.files: {url}: {error}") from error
    return files, path
