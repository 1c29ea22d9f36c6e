"""The logs of many pipelines on one standard error: each line says whose it is."""

from __future__ import annotations

import json
import sys
import threading
from typing import IO

from cdckit.cli.logs import Format

_LONGEST = 1 << 16
"""How many bytes of a line are passed on at a time."""


class SharedLog:
    """Passes lines on, whole and one at a time.

    Args:
        log_format: how the pipelines log.
        width: of the longest name.
    """

    def __init__(self, log_format: Format, width: int) -> None:
        self._format = log_format
        self._width = width
        self._lock = threading.Lock()

    def pass_on(self, name: str, lines: IO[bytes]) -> None:
        """Passes on all that a pipeline logs, until it ends."""
        with lines:
            while line := lines.readline(_LONGEST):
                shown = self._shown(name, line.decode(errors="replace").rstrip("\r\n"))
                with self._lock:
                    sys.stderr.write(f"{shown}\n")
                    sys.stderr.flush()

    def _shown(self, name: str, line: str) -> str:
        if self._format == "text":
            return f"{name:<{self._width}} | {line}"
        if line.startswith("{") and line.endswith("}"):
            return f'{{"pipeline": {json.dumps(name)}, {line[1:]}'
        return json.dumps({"pipeline": name, "message": line}, ensure_ascii=False)
