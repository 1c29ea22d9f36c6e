"""The schema registry that schemas are registered in: Confluent's HTTP interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from cdckit.engine.serializers.avro.connection import CONFLICT, NOT_FOUND, Access, Connection, Refusal
from cdckit.engine.serializers.field_changes import Fields, changes
from cdckit.errors import SinkError

_TYPE = "application/vnd.schemaregistry.v1+json"
_NO_SUCH_SCHEMA = frozenset({40401, 40402, 40403})
"""The registry's own codes for a subject, version or schema that it does not have (Confluent's API reference)."""

_LOOKED_AT = 20
"""How many versions, from the newest on, are asked which of them a schema does not fit."""


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
        fields: gives those of a schema's text, for messages.
        normalize: whether the registry brings schemas into one form before it compares them.

    Raises:
        ConfigError: a URL is none, or a file of certificates cannot be read.
    """

    def __init__(self, access: Access, kind: str, fields: Callable[[str], Fields], *, normalize: bool = False) -> None:
        self._connection = Connection(access, {"Content-Type": _TYPE, "Accept": _TYPE})
        self._kind = kind
        self._fields = fields
        self._query = "?normalize=true" if normalize else ""

    def register(self, subject: str, text: str) -> int:
        """The id of a schema, which becomes the subject's newest version unless it is one already.

        Raises:
            SinkError: the registry refuses; a `RetriableSinkError` where it cannot be reached now.
        """
        path = f"/subjects/{_quoted(subject)}/versions{self._query}"
        answer = self._connection.ask(path, self._body(text))
        if isinstance(answer, Refusal) and answer.status == CONFLICT:
            raise self._conflict(answer, subject, text)
        return self._id(self._told(answer, subject))

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

    def numbered(self, number: int, subject: str) -> Found:
        """The schema of an id.

        Args:
            number: the id.
            subject: whose messages bear it.

        Raises:
            SinkError: as `latest`.
        """
        answer = self._connection.ask(f"/schemas/ids/{number}?subject={_quoted(subject)}")
        if isinstance(answer, Refusal) and answer.status == NOT_FOUND and answer.code in _NO_SUCH_SCHEMA:
            raise SinkError(
                f"use.schema.id: {self._connection.shown} has no schema of the id {number} ({answer.message})"
            )
        found = self._of_the_kind(self._told(answer, subject), f"the id {number}")
        return Found(number, found["schema"], tuple(self._references(found).items()))

    def _version(self, subject: str, version: str) -> Any:
        found = self._ask(f"/subjects/{_quoted(subject)}/versions/{version}", subject)
        return self._of_the_kind(found, f"version {version} of the subject {subject}")

    def _of_the_kind(self, found: Any, which: str) -> Any:
        """A schema of this registry's format; `which` says which one it is."""
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise self._connection.no_registry()
        kind = found.get("schemaType", "AVRO")
        if kind != self._kind:
            raise SinkError(
                f"{which} in {self._connection.shown} is a schema of type {kind}, by which {self._kind} cannot be "
                "written",
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
        return self._told(self._connection.ask(path, body), subject)

    def _told(self, answer: Any, subject: str) -> Any:
        if isinstance(answer, Refusal):
            raise self._refused(answer, subject)
        return answer

    def _conflict(self, refusal: Refusal, subject: str, text: str) -> SinkError:
        """The error of a schema that does not fit an earlier one: with the fields in which they differ."""
        try:
            version, fields = self._differs(subject, text)
        except (SinkError, ValueError, LookupError, TypeError, AttributeError):
            version, fields = "", ""  # the registry's words are told all the same
        earlier = f"which does not fit version {version}: {fields}" if fields else "which does not fit an earlier one"
        return SinkError(
            f"{self._connection.shown} does not take the schema for the subject {subject}, {earlier}; it says: "
            f"{refusal.message}",
            number="CDC4203",
        )

    def _differs(self, subject: str, text: str) -> tuple[str, str]:
        """The newest version that a schema is incompatible with, and the fields in which they differ."""
        versions = self._ask(f"/subjects/{_quoted(subject)}/versions", subject)
        for version in map(str, sorted(versions, reverse=True)[:_LOOKED_AT]):
            path = f"/compatibility/subjects/{_quoted(subject)}/versions/{version}"
            answer = self._connection.ask(path, self._body(text))
            if isinstance(answer, Refusal) or not answer["is_compatible"]:
                return version, changes(self._fields(self._version(subject, version)["schema"]), self._fields(text))
        return "", ""

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
        return SinkError(
            f"{at} refuses the schema for the subject {subject} (HTTP {refusal.status}): {refusal.message}",
            number="CDC4203",
        )


def _quoted(subject: str) -> str:
    return quote(subject, safe="")
