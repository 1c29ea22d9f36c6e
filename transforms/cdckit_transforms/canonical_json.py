"""Documents in MongoDB's canonical Extended JSON (v2), indented as Debezium's outbox router writes them.

"MongoDB Extended JSON (v2)" in MongoDB's manual has the forms.
"""

from __future__ import annotations

from typing import Any

import orjson

from cdckit.java.text import escaped, java_double
from cdckit_transforms.document_schemas import SPECIAL, milliseconds

_CODE = "$code"
_INT32 = range(-(2**31), 2**31)


def is_document(value: Any) -> bool:
    """Whether a value of a parsed text is a document, and no value of another type."""
    return isinstance(value, dict) and (first := next(iter(value), "")) not in SPECIAL and first != _CODE


def canonical(document: dict[str, Any]) -> str:
    """A document's text.

    Args:
        document: what `json.loads` makes of its text in another mode.
    """
    return escaped(orjson.dumps(_canonical(document), option=orjson.OPT_INDENT_2).decode())


def _canonical(value: Any) -> Any:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {name: _canonical(member) for name, member in value.items()} if is_document(value) else _special(value)
    if isinstance(value, float):
        return {"$numberDouble": java_double(value)}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"$numberInt" if value in _INT32 else "$numberLong": str(value)}
    return value


def _special(value: dict[str, Any]) -> dict[str, Any]:
    """A value that is written as a document."""
    match value:
        case {"$date": date}:
            return {"$date": {"$numberLong": str(milliseconds(date))}}
        case {"$binary": str(content), "$type": kind}:
            return {"$binary": {"base64": content, "subType": kind}}
        case {"$regex": pattern, "$options": options}:
            return {"$regularExpression": {"pattern": pattern, "options": options}}
        case {"$code": code, "$scope": scope}:
            return {"$code": code, "$scope": _canonical(scope)}
    return value
