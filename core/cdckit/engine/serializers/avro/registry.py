"""The schema registry that Avro's schemas are registered in: Confluent's HTTP interface."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson

from cdckit.engine.serializers.avro.connection import CONFLICT, NOT_FOUND, Access, Connection, Refusal
from cdckit.engine.serializers.avro.schemas import Written
from cdckit.errors import SinkError

_TYPE = "application/vnd.schemaregistry.v1+json"
_NO_SUCH_SCHEMA = frozenset({40401, 40402, 40403})
"""The registry's own codes for a subject, version or schema that it does not have (Confluent's API reference)."""


class Registry:
    """Registers schemas and looks them up.

    Args:
        access: where it is.
        normalize: whether the registry brings schemas into one form before it compares them.

    Raises:
        ConfigError: a URL is none, or a file of certificates cannot be read.
    """

    def __init__(self, access: Access, *, normalize: bool = False) -> None:
        self._connection = Connection(access, {"Content-Type": _TYPE, "Accept": _TYPE})
        self._query = "?normalize=true" if normalize else ""

    def register(self, subject: str, written: Written) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one already.

        Raises:
            SinkError: the registry refuses; a `RetriableSinkError` where it cannot be reached now.
        """
        return self._id(self._ask(f"/subjects/{_quoted(subject)}/versions{self._query}", subject, _body(written)))

    def lookup(self, subject: str, written: Written) -> int:
        """The id of a schema that is there.

        Raises:
            SinkError: it is not; or as `register`.
        """
        return self._id(self._ask(f"/subjects/{_quoted(subject)}{self._query}", subject, _body(written)))

    def latest(self, subject: str) -> tuple[int, Written]:
        """The id of a subject's latest schema, and the schema.

        Raises:
            SinkError: there is none, or it is no Avro schema; or as `register`.
        """
        found = self._ask(f"/subjects/{_quoted(subject)}/versions/latest", subject)
        kind = found.get("schemaType", "AVRO")
        if kind != "AVRO" or found.get("references"):
            raise SinkError(
                f"the latest schema of the subject {subject} in {self._connection.shown} is "
                f"{f'of type {kind}' if kind != 'AVRO' else 'one that refers to others'}, which cannot be written by"
            )
        return self._id(found), orjson.loads(found["schema"])

    def _id(self, answer: Any) -> int:
        if isinstance(answer, dict) and isinstance(found := answer.get("id"), int):
            return found
        raise self._connection.no_registry()

    def _ask(self, path: str, subject: str, body: bytes | None = None) -> Any:
        answer = self._connection.ask(path, body)
        if isinstance(answer, Refusal):
            raise self._refused(answer, subject)
        return answer

    def _refused(self, refusal: Refusal, subject: str) -> SinkError:
        at = self._connection.shown
        if refusal.status == NOT_FOUND and refusal.code in _NO_SUCH_SCHEMA:
            return SinkError(
                f"{at} does not have the schema under the subject {subject} ({refusal.message}): register it, or set "
                "auto.register.schemas=true"
            )
        if refusal.status == NOT_FOUND:
            return self._connection.no_registry()
        if refusal.status == CONFLICT:
            return SinkError(
                f"{at} does not take the schema for the subject {subject}, which an earlier one is incompatible with: "
                f"{refusal.message}"
            )
        return SinkError(
            f"{at} refuses the schema for the subject {subject} (HTTP {refusal.status}): {refusal.message}"
        )


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _body(written: Written) -> bytes:
    return orjson.dumps({"schema": orjson.dumps(written).decode()})
