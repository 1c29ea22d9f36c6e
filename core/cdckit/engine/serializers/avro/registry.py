"""The schema registry that schemas are registered in: Confluent's HTTP interface."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from cdckit.engine.serializers.avro.connection import CONFLICT, NOT_FOUND, Access, Connection, Refusal
from cdckit.errors import SinkError

_TYPE = "application/vnd.schemaregistry.v1+json"
_NO_SUCH_SCHEMA = frozenset({40401, 40402, 40403})
"""The registry's own codes for a subject, version or schema that it does not have (Confluent's API reference)."""


class Found(NamedTuple):
    """A schema that is there.

    Attributes:
        number: its id.
        text: the schema.
        references: the names and texts of those that it refers to, each behind the ones that it refers to itself.
    """

    number: int
    text: str
    references: tuple[tuple[str, str], ...] = ()


class Registry:
    """Registers schemas and looks them up.

    Args:
        access: where it is.
        kind: what it calls schemas of their format: `AVRO`, `JSON` and so on.
        normalize: whether the registry brings schemas into one form before it compares them.

    Raises:
        ConfigError: a URL is none, or a file of certificates cannot be read.
    """

    def __init__(self, access: Access, kind: str, *, normalize: bool = False) -> None:
        self._connection = Connection(access, {"Content-Type": _TYPE, "Accept": _TYPE})
        self._kind = kind
        self._query = "?normalize=true" if normalize else ""

    def register(self, subject: str, text: str) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one already.

        Raises:
            SinkError: the registry refuses; a `RetriableSinkError` where it cannot be reached now.
        """
        return self._id(self._ask(f"/subjects/{_quoted(subject)}/versions{self._query}", subject, self._body(text)))

    def lookup(self, subject: str, text: str) -> int:
        """The id of a schema that is there.

        Raises:
            SinkError: it is not; or as `register`.
        """
        return self._id(self._ask(f"/subjects/{_quoted(subject)}{self._query}", subject, self._body(text)))

    def latest(self, subject: str) -> Found:
        """A subject's latest schema.

        Raises:
            SinkError: there is none, or it is one of another format; or as `register`.
        """
        found = self._version(subject, "latest")
        return Found(self._id(found), found["schema"], tuple(self._references(found).items()))

    def _version(self, subject: str, version: str) -> Any:
        found = self._ask(f"/subjects/{_quoted(subject)}/versions/{version}", subject)
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise self._connection.no_registry()
        kind = found.get("schemaType", "AVRO")
        if kind != self._kind:
            raise SinkError(
                f"version {version} of the subject {subject} in {self._connection.shown} is a schema of type {kind}, "
                f"by which {self._kind} cannot be written",
                number="CDC4203",
            )
        return found

    def _references(self, found: Any) -> dict[str, str]:
        """The texts of the schemas that a version refers to, by the names that it has for them."""
        made: dict[str, str] = {}
        for one in found.get("references") or ():
            inner = self._version(one["subject"], str(one["version"]))
            made |= self._references(inner)
            made[one["name"]] = inner["schema"]
        return made

    def _body(self, text: str) -> bytes:
        return orjson.dumps({"schema": text} | ({} if self._kind == "AVRO" else {"schemaType": self._kind}))

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
                "auto.register.schemas=true",
                number="CDC4204",
            )
        if refusal.status == NOT_FOUND:
            return self._connection.no_registry()
        if refusal.status == CONFLICT:
            return SinkError(
                f"{at} does not take the schema for the subject {subject}, which an earlier one is incompatible with: "
                f"{refusal.message}",
                number="CDC4203",
            )
        return SinkError(
            f"{at} refuses the schema for the subject {subject} (HTTP {refusal.status}): {refusal.message}",
            number="CDC4203",
        )


def _quoted(subject: str) -> str:
    return quote(subject, safe="")
