"""Plugins that are installed in a folder, as a package installer would have them there, without their code."""

from __future__ import annotations

from pathlib import Path


def install_plugin(folder: Path, name: str, module: str) -> None:
    """Writes the metadata of a distribution, version 1.0, whose plugin a module is; the folder is made if need be."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cdckit]\n{name} = {module}\n")
