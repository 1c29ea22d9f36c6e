"""Clocks that jump: the library libfaketime between a process and its system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testkit.servers.apt import install
from testkit.servers.errors import ServerUnavailableError

_PLACES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1")


class Clock:
    """The clock of processes that are started with its variables; it is right until it jumps.

    Args:
        folder: for the file that tells how wrong it is.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Sets it so far from the right time. What measures durations (CLOCK_MONOTONIC) never jumps."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self._file)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables of processes that have this clock.

        Raises:
            ServerUnavailableError: libfaketime is not installed and cannot be.
        """
        return {
            "LD_PRELOAD": str(_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }


def _library() -> Path:
    if found := _found():
        return found
    install("libfaketime", ("libfaketime",), lambda: _found() is not None)
    if found := _found():
        return found
    raise ServerUnavailableError("the package libfaketime was installed and brought no library")


def _found() -> Path | None:
    root = Path("/")
    return next((path for place in _PLACES for path in root.glob(place[1:])), None)
