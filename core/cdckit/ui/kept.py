"""Records in quarantine, as the page shows them: a page of them, and one with what was kept of it."""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import Any

from cdckit.engine.quarantine.contents import MESSAGE, PIECE, RECORD
from cdckit.engine.quarantine.store import Quarantined, kept_page, kept_record

PAGE = 50
_LONGEST = 200_000
"""So many characters of a content are shown."""


def page_of(folder: Path, before: int | None = None) -> list[dict[str, Any]]:
    """The newest records, or those before a number, without what was kept of them.

    Raises:
        StateError: the quarantine cannot be read.
    """
    return [_facts(record) for record in kept_page(folder, before, PAGE)]


def whole(folder: Path, number: int) -> dict[str, Any] | None:
    """One record with what was kept of it as JSON text; None where there is none of that number.

    Raises:
        StateError: the quarantine cannot be read.
    """
    record = kept_record(folder, number)
    if record is None:
        return None
    text = json.dumps(shown(record.content), indent=2, ensure_ascii=False)
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… (cdc quarantine show prints all of it)"
    return {**_facts(record), "content": cut}


def _facts(record: Quarantined) -> dict[str, Any]:
    return {
        "number": record.number,
        "kept": record.kept,
        "stage": record.stage,
        "by": record.by,
        "topic": record.topic,
        "position": record.position,
        "reason": record.reason,
    }


def shown(content: bytes) -> Any:
    """A content without its schemas, and with its bytes as the text or JSON that they may be."""
    try:
        found = json.loads(content)
    except (RecursionError, ValueError):
        return repr(content[:_LONGEST])
    if not isinstance(found, dict):
        return found
    form = found.get("form")
    if form == RECORD:
        return {
            "topic": found.get("topic"),
            "key": _payload(found.get("key")),
            "value": _payload(found.get("value")),
            "headers": {header["key"]: _payload(header["value"]) for header in found.get("headers") or ()},
        }
    if form == MESSAGE:
        headers = {header["key"]: _decoded(header["value"]) for header in found.get("headers") or ()}
        key, value = _decoded(found.get("key")), _decoded(found.get("value"))
        return {"topic": found.get("topic"), "key": key, "value": value, "headers": headers}
    if form == PIECE:
        raw = {name: _decoded(text) for name, text in (found.get("raw") or {}).items()}
        return {"topic": found.get("topic"), "facts": found.get("facts"), "raw": raw}
    return found


def _payload(datum: Any) -> Any:
    """What stands below a schema."""
    return datum["payload"] if isinstance(datum, dict) and {"schema", "payload"} == datum.keys() else datum


def _decoded(text: Any) -> Any:
    """Bytes in base64 as JSON or text; as they are where they are neither."""
    if not isinstance(text, str):
        return text
    try:
        plain = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return f"base64: {text}"
    try:
        return _payload(json.loads(plain))
    except (RecursionError, ValueError):
        return plain if plain.isprintable() else f"base64: {text}"
