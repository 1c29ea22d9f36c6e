"""Says what a distribution brings: `python -m cdckit.cli.authoring.probe FOLDER`, run where it is installed.

Prints a JSON object: `distributions` (name and version), `api` (by plugin, what it is made for; null: it does not say),
`components` (`kind name`), `broken` (by plugin, why).
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distributions
from typing import Any

from cdckit.api.api_version import DECLARATION
from cdckit.api.plugin_origins import GROUP
from cdckit.api.plugins import KINDS, broken_plugins, plugin_manager, registrations


def probe(folder: str) -> dict[str, Any]:
    """What the plugins say that are installed in `folder`."""
    brought = {d: [e for e in d.entry_points if e.group == GROUP] for d in distributions(path=[folder])}
    entries = {entry.name for own in brought.values() for entry in own}
    components = [
        f"{kind} {found.name}" for kind in KINDS for plugin, found in registrations(kind) if plugin in entries
    ]
    loaded = {name: plugin_manager().get_plugin(name) for name in sorted(entries)}
    return {
        "distributions": [f"{d.name} {d.version}" for d, own in brought.items() if own],
        "api": {name: getattr(plugin, DECLARATION, None) for name, plugin in loaded.items() if plugin is not None},
        "components": components,
        "broken": {name: why for name, why in broken_plugins().items() if name in entries},
    }


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1])))  # noqa: T201 - the process that checks reads it
