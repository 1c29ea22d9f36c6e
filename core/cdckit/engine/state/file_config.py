"""Options of the state store `file`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cdckit.api.places import on_this_machine
from cdckit.api.plugin_config import PluginConfig

_ELSEWHERE = on_this_machine(
    "name one, and let the pipeline's 'checkpoint' be the URL, where Spark then keeps copies of the state; "
    "or take a store that any machine reaches (state.type: s3, sql, redis or kafka)"
)


class FileStateConfig(PluginConfig):
    """Options of the state store `file`."""

    path: Annotated[Path, _ELSEWHERE] | None = None
    """The directory of offsets, schema history and snapshot progress. By default `./state/NAME`, beside the pipeline
    file.
    """
