"""What OpenLineage's specification (2-0-2) asks of a run event and of the facets that are used here, as JSON Schema."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

_URI = {"type": "string", "format": "uri", "pattern": "^https://"}
_TEXT = {"type": "string", "minLength": 1}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": {**required, **optional}}


def _facet(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return _object({"_producer": _URI, "_schemaURL": _URI, **required}, **optional)


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


_FIELD: dict[str, Any] = _object({"name": _TEXT}, type={"type": "string"}, description={"type": "string"})
_FIELD["properties"]["fields"] = _list({"$ref": "#/$defs/field"})
_DATASET = _object(
    {"namespace": _TEXT, "name": _TEXT},
    facets=_object(
        {"datasetType": _facet({"datasetType": _TEXT})}, schema=_facet({"fields": _list({"$ref": "#/$defs/field"})})
    ),
)
_ENGINE = _facet({"version": _TEXT}, name=_TEXT, openlineageAdapterVersion=_TEXT)
_ERROR = _facet({"message": _TEXT, "programmingLanguage": _TEXT}, stackTrace={"type": "string"})
_RUN = _object(
    {"runId": {"type": "string", "format": "uuid"}},
    facets=_object(
        {"processing_engine": _ENGINE, "debezium_config": _facet({"configs": _list(_TEXT)})}, errorMessage=_ERROR
    ),
)
_JOB = _object(
    {"namespace": _TEXT, "name": _TEXT},
    facets=_object(
        {
            "documentation": _facet({"description": _TEXT}),
            "jobType": _facet({"processingType": _TEXT, "integration": _TEXT}, jobType=_TEXT),
        },
        ownership=_facet({"owners": _list(_object({"name": _TEXT}, type=_TEXT))}),
        tags=_facet({"tags": _list(_object({"key": _TEXT, "value": _TEXT}, source=_TEXT))}),
    ),
)
_EVENT = {
    **_object(
        {
            "eventTime": {"type": "string", "format": "date-time"},
            "producer": _URI,
            "schemaURL": {**_URI, "pattern": "#/\\$defs/RunEvent$"},
            "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "FAIL"]},
            "run": _RUN,
            "job": _JOB,
            "inputs": _list(_DATASET),
            "outputs": _list(_DATASET),
        }
    ),
    "$defs": {"field": _FIELD},
}
_VALIDATOR = Draft202012Validator(_EVENT, format_checker=FormatChecker())


def check(event: dict[str, Any]) -> None:
    """It is a run event of the specification."""
    _VALIDATOR.validate(event)
