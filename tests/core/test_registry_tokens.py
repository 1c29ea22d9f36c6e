"""Registries that want a token: it is asked for, shown, and asked for anew before it ends; Apicurio's options."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.schema import INT32, Schema, struct_schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.errors import ConfigError, RetriableSinkError, SinkError
from core.java_converters import apart
from core.test_registry_options import served
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.ports import free_port

SECRET = "never:shown"
TOKEN_PATHS = ("/token", "/realms/shop/protocol/openid-connect/token")


class _Registry(BaseHTTPRequestHandler):
    """A giver of tokens, and a registry that takes the newest alone."""

    given: list[dict[str, list[str]]]
    shown: list[str]
    life: int

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path in TOKEN_PATHS:
            self._give(body)
        elif self.headers["Authorization"] == f"Bearer token {len(self.given)}":
            self.shown.append(str(self.headers["target-sr-cluster"]))
            self._answer(200, {"id": 7, "globalId": 7})
        else:
            self._answer(401, {})

    def _give(self, body: str) -> None:
        login = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        if login != "me+you:never%3Ashown":
            self._answer(401, {"error": "invalid_client"})
            return
        self.given.append(parse_qs(body))
        self._answer(200, {"access_token": f"token {len(self.given)}", "expires_in": self.life})

    def _answer(self, status: int, what: Any) -> None:
        text = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def handler(life: int = 3600) -> Any:
    return type("Registry", (_Registry,), {"given": [], "shown": [], "life": life})


def confluent(url: str) -> tuple[str, dict[str, str]]:
    return "avro", {
        "schema.registry.url": f"{url}/api",
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{url}/token",
        "bearer.auth.client.id": "me you",
        "bearer.auth.client.secret": SECRET,
        "bearer.auth.scope": "schemas",
        "bearer.auth.logical.cluster": "lsrc-1",
    }


def apicurio(url: str) -> tuple[str, dict[str, str]]:
    return "avro-apicurio", {
        "apicurio.registry.url": f"{url}/api",
        "apicurio.registry.auto-register": "true",
        "apicurio.auth.service.token.endpoint": f"{url}/token",
        "apicurio.auth.client.id": "me you",
        "apicurio.auth.client.secret": SECRET,
        "apicurio.auth.client.scope": "schemas",
    }


def keycloak(url: str) -> tuple[str, dict[str, str]]:
    name, options = apicurio(url)
    del options["apicurio.auth.service.token.endpoint"]
    return name, {**options, "apicurio.auth.service.url": f"{url}/", "apicurio.auth.realm": "shop"}


def serializer(name: str, options: dict[str, str]) -> Serializer:
    registration = find("serializer", name)
    made: Serializer = make(registration, config_model(registration).load(options, "serializer")[0])
    return made


def record(number: int) -> Record:
    """One whose schema is another for each number."""
    schema: Schema = struct_schema(f"p.T{number}", {"id": INT32})
    return Record("t", None, Struct(schema, (1,)))


@pytest.mark.parametrize("how", [confluent, apicurio, keycloak])
def test_a_token_is_asked_for_once_and_shown(how: Any) -> None:
    registry = handler()
    with served(registry) as port:
        made = serializer(*how(f"http://127.0.0.1:{port}"))
        assert None not in made.values([record(1), record(2)])
    assert registry.given == [{"grant_type": ["client_credentials"], "scope": ["schemas"]}]
    assert registry.shown == (["lsrc-1"] if how is confluent else ["None"]) * 2


def test_a_token_that_ends_is_asked_for_anew() -> None:
    registry = handler(life=0)
    with served(registry) as port:
        made = serializer(*confluent(f"http://127.0.0.1:{port}"))
        made.values([record(1), record(2)])
    assert (len(registry.given), len(registry.shown)) == (2, 2)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (confluent, r"bearer\.auth\.issuer\.endpoint\.url: .*HTTP 401.*check bearer\.auth\.client\.id and"),
        (apicurio, r"apicurio\.auth\.service\.token\.endpoint: .*HTTP 401.*check apicurio\.auth\.client\.id and"),
    ],
)
def test_a_client_that_is_not_known(how: Any, said: str) -> None:
    with served(handler()) as port:
        name, options = how(f"http://127.0.0.1:{port}")
        secret = next(option for option in options if option.endswith("client.secret"))
        with pytest.raises(SinkError, match=said) as refused:
            serializer(name, {**options, secret: "other"}).values([record(1)])
    assert not isinstance(refused.value, RetriableSinkError)


def test_who_gives_tokens_may_be_away() -> None:
    name, options = confluent(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(RetriableSinkError, match=r"bearer\.auth\.issuer\.endpoint\.url: .* gives no token now"):
        serializer(name, options).values([record(1)])


@pytest.mark.parametrize(
    ("how", "without", "said"),
    [
        (confluent, "bearer.auth.client.id", "OAUTHBEARER wants"),
        (apicurio, "apicurio.auth.client.secret", r"apicurio\.auth\.client\.secret: required"),
        (keycloak, "apicurio.auth.realm", "are given together"),
    ],
)
def test_what_lacks_is_named_and_no_secret_shown(how: Any, without: str, said: str) -> None:
    name, options = how("http://127.0.0.1:1")
    config, _ = config_model(find("serializer", name)).load(options, "s")
    assert SECRET not in f"{config!r}{config.model_dump_json()}"
    del options[without]
    with pytest.raises(ConfigError, match=said) as refused:
        serializer(name, options)
    assert SECRET not in str(refused.value)


_CONFIGS = (
    "io.apicurio.registry.serde.SerdeConfig",
    "io.apicurio.registry.serde.avro.AvroKafkaSerdeConfig",
    "io.apicurio.registry.resolver.SchemaResolverConfig",
)


def test_every_option_of_apicurios_classes_is_known() -> None:
    """Taken, left out with a word, or refused as one that is not there yet."""
    with apart(apicurio_jars()) as java:
        fields = [field for name in _CONFIGS for field in java.load(name).class_.getFields()]
        told = {str(field.get(None)) for field in fields if _is_name(field)}
    assert len(told) > 50
    unknown = set()
    for option in told:
        try:
            config_model(find("serializer", "avro-apicurio")).load(
                {"apicurio.registry.url": "http://x", option: "1"}, "s"
            )
        except ConfigError as error:
            unknown |= {option} if "unknown option" in str(error) else set()
    assert unknown == set()


def _is_name(field: Any) -> bool:
    """Whether a constant is an option's name: it is a text that begins as they do, and is no default."""
    static = str(field.getType().getName()) == "java.lang.String"
    return static and not str(field.getName()).endswith("DEFAULT") and str(field.get(None)).startswith("apicurio.")
