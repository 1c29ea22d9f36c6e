"""GeometryFormatTransformer: WKB as EWKB, and EWKB as WKB (Debezium's transform of that name)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from cdckit import PluginConfig
from cdckit_transforms.folding import folded
from cdckit_transforms.geometry_fields import GeometryTransform
from cdckit_transforms.well_known_binary import extended, is_extended, plain


class GeometryFormatTransformerConfig(PluginConfig):
    """What becomes of geometries."""

    format: Annotated[Literal["wkb", "ewkb"], BeforeValidator(folded)] = "wkb"
    """`wkb`: well-known binary becomes the extended one, with the reference system's number inside. `ewkb`: it stays.
    The extended one becomes the plain one in any case; this is how Debezium has it."""


class GeometryFormatTransformer(GeometryTransform):
    """Geometries of the other format; those without a reference system stay."""

    def __init__(self, config: GeometryFormatTransformerConfig) -> None:
        self._extends = config.format == "wkb"

    def changed(self, data: bytes, srid: int | None) -> bytes:
        """The geometry in the other format."""
        if is_extended(data):
            return plain(data)
        return extended(data, srid) if self._extends and srid is not None else data
