"""Types of options that hold what a client is told."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from cdckit.api.places import ClientFiles


def _text(value: Any) -> Any:
    """What a configuration file of Kafka would say for a YAML scalar."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Text = Annotated[str, BeforeValidator(_text)]
"""Any scalar as the text that a file of properties would have for it."""

ClientProperties = Annotated[dict[str, Text], ClientFiles]
"""Properties of a client by name; some of them name files. They may be secrets: mark the field `repr=False`."""
