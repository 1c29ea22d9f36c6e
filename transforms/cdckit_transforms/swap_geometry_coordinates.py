"""SwapGeometryCoordinates: x and y of geometries in each other's place (Debezium's transform of that name)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit import NameList, PluginConfig, split_names
from cdckit_transforms.geometry_fields import GeometryTransform
from cdckit_transforms.well_known_binary import swapped


def _numbers(text: str) -> str:
    wrong = [item for item in split_names(text) if not item.isdecimal()]
    if wrong:
        raise ValueError(f"'{wrong[0]}' is no number of a reference system")
    return text


class SwapGeometryCoordinatesConfig(PluginConfig):
    """Which geometries are meant."""

    srids: Annotated[NameList, AfterValidator(_numbers)] = "4326,3857,4269"
    """The numbers of the reference systems whose geometries are swapped, with commas between."""


class SwapGeometryCoordinates(GeometryTransform):
    """Geometries of some reference systems, swapped; those of none stay."""

    def __init__(self, config: SwapGeometryCoordinatesConfig) -> None:
        self._srids = frozenset(map(int, split_names(config.srids)))

    def changed(self, data: bytes, srid: int | None) -> bytes:
        """The geometry, swapped if it is meant."""
        return swapped(data) if srid in self._srids else data
