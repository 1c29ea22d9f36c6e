"""Options: log files that are read instead of a server."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from cdckit import LocalPath
from cdckit_mysql.options.connection import ConnectionOptions

_PLACE = re.compile(r"(?P<file>[^:/\s]+)(?::(?P<pos>\d+))?")


def split_place(text: str) -> tuple[str, int | None]:
    """The file and the position of `FILE:POS`; None for the position of `FILE` alone.

    Raises:
        ValueError: it is neither.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' does not look like binlog.000012 or binlog.000012:157")
    return found["file"], int(found["pos"]) if found["pos"] else None


def _checked(text: str) -> str:
    if text:
        split_place(text)
    return text


LogPlaceText = Annotated[str, AfterValidator(_checked)]
"""`FILE` or `FILE:POS`; empty for none."""


class LogFileOptions(ConnectionOptions):
    """Files of the binary log, in the place of a server."""

    binlog_files: LocalPath = ""
    """Files of a binary log that are read instead of a server: a path or glob pattern, local or an URL that fsspec
    knows (`s3://archive/binlog.*`). The pipeline ends where the files end.
    """
    binlog_files_start: LogPlaceText = ""
    """Where a pipeline without an offset begins to read them, as `FILE` or `FILE:POS`; by default with the first."""
    binlog_files_stop: LogPlaceText = ""
    """Behind which place, as `FILE` or `FILE:POS`, nothing is read; by default the end of the last file."""

    @model_validator(mode="after")
    def _a_server_or_files(self) -> Self:
        if not (self.database_user or self.binlog_files):
            raise ValueError("database.user is needed, unless binlog.files names files to read")
        return self

    @model_validator(mode="after")
    def _places_in_files(self) -> Self:
        for option in ("start", "stop"):
            if getattr(self, f"binlog_files_{option}") and not self.binlog_files:
                raise ValueError(f"binlog.files.{option} is a place in files, but binlog.files names none")
        return self
