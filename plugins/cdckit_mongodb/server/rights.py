"""What the user may do, as the server lists it, and what a pipeline needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pymongo.errors import PyMongoError

from cdckit import Finding
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.server.connection import Client


@dataclass(frozen=True, slots=True)
class Right:
    """An action on a collection.

    Attributes:
        action: such as `find`.
        database: "" for every database.
        collection: "" for every collection of it.
    """

    action: str
    database: str
    collection: str

    def granted_by(self, privilege: Mapping[str, Any]) -> bool:
        """Whether a privilege includes it (MongoDB's manual, "Resource Document")."""
        resource = privilege["resource"]
        if self.action not in privilege["actions"]:
            return False
        if resource.get("anyResource"):
            return True
        return (resource.get("db"), resource.get("collection")) in {
            (database, collection) for database in ("", self.database) for collection in ("", self.collection)
        }

    @property
    def resource(self) -> str:
        """What it is on, as `grantPrivilegesToRole` takes it."""
        return f"{{db: '{self.database}', collection: '{self.collection}'}}"


def needed_by_scope(config: MongoDbConfig) -> Sequence[Right]:
    """What snapshot and stream need."""
    database, _, collection = config.capture_target.partition(".")
    if config.capture_scope == "collection":
        return [Right(action, database, collection) for action in ("find", "changeStream")]
    on = "" if config.capture_scope == "deployment" else config.capture_target
    return [Right(action, on, "") for action in ("find", "changeStream", "listCollections")]


def needed_by_watermarks(config: MongoDbConfig) -> Sequence[Right]:
    """What incremental snapshots need besides."""
    database, _, collection = config.signal_data_collection.partition(".")
    deletes = config.incremental_snapshot_watermarking_strategy == "insert_delete"
    return [Right(action, database, collection) for action in (["insert", "remove"] if deletes else ["insert"])]


def grant(rights: Sequence[Right]) -> str:
    """What an administrator has to do."""
    return "grant " + "; ".join(
        f"{', '.join(right.action for right in group)} on {resource}"
        for resource, group in groupby(rights, lambda right: right.resource)
    )


def rights_findings(client: Client, config: MongoDbConfig) -> Iterator[Finding]:
    """Whether the user has what snapshot, stream and incremental snapshots need; nothing where nobody logs in."""
    try:
        told = client.admin.command({"connectionStatus": 1, "showPrivileges": True})["authInfo"]
    except PyMongoError as error:
        yield Finding("rights", "warn", f"cannot be told: {error}", "look at db.getUser()", number="CDC1207")
        return
    if not told["authenticatedUsers"]:
        return
    granted = told["authenticatedUserPrivileges"]
    missing = _missing(needed_by_scope(config), granted)
    if missing:
        lacks = ", ".join(right.action for right in missing)
        message = f"the user lacks {lacks}, which capture.scope={config.capture_scope} needs"
        yield Finding("rights", "fail", message, grant(missing), number="CDC1207")
    else:
        yield Finding("rights", "ok", f"all that capture.scope={config.capture_scope} needs")
    if config.signal_data_collection:
        yield _of_watermarks(config, _missing(needed_by_watermarks(config), granted))


def _of_watermarks(config: MongoDbConfig, missing: Sequence[Right]) -> Finding:
    if not missing:
        return Finding("signal.data.collection", "ok", f"watermarks can be written to {config.signal_data_collection}")
    strategy = config.incremental_snapshot_watermarking_strategy
    lacks = ", ".join(right.action for right in missing)
    message = f"the user lacks {lacks}: incremental snapshots ({strategy}) cannot write their watermarks there"
    return Finding("signal.data.collection", "warn", message, grant(missing), number="CDC1212")


def _missing(needed: Sequence[Right], granted: Sequence[Mapping[str, Any]]) -> list[Right]:
    return [right for right in needed if not any(right.granted_by(privilege) for privilege in granted)]
