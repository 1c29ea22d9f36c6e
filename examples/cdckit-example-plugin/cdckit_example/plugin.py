"""Registers what this distribution brings. It imports nothing else, so that listing plugins stays cheap."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl

CDCKIT_API = 1
"""The version of the plugin API that this is made for."""


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """The source `folder`."""
    return [
        Registration(
            name="folder",
            factory="cdckit_example.source:FolderSource",
            config="cdckit_example.config:FolderConfig",
            summary="follows the JSON lines that programs append to the files of a folder",
        )
    ]


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink `sqlite`."""
    return [
        Registration(
            name="sqlite",
            factory="cdckit_example.sink:SqliteSink",
            config="cdckit_example.config:SqliteConfig",
            summary="keeps the newest value of each key in a table of an SQLite file",
        )
    ]


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The state store `json-files`."""
    return [
        Registration(
            name="json-files",
            factory="cdckit_example.state:JsonFiles",
            config="cdckit_example.config:JsonFilesConfig",
            summary="a JSON file for each pipeline",
        )
    ]


@hookimpl
def cdckit_transforms() -> Sequence[Registration]:
    """The transform `MaskFields`."""
    return [
        Registration(
            name="MaskFields",
            factory="cdckit_example.transform:MaskFields",
            config="cdckit_example.config:MaskFieldsConfig",
            summary="hides the values of some columns",
        )
    ]
