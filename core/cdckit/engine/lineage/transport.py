"""OpenLineage's client, as the file of `openlineage.integration.config.file.path` says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from cdckit.connector.options.lineage import LineageOptions
from cdckit.errors import ConfigError

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

OPTION = "source.openlineage.integration.config.file.path"
_JAVAS_NAMES = {"kafka": {"topicName": "topic", "properties": "config"}, "file": {"location": "log_file_path"}}
"""What a transport's settings are called in files for Java's client, which Debezium has, and here."""


def require_lineage(options: LineageOptions) -> None:
    """What telling OpenLineage needs is there.

    Raises:
        ConfigError: the client is not installed, or its file cannot be read.
    """
    if importlib.util.find_spec("openlineage") is None:
        raise ConfigError(
            "source.openlineage.integration.enabled: needs openlineage-python, which is not installed: "
            "pip install 'cdckit[openlineage]', or set it to false",
            number="CDC2301",
        )
    transport_of(options)


def transport_of(options: LineageOptions) -> dict[str, Any]:
    """What the file says of the transport.

    Raises:
        ConfigError: the file is not there, or says nothing of one.
    """
    path = Path(options.openlineage_integration_config_file_path)
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"{OPTION}: {path} cannot be read: {why}", number="CDC2607") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{OPTION}: {path} is no YAML", number="CDC2607") from error
    transport = found.get("transport") if isinstance(found, dict) else None
    if not isinstance(transport, dict) or not isinstance(transport.get("type"), str):
        raise ConfigError(
            f"{OPTION}: {path} names no transport; write `transport:` with its `type` (http, kafka, file, console)",
            number="CDC2607",
        )
    return _by_pythons_names(transport)


def _by_pythons_names(transport: dict[str, Any]) -> dict[str, Any]:
    names = _JAVAS_NAMES.get(transport["type"], {})
    renamed = {names.get(name, name): value for name, value in transport.items()}
    if transport["type"] == "file" and "location" in transport:
        renamed.setdefault("append", True)  # Java's client writes one file
    return renamed


def open_client(options: LineageOptions) -> OpenLineageClient:
    """The client. It connects when it is given an event.

    Raises:
        ConfigError: it refuses what the file says.
    """
    from openlineage.client import OpenLineageClient  # noqa: PLC0415 - most pipelines tell nobody

    transport = transport_of(options)
    try:
        return OpenLineageClient(config={"transport": transport})
    except Exception as error:
        # Its words may hold what the file has: a key, a password.
        path = options.openlineage_integration_config_file_path
        raise ConfigError(
            f"{OPTION}: OpenLineage's client does not take the transport '{transport['type']}' that {path} describes "
            f"({type(error).__name__}): look at its settings",
            number="CDC2607",
        ) from error
