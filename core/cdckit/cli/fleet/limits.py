"""What each pipeline of a fleet may take, and what becomes of it when it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import click

Restart = Literal["never", "on-failure", "always"]
RESTARTS: tuple[Restart, ...] = ("never", "on-failure", "always")

WRONG_FILE = 2
"""The exit code of usage and configuration, which no new start heals."""

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True)
class Limits:
    """The same for each pipeline.

    Attributes:
        restart: which of those that end begin anew.
        memory: how many bytes its processes may have resident; None: as many as there are.
    """

    restart: Restart = "on-failure"
    memory: int | None = None

    def begins_anew(self, code: int, *, killed: bool) -> bool:
        """Whether a pipeline that has ended is started again.

        Args:
            code: what it ended with.
            killed: whether it was ended for its memory.
        """
        if self.restart == "always":
            return True
        return self.restart == "on-failure" and (killed or code not in (0, WRONG_FILE))


class Size(click.ParamType[int]):
    """A number of bytes: `512M`, `2G`, `800000000`; K, M, G, T are powers of 1024."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            click.BadParameter: it is no size.
        """
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).strip())
        if found is None or not int(found[1]):
            self.fail(f"{value!r} should be a size such as 512M or 2G", param, ctx)
        return int(found[1]) * _UNITS[found[2].lower()]
