"""The option `metrics.address`: where metrics are served."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from pydantic import PlainValidator, WithJsonSchema

_FORM = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\s\[\]]*):(?P<port>\d{1,5})")
EVERY_HOST = "0.0.0.0"  # noqa: S104 - what an empty host stands for


class ListenAddress(NamedTuple):
    """Where to listen: a host's name or address, and a port; 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(value: object) -> ListenAddress:
    """`HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for every address of the machine.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(value, ListenAddress):
        return value
    found = _FORM.fullmatch(str(value).strip())
    if found is None or int(found["port"]) > 65535:
        raise ValueError("should be HOST:PORT, such as 127.0.0.1:9400; port 0 is any free one")
    return ListenAddress(found["host"].strip("[]") or EVERY_HOST, int(found["port"]))


Address = Annotated[
    ListenAddress, PlainValidator(parse_address), WithJsonSchema({"type": "string", "pattern": r"^.*:\d{1,5}$"})
]
"""An option's type."""
