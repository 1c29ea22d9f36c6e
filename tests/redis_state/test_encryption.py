"""The store `redis` over TLS."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import ConfigError, StateError
from mongodb.secured import certificates
from redis_state.places import backend_of
from testkit.running import PASSWORD
from testkit.servers.ports import free_port
from testkit.servers.redis import RedisServer


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, dict[str, Any]]]:
    """A server that asks for clients' certificates, and the options that open it."""
    folder = tmp_path_factory.mktemp("tls")
    authority, own, client = certificates(folder)
    port = free_port()
    files = {"tls_cert_file": str(own), "tls_key_file": str(own), "tls_ca_cert_file": str(authority)}
    with RedisServer().start(tls_port=port, **files) as server:
        yield (
            server,
            {
                "redis_address": f"127.0.0.1:{port}",
                "redis_ssl_enabled": "true",
                "redis_ssl_truststore_path": str(authority),
                "redis_ssl_keystore_path": str(client),
                "redis_retry_max_attempts": 1,
            },
        )


Secured = tuple[RedisServer, dict[str, Any]]


def test_certificates_are_checked_and_shown(secured: Secured, unique_name: str) -> None:
    server, options = secured
    with closing(backend_of(server, unique_name, **options).open("p")) as store:
        store.put("a", 1)
    verified = {**options, "redis_ssl_hostname_verification_enabled": "true"}
    with closing(backend_of(server, unique_name, **verified).view("p")) as view:
        assert view.get("a") == 1
    elsewhere = {**verified, "redis_address": options["redis_address"].replace("127.0.0.1", "localhost")}
    with pytest.raises(StateError, match=r"state\.redis\.ssl"):
        backend_of(server, unique_name, **elsewhere).open("p")
    for lacking in ("redis_ssl_truststore_path", "redis_ssl_keystore_path"):
        without = {name: value for name, value in options.items() if name != lacking}
        with pytest.raises(StateError, match=r"state\.redis\.ssl"):
            backend_of(server, unique_name, **without).open("p")


def test_stores_of_javas_kind(secured: Secured, unique_name: str, tmp_path: Path) -> None:
    server, options = secured
    packed = {"redis_ssl_truststore_password": PASSWORD, "redis_ssl_keystore_password": PASSWORD}
    for name, words in (("truststore", ["-nokeys"]), ("keystore", [])):
        option = f"redis_ssl_{name}_path"
        packed[option] = str(tmp_path / f"{name}.p12")
        given = ["-in", options[option], "-out", packed[option], "-passout", f"pass:{PASSWORD}"]
        subprocess.run(["openssl", "pkcs12", "-export", *words, *given], check=True)
    with closing(backend_of(server, unique_name, **{**options, **packed}).open("p")) as store:
        store.put("a", 1)
    with pytest.raises(ConfigError, match=r"^state\.redis\.ssl\.truststore: ") as refused:
        wrong = {**options, **packed, "redis_ssl_truststore_password": "wrong"}
        backend_of(server, unique_name, **wrong).open("p")
    assert PASSWORD not in str(refused.value)
    with pytest.raises(ConfigError, match=r"^state\.redis\.ssl\.truststore: /no/such/file cannot be read"):
        backend_of(server, unique_name, **{**options, "redis_ssl_truststore_path": "/no/such/file"}).open("p")
