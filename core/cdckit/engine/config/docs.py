"""Writes the option tables of the docs out of the models: `python -m cdckit.engine.config.docs docs/options`.

A page keeps what people wrote around the generated part.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from cdckit.api.hookspecs import Registration
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugin_origins import GROUP
from cdckit.api.plugins import KINDS, Kind, config_model, registrations
from cdckit.engine.config.options import Option, options_of
from cdckit.engine.config.peer_options import peer_table
from cdckit.engine.config.pipeline import PipelineConfig

BEGIN = (
    "<!-- generated from the models by `python -m cdckit.engine.config.docs docs/options`: change them, not this -->"
)
END = "<!-- end of the generated part -->"
DISTRIBUTION = "cdckit"
_OF = "$"
"""In a component's name: the same as what stands before, for another part of a record; they share a page."""
PEER_OPTIONS = (
    "Every option of Debezium's connector, current and old, and what it is here. What has no meaning is left out with "
    "a warning that tells why; a value that would change what the user gets is refused with the same words."
)


def pages(folder: Path) -> dict[Path, str]:
    """Every page as it should be now, by its path: one for each component that this distribution brings."""
    return {
        folder / f"{name}.md": _page(folder / f"{name}.md", title, generated) for name, title, generated in _parts()
    }


def write_pages(folder: Path) -> None:
    """Brings the pages in `folder` up to date."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in pages(folder).items():
        path.write_text(text, encoding="utf-8")


def _parts() -> Iterator[tuple[str, str, str]]:
    """Each page's name, its title and its generated part."""
    yield "pipeline", "The pipeline file", _table(PipelineConfig)
    own = {entry.name for entry in entry_points(group=GROUP) if entry.dist and entry.dist.name == DISTRIBUTION}
    for kind in KINDS:
        for plugin, registration in registrations(kind):
            if plugin in own and _OF not in registration.name:
                summary = f"{registration.summary[0].upper()}{registration.summary[1:]}."
                extra = f" Needs the extra `{registration.extra}`." if registration.extra else ""
                names = ", ".join(f"`{alias}`" for alias in _names(kind, registration))
                aliases = f"\n\nAlso known as {names}." if names else ""
                model = config_model(registration)
                generated = f"{summary}{extra}{aliases}\n\n{_table(model)}"
                title = f"{kind.capitalize().replace('-', ' ')} `{registration.name}`"
                yield f"{kind}-{registration.name}", title, generated
                if model.peer_options:
                    title = f"Debezium's options: {kind} `{registration.name}`"
                    yield f"debezium-{registration.name}", title, f"{PEER_OPTIONS}\n\n{peer_table(model)}"


def _names(kind: Kind, registration: Registration) -> list[str]:
    """The component's other names, and those of the same component for another part of a record (`NAME$Key`)."""
    begun = f"{registration.name}{_OF}"
    others = [other for _, other in registrations(kind) if other.name.startswith(begun)]
    return [*registration.aliases, *(name for other in others for name in (other.name, *other.aliases))]


def _page(path: Path, title: str, generated: str) -> str:
    part = f"{BEGIN}\n\n{generated}\n\n{END}"
    if not path.exists():
        return f"# {title}\n\n{part}\n"
    text = path.read_text(encoding="utf-8")
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: part, text, flags=re.DOTALL)


def _table(model: type[PluginConfig]) -> str:
    options = options_of(model)
    if not options:
        return "It has no options."
    rows = ["| option | type | default | what it does |", "| --- | --- | --- | --- |", *map(_row, options)]
    old = [f"`{old}` is now `{now}`" for old, now in sorted(model.renamed.items())]
    return "\n".join(rows) + (f"\n\nOld names still work: {', '.join(old)}." if old else "")


def _row(option: Option) -> str:
    kind = ", ".join(f"`{choice}`" for choice in option.choices) or option.type
    default = "*required*" if option.required else f"`{option.default}`" if option.default else ""
    cells = (f"`{option.name}`", kind, default, option.description)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/options"))
