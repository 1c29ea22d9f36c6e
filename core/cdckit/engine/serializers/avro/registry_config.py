"""Options of Confluent's registry client and its serializers, whatever they write."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, SecretStr, model_validator

from cdckit.api.ignored_options import IgnoredOptions
from cdckit.api.plugin_config import PluginConfig
from cdckit.engine.serializers.avro.connection import Access
from cdckit.engine.serializers.avro.left_out import IGNORED_OPTIONS
from cdckit.engine.serializers.avro.subjects import CLASSES, Strategy
from cdckit.engine.serializers.avro.token import TokenSource

SubjectStrategy = Annotated[Strategy, BeforeValidator(lambda name: CLASSES.get(name, name))]


class RegistryConfig(PluginConfig):
    """Where schemas are registered, and how."""

    schema_registry_url: str
    """The registry's URL, with the path of its Confluent-compatible API; several with commas between are tried in
    order.
    """
    basic_auth_user_info: SecretStr | None = None
    """`USER:PASSWORD`, where the registry wants a login."""
    bearer_auth_credentials_source: Literal["STATIC_TOKEN", "OAUTHBEARER"] | None = None
    """Whether there is a token: that in `bearer.auth.token`, or one that `bearer.auth.issuer.endpoint.url` gives."""
    bearer_auth_token: SecretStr | None = None
    """The token."""
    bearer_auth_issuer_endpoint_url: str | None = None
    """Where tokens are asked for, by OAuth's grant for client credentials."""
    bearer_auth_client_id: str | None = None
    """The client."""
    bearer_auth_client_secret: SecretStr | None = None
    """Its secret."""
    bearer_auth_scope: str | None = None
    """What tokens are to be good for."""
    bearer_auth_logical_cluster: str | None = None
    """The registry's cluster, told in the header `target-sr-cluster`."""
    bearer_auth_identity_pool_id: str | None = None
    """The pool of identities, told in the header `Confluent-Identity-Pool-Id`."""
    ssl_truststore_location: str | None = Field(default=None, alias="schema.registry.ssl.truststore.location")
    """The certificates that are trusted: PEM or PKCS #12. By default the system's."""
    ssl_truststore_password: SecretStr | None = Field(default=None, alias="schema.registry.ssl.truststore.password")
    """What that file is locked with."""
    ssl_keystore_location: str | None = Field(default=None, alias="schema.registry.ssl.keystore.location")
    """The client's own key and certificate: PEM or PKCS #12."""
    ssl_keystore_password: SecretStr | None = Field(default=None, alias="schema.registry.ssl.keystore.password")
    """What that file is locked with."""
    ssl_key_password: SecretStr | None = Field(default=None, alias="schema.registry.ssl.key.password")
    """What the key in it is locked with, in a PEM file. By default the password of the file."""
    ssl_endpoint_identification_algorithm: Literal["https", ""] = Field(
        default="https", alias="schema.registry.ssl.endpoint.identification.algorithm"
    )
    """Whether the registry's certificate has to bear its host's name (`https`), or any name will do (empty)."""
    proxy_host: str = ""
    """The HTTP proxy by which the registry is reached; empty: those of the environment, if any (`https_proxy`, …)."""
    proxy_port: int = Field(default=-1, ge=-1, le=65535)
    """The proxy's port, which a proxy wants."""
    request_timeout_ms: PositiveInt = 30_000
    """How long, in milliseconds, an answer of the registry is waited for."""
    auto_register_schemas: bool = True
    """Register a schema that is new; otherwise it must be there, or `use.latest.version` be set."""
    use_latest_version: bool = False
    """With `auto.register.schemas=false`: write by the subject's latest schema, whatever differs from it."""
    use_schema_id: int = -1
    """With `auto.register.schemas=false`: write by the schema of this id; negative: there is none."""
    id_compatibility_strict: bool = True
    """With `use.schema.id`: as `latest.compatibility.strict`."""
    latest_compatibility_strict: bool = True
    """With `use.latest.version`: refuse a record whose own schema does not fit that one; otherwise what a value allows
    is written.
    """
    normalize_schemas: bool = False
    """Let the registry bring schemas into one form before it compares them."""
    key_subject_name_strategy: SubjectStrategy = "topic"
    """Under which subject keys' schemas stand: `TOPIC-key`, the record's name, or `TOPIC-` and the record's name; also
    by Confluent's class names.
    """
    value_subject_name_strategy: SubjectStrategy = "topic"
    """The same for values: `TOPIC-value`, …"""
    apart: ClassVar[tuple[str, ...]] = ("key",)
    headers_by: ClassVar[str] = "simple"
    renamed: ClassVar[Mapping[str, str]] = {
        "schema.registry.basic.auth.user.info": "basic.auth.user.info",
    }
    stand_ins: ClassVar[Mapping[str, str]] = {"http.read.timeout.ms": "request.timeout.ms"}
    passed_over: ClassVar[tuple[str, ...]] = (
        r"schemas\.cache\.(config|size)|max\.schemas\.per\.subject|schemas\.enable",
        r"schema\.registry\.ssl\.(trust|key)store\.type",
        r"(key|value)\.schema\.id\.deserializer|schema\.format|missing\..+\.cache\.ttl\.sec|missing\.cache\.size",
        r"bearer\.auth\.(scope\.claim\.name|sub\.claim\.name|cache\.expiry\.buffer\.seconds)",
    )
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = IGNORED_OPTIONS
    not_yet: ClassVar[Mapping[str, str | None]] = {"propagate.schema.tags": "false"}

    @model_validator(mode="after")
    def _secrets_are_in_their_places(self) -> Self:
        if "@" in self.schema_registry_url:
            raise ValueError("schema.registry.url: user and password belong in basic.auth.user.info, USER:PASSWORD")
        if bool(self.proxy_host) != (self.proxy_port > 0):
            raise ValueError("proxy.host and proxy.port are given together")
        if self.bearer_auth_credentials_source == "STATIC_TOKEN" and self.bearer_auth_token is None:
            raise ValueError("bearer.auth.credentials.source=STATIC_TOKEN wants bearer.auth.token")
        if self.bearer_auth_credentials_source == "OAUTHBEARER" and self._token() is None:
            raise ValueError(
                "bearer.auth.credentials.source=OAUTHBEARER wants bearer.auth.issuer.endpoint.url, "
                "bearer.auth.client.id and bearer.auth.client.secret"
            )
        return self

    @property
    def strict(self) -> bool:
        """Whether a record has to fit the schema that is written by and is not its own."""
        return self.latest_compatibility_strict if self.use_schema_id < 0 else self.id_compatibility_strict

    @property
    def access(self) -> Access:
        """Where the registry is, and how one gets in."""
        return Access(
            option="schema.registry.url",
            urls=self.schema_registry_url,
            authorization=self._authorization(),
            login="basic.auth.user.info, or what begins with bearer.auth",
            tls="schema.registry.ssl",
            truststore=self.ssl_truststore_location,
            truststore_password=self.ssl_truststore_password,
            keystore=self.ssl_keystore_location,
            keystore_password=self.ssl_keystore_password,
            key_password=self.ssl_key_password,
            any_host=not self.ssl_endpoint_identification_algorithm,
            token=self._token(),
            headers=tuple((name, value) for name, value in self._told() if value),
            proxy=f"http://{self.proxy_host}:{self.proxy_port}" if self.proxy_host else None,
            seconds=self.request_timeout_ms / 1000,
        )

    def _authorization(self) -> SecretStr | None:
        if bool(self.proxy_host) != (self.proxy_port > 0):
            raise ValueError("proxy.host and proxy.port are given together")
        if self.bearer_auth_credentials_source == "STATIC_TOKEN" and self.bearer_auth_token is not None:
            return SecretStr(f"Bearer {self.bearer_auth_token.get_secret_value()}")
        return None if self.basic_auth_user_info is None else basic(self.basic_auth_user_info.get_secret_value())

    def _token(self) -> TokenSource | None:
        url, client, secret = (
            self.bearer_auth_issuer_endpoint_url,
            self.bearer_auth_client_id,
            self.bearer_auth_client_secret,
        )
        if self.bearer_auth_credentials_source != "OAUTHBEARER" or url is None or client is None or secret is None:
            return None
        return TokenSource(
            "bearer.auth.issuer.endpoint.url",
            "bearer.auth.client.id and bearer.auth.client.secret",
            url,
            client,
            secret,
            self.bearer_auth_scope,
        )

    def _told(self) -> tuple[tuple[str, str | None], ...]:
        return (
            ("target-sr-cluster", self.bearer_auth_logical_cluster),
            ("Confluent-Identity-Pool-Id", self.bearer_auth_identity_pool_id),
        )


def basic(pair: str) -> SecretStr:
    """HTTP's words for `USER:PASSWORD`."""
    return SecretStr(f"Basic {base64.b64encode(pair.encode()).decode()}")
