"""The source's options as events show them: `name=value`, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import SecretStr

from cdckit.api.plugin_config import PluginConfig, dotted

MASK = "********"
_SECRET_NAME = re.compile(r"(?i).*(secret|password|passphrase|token|jaas\.config|user\.info|salt|connection\.string).*")
_STATEMENT_NAME = re.compile(r"(?i).*(statements?|query|overrides)(\..*)?")
_USER = re.compile(r"(?<=://)[^/@\s]+@")


def shown_options(config: PluginConfig) -> list[str]:
    """Those that are given. Statements, and what a client is passed, may hold anything: they are masked as secrets."""
    return sorted(f"{name}={value}" for name, value in _shown(config))


def _shown(config: PluginConfig) -> Iterator[tuple[str, str]]:
    for field in config.model_fields_set:
        name = type(config).model_fields[field].alias or dotted(field)
        value = getattr(config, field)
        if isinstance(value, dict):
            yield from ((f"{name}.{member}", MASK) for member in value)
        else:
            yield name, _text(name, value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, SecretStr) or _SECRET_NAME.fullmatch(name) or _STATEMENT_NAME.fullmatch(name):
        return MASK
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list | frozenset):
        value = ",".join(map(str, value))
    return _USER.sub("", str(value))
