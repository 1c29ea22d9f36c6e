"""TLS with an own authority and client certificates, passwords, and users with just the rights that are documented."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from cdckit.errors import SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from mongodb.secured import RIGHTS, TARGETS, SecuredNode, certificates

Document = dict[str, Any]


def _capture(node: SecuredNode, user: str, scope: str, password: str = "secret", **options: Any) -> Capture:
    return Capture(
        f"mongodb://{node.address}/?replicaSet=rs0",
        mongodb_user=user,
        mongodb_password=password,
        mongodb_ssl_enabled=True,
        mongodb_ssl_truststore=str(node.authority),
        mongodb_ssl_keystore=str(node.certificate),
        capture_scope=scope,
        capture_target=TARGETS[scope],
        mongodb_server_selection_timeout_ms=3000,
        **options,
    )


@pytest.mark.parametrize("scope", RIGHTS)
def test_the_documented_rights_are_enough(secured: SecuredNode, scope: str) -> None:
    capture = _capture(secured, scope, scope, database_include_list="d")
    first = {"1"} if scope == "collection" else {"1", "2"}
    assert {shown(record)[1] for record in capture.once()} >= first
    with secured.client(username="root", password="secret") as client:
        client.d.a.update_one({"_id": 9}, {"$set": {"scope": scope}}, upsert=True)
    assert [shown(record)[2] for record in capture.once()] == [{"_id": 9, "scope": scope}]
    found = {finding.name: finding for finding in MongoDbSource.check(capture.config())}
    assert found["change stream"].status == "ok"
    assert found["oplog window"].status == "warn"


@pytest.mark.parametrize("user", ["database", "root"])
def test_a_backlog_is_whole_to_who_may_not_read_the_oplog(secured: SecuredNode, user: str) -> None:
    capture = _capture(secured, user, "database", snapshot_mode="no_data")
    capture.once()
    with secured.client(username="root", password="secret") as client:
        client.d.b.insert_many([{"backlog": user}, {"backlog": user}])
    with capture.source() as source:
        assert capture.offset is not None
        end = source.latest_offset(capture.offset)
        assert (source.cut(capture.offset, end, 1) == end) == (user == "database")


def test_a_filter_needs_no_more_rights(secured: SecuredNode) -> None:
    capture = _capture(secured, "collection", "collection", snapshot_collection_filter_overrides="d.a")
    capture.options["snapshot.collection.filter.overrides.d.a"] = '{"_id": 1}'
    assert [shown(record)[1] for record in capture.once()] == ["1"]


def test_a_user_of_another_database(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Authentication failed.*check .*mongodb\.authsource"):
        _capture(secured, "clerk", "collection").once()
    assert _capture(secured, "clerk", "collection", mongodb_authsource="staff").once()


def test_a_certificate_of_another_host(secured: SecuredNode) -> None:
    """It names the address, the connection string the name."""
    capture = _capture(secured, "collection", "collection")
    capture.options["mongodb.connection.string"] = f"mongodb://localhost:{secured.port}/?directConnection=true"
    with pytest.raises(SourceError, match="Hostname mismatch"):
        capture.once()
    capture.options["mongodb.ssl.invalid.hostname.allowed"] = True
    assert capture.once()


def test_key_stores_of_java_are_read(secured: SecuredNode, tmp_path: Path) -> None:
    trusted, identity = tmp_path / "trusted.p12", tmp_path / "identity.p12"
    pack = ["openssl", "pkcs12", "-export", "-passout", "pass:hush"]
    subprocess.run([*pack, "-nokeys", "-in", secured.authority, "-out", trusted], check=True)
    subprocess.run([*pack, "-in", secured.certificate, "-out", identity], check=True)
    capture = _capture(secured, "collection", "collection", database_include_list="d")
    capture.options |= {
        "mongodb.ssl.truststore": str(trusted),
        "mongodb.ssl.truststore.password": "hush",
        "mongodb.ssl.keystore": str(identity),
        "mongodb.ssl.keystore.password": "hush",
    }
    assert capture.once()


def _by_certificate(node: SecuredNode, keystore: Path) -> Capture:
    return Capture(
        f"mongodb://{node.address}/?replicaSet=rs0&authMechanism=MONGODB-X509",
        mongodb_ssl_enabled=True,
        mongodb_ssl_truststore=str(node.authority),
        mongodb_ssl_keystore=str(keystore),
        capture_scope="collection",
        capture_target="d.a",
        mongodb_server_selection_timeout_ms=3000,
    )


def test_a_certificate_logs_in(secured: SecuredNode) -> None:
    capture = _by_certificate(secured, secured.identity)
    assert {shown(record)[1] for record in capture.once()} >= {"1"}
    with secured.client(username="root", password="secret") as client:
        client.d.a.update_one({"_id": 9}, {"$set": {"scope": "certificate"}}, upsert=True)
    assert [shown(record)[2] for record in capture.once()] == [{"_id": 9, "scope": "certificate"}]


def test_a_certificate_that_is_no_user_is_told(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Could not find user .CN=server..*; create it, for X\.509 in \$external"):
        _by_certificate(secured, secured.certificate).once()


def test_less_is_told(secured: SecuredNode) -> None:
    capture = _capture(secured, "collection", "database")
    with pytest.raises(SourceError, match=r"not authorized.*grant the user what capture\.scope=database needs"):
        capture.once()
    found = {finding.name: finding for finding in MongoDbSource.check(capture.config())}
    assert found["change stream"].status == "fail"
    assert found["change stream"].remedy == "grant find, changeStream, listCollections on {db: 'd', collection: ''}"


def test_a_wrong_password_is_told_and_kept_secret(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Authentication failed.*check mongodb\.user, mongodb\.password") as found:
        _capture(secured, "database", "database", password="hunter2").once()
    assert "hunter2" not in str(found.value)
    assert "hunter2" not in repr(_capture(secured, "database", "database", password="hunter2").config())


def test_a_server_of_another_authority_is_refused(secured: SecuredNode, tmp_path: Path) -> None:
    capture = _capture(secured, "database", "database")
    capture.options["mongodb.ssl.truststore"] = str(certificates(tmp_path)[0])
    with pytest.raises(SourceError, match="certificate verify failed"):
        capture.once()
