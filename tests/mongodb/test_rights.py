"""Users with just the rights that are documented, and with one less: what runs, and what `cdc validate` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from cdckit.api.checks import Finding
from cdckit.errors import SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from mongodb.secured import GuardedNode

Document = dict[str, Any]
Resource = tuple[str, str]

EVERYTHING: Resource = ("", "")
SCOPES: dict[str, tuple[str, Resource, tuple[str, ...]]] = {
    "deployment": ("", EVERYTHING, ("find", "changeStream", "listCollections")),
    "database": ("d", ("d", ""), ("find", "changeStream", "listCollections")),
    "collection": ("d.a", ("d", "a"), ("find", "changeStream")),
}
"""The target, and which actions are documented as needed on what."""
OPLOG: Resource = ("local", "oplog.rs")
SIGNALS: Resource = ("d", "signals")


class RightsNode(GuardedNode):
    """A set of one member, with users who have just the rights that are asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._users = 0

    def root(self) -> MongoClient[Document]:
        """A client who may do everything."""
        return MongoClient(self.host, self.port, directConnection=True, username="root", password="secret")

    def uri_of(self, rights: Sequence[tuple[Resource, Sequence[str]]]) -> str:
        """The connection string of a new user with just these rights."""
        self._users += 1
        name = f"user{self._users}"
        privileges = [
            {"resource": {"db": database, "collection": collection}, "actions": list(actions)}
            for (database, collection), actions in rights
            if actions
        ]
        with self.root() as client:
            client.admin.command("createRole", name, privileges=privileges, roles=[])
            client.admin.command("createUser", name, pwd="secret", roles=[name])
        return f"mongodb://{name}:secret@{self.address}/?replicaSet=rs0"

    def grant_last(self, resource: Resource, action: str) -> None:
        """Gives one more right to the user that was made last."""
        database, collection = resource
        privilege = {"resource": {"db": database, "collection": collection}, "actions": [action]}
        with self.root() as client:
            client.admin.command("grantPrivilegesToRole", f"user{self._users}", privileges=[privilege])


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RightsNode]:
    """The set, with a document in each of two collections and in another database."""
    node = RightsNode(tmp_path_factory.mktemp("guarded"))
    node.start(keyFile=str(node.key))
    try:
        node.initiate()
        with node.root() as client:
            for collection in (client.d.a, client.d.b, client.e.c):
                collection.insert_one({"_id": 1})
            client.d.create_collection("signals")
        yield node
    finally:
        node.close()


def _capture(uri: str, scope: str, **options: Any) -> Capture:
    return Capture(uri, capture_scope=scope, capture_target=SCOPES[scope][0], **options)


def _found(capture: Capture) -> dict[str, Finding]:
    return {finding.name: finding for finding in MongoDbSource.check(capture.config())}


@pytest.mark.parametrize("scope", SCOPES)
def test_the_rights_of_a_scope_are_enough(guarded: RightsNode, scope: str) -> None:
    _, resource, actions = SCOPES[scope]
    capture = _capture(guarded.uri_of([(resource, actions)]), scope)
    found = _found(capture)
    assert (found["rights"].status, found["rights"].message) == ("ok", f"all that capture.scope={scope} needs")
    assert {name for name, finding in found.items() if finding.status != "ok"} == {"oplog window"}
    assert len(capture.once()) == {"deployment": 3, "database": 2, "collection": 1}[scope]
    with guarded.root() as client:
        client.d.a.update_one({"_id": 1}, {"$inc": {scope: 1}})
    assert [shown(record)[:2] for record in capture.once()] == [("u", "1")]


@pytest.mark.parametrize(
    ("scope", "less"),
    [
        ("deployment", "find"),
        ("deployment", "changeStream"),
        ("deployment", "listCollections"),
        ("database", "listCollections"),
        ("collection", "find"),
        ("collection", "changeStream"),
    ],
)
def test_one_right_less_is_named(guarded: RightsNode, scope: str, less: str) -> None:
    _, resource, actions = SCOPES[scope]
    capture = _capture(guarded.uri_of([(resource, [action for action in actions if action != less])]), scope)
    rights = _found(capture)["rights"]
    assert rights.status == "fail"
    assert rights.message == f"the user lacks {less}, which capture.scope={scope} needs"
    assert rights.remedy == f"grant {less} on {{db: '{resource[0]}', collection: '{resource[1]}'}}"
    with pytest.raises(SourceError, match="not authorized"):
        capture.once()
    guarded.grant_last(resource, less)
    assert _found(capture)["rights"].status == "ok"
    assert capture.once()


@pytest.mark.parametrize(
    ("scope", "strategy", "actions"),
    [("deployment", "insert_delete", ["insert", "remove"]), ("database", "insert_insert", ["insert"])],
)
def test_incremental_snapshots_need_what_is_documented(
    guarded: RightsNode, scope: str, strategy: str, actions: list[str]
) -> None:
    """With it they run; with one right less that is named before, and when it is missed."""
    _, resource, needed = SCOPES[scope]
    capture = _signalled(guarded.uri_of([(resource, needed), (SIGNALS, actions[:-1])]), scope, strategy)
    assert _found(capture)["rights"].status == "ok"
    marks = _found(capture)["signal.data.collection"]
    assert (marks.status, marks.remedy) == ("warn", f"grant {actions[-1]} on {{db: 'd', collection: 'signals'}}")
    assert f"the user lacks {actions[-1]}: incremental snapshots ({strategy})" in marks.message
    capture.once()
    _ask_for_a_snapshot(guarded)
    with pytest.raises(SourceError, match=r"writing a watermark into d\.signals: not authorized.*; grant insert"):
        capture.follow(until=lambda: _has_read(capture))
    guarded.grant_last(SIGNALS, actions[-1])
    assert _found(capture)["signal.data.collection"].status == "ok"
    capture.follow(until=lambda: _has_read(capture))


def _signalled(uri: str, scope: str, strategy: str) -> Capture:
    return _capture(
        uri,
        scope,
        collection_include_list=r"d\.a",
        signal_data_collection="d.signals",
        snapshot_mode="no_data",
        incremental_snapshot_watermarking_strategy=strategy,
    )


def _ask_for_a_snapshot(guarded: RightsNode) -> None:
    with guarded.root() as client:
        client.d.signals.insert_one({"type": "execute-snapshot", "data": {"data-collections": ["d.a"]}})


def _has_read(capture: Capture) -> bool:
    return any(shown(record)[0] == "r" for record in capture.records)


def test_the_oplogs_window_needs_what_is_documented(guarded: RightsNode) -> None:
    needed = (EVERYTHING, SCOPES["deployment"][2])
    enough = _capture(guarded.uri_of([needed, (OPLOG, ["find", "collStats"])]), "deployment")
    assert _found(enough)["oplog window"].status == "ok"
    for less, said in (("collStats", "how fast it grows cannot be told"), ("find", "cannot be told: the user may not")):
        actions = [action for action in ("find", "collStats") if action != less]
        window = _found(_capture(guarded.uri_of([needed, (OPLOG, actions)]), "deployment"))["oplog window"]
        assert window.status == "warn"
        assert said in window.message
        assert "grant find and collStats" in window.remedy


def test_roles_of_the_server_are_understood(guarded: RightsNode) -> None:
    with guarded.root() as client:
        roles = ["readAnyDatabase", {"role": "readWrite", "db": "d"}]
        client.admin.command("createUser", "reader", pwd="secret", roles=roles)
    for user in ("reader", "root"):
        capture = _signalled(f"mongodb://{user}:secret@{guarded.address}/", "deployment", "insert_delete")
        found = _found(capture)
        assert (found["rights"].status, found["signal.data.collection"].status) == ("ok", "ok")
