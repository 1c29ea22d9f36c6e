"""Options of Apicurio's own interface, and of its AvroConverter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, SecretStr, model_validator

from cdckit.api.plugin_config import PluginConfig
from cdckit.engine.serializers.avro.connection import Access
from cdckit.engine.serializers.avro.registry_config import basic
from cdckit.engine.serializers.avro.token import TokenSource

Strategy = Literal["topic", "simple.topic", "record", "topic.record", "qualified.record"]
_SERDE = "io.apicurio.registry.serde"
_CLASSES: dict[str, Strategy] = {
    f"{_SERDE}.strategy.TopicIdStrategy": "topic",
    f"{_SERDE}.strategy.SimpleTopicIdStrategy": "simple.topic",
    f"{_SERDE}.avro.strategy.RecordIdStrategy": "record",
    f"{_SERDE}.avro.strategy.TopicRecordIdStrategy": "topic.record",
    f"{_SERDE}.avro.strategy.QualifiedRecordIdStrategy": "qualified.record",
}
_A = "apicurio.registry"


class ApicurioConfig(PluginConfig):
    """Where schemas are registered, and how."""

    url: str = Field(alias="apicurio.registry.url")
    """The registry's URL, with the path of its own API, version 2 (`/apis/registry/v2`); several with commas between
    are tried in order.
    """
    user: str | None = Field(default=None, alias="apicurio.auth.username")
    """The user, where the registry wants a login."""
    password: SecretStr | None = Field(default=None, alias="apicurio.auth.password")
    """The password."""
    token_endpoint: str | None = Field(default=None, alias="apicurio.auth.service.token.endpoint")
    """Where tokens are asked for, by OAuth's grant for client credentials, in the place of a login."""
    token_service: str | None = Field(default=None, alias="apicurio.auth.service.url")
    """The same for Keycloak: its URL, to which `apicurio.auth.realm` belongs."""
    realm: str | None = Field(default=None, alias="apicurio.auth.realm")
    """The realm of Keycloak."""
    client: str | None = Field(default=None, alias="apicurio.auth.client.id")
    """The client that tokens are given to."""
    client_secret: SecretStr | None = Field(default=None, alias="apicurio.auth.client.secret")
    """Its secret."""
    client_scope: str | None = Field(default=None, alias="apicurio.auth.client.scope")
    """What tokens are to be good for."""
    truststore: str | None = Field(default=None, alias="apicurio.registry.request.ssl.truststore.location")
    """The certificates that are trusted: PEM or PKCS #12. By default the system's."""
    truststore_password: SecretStr | None = Field(
        default=None, alias="apicurio.registry.request.ssl.truststore.password"
    )
    """What that file is locked with."""
    keystore: str | None = Field(default=None, alias="apicurio.registry.request.ssl.keystore.location")
    """The client's own key and certificate: PEM or PKCS #12."""
    keystore_password: SecretStr | None = Field(default=None, alias="apicurio.registry.request.ssl.keystore.password")
    """What that file is locked with."""
    key_password: SecretStr | None = Field(default=None, alias="apicurio.registry.request.ssl.key.password")
    """What the key in it is locked with, in a PEM file. By default the password of the file."""
    request_timeout_ms: PositiveInt = 30_000
    """How long, in milliseconds, an answer of the registry is waited for."""
    auto_register: bool = Field(default=False, alias="apicurio.registry.auto-register")
    """Register a schema that is new; otherwise it must be there."""
    if_exists: Literal["FAIL", "UPDATE", "RETURN", "RETURN_OR_UPDATE"] = Field(
        default="RETURN_OR_UPDATE", alias="apicurio.registry.auto-register.if-exists"
    )
    """What the registry does where the artifact is there already."""
    find_latest: bool = Field(default=False, alias="apicurio.registry.find-latest")
    """Without `apicurio.registry.auto-register`: write by the artifact's latest schema, whatever differs from it."""
    group: str | None = Field(default=None, alias="apicurio.registry.artifact.group-id")
    """The group of the artifacts; by default that which `apicurio.registry.artifact-resolver-strategy` names."""
    strategy: Annotated[Strategy, BeforeValidator(lambda name: _CLASSES.get(name, name))] = Field(
        default="topic", alias="apicurio.registry.artifact-resolver-strategy"
    )
    """The artifact's id: `TOPIC-key` and `TOPIC-value` (`topic`), or the topic (`simple.topic`); the group is `default`
    otherwise. Also by Apicurio's class names.
    """

    apart: ClassVar[tuple[str, ...]] = ("key",)
    headers_by: ClassVar[str] = "simple"
    renamed: ClassVar[Mapping[str, str]] = {
        f"{_A}.auth.username": "apicurio.auth.username",
        f"{_A}.auth.password": "apicurio.auth.password",
    }
    passed_over: ClassVar[tuple[str, ...]] = (
        r"apicurio\.registry\.(deserializer\..+|fallback\..+|use-specific-avro-reader|cache-latest|is-key)",
        r"apicurio\.registry\.(serializer\.dereference-schema|serde\.validation-enabled|avro-datum-provider)",
        r"apicurio\.registry\.(check-period-ms|retry-(count|backoff-ms)|fault-tolerant-refresh|dereference-schema)",
        r"apicurio\.registry\.(converter\.(de)?serializer|request\.ssl\.(trust|key)store\.type)",
        r"schemas\.cache\.config|schemas\.enable",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = {
        f"{_A}.artifact.artifact-id": None,
        f"{_A}.artifact.version": None,
        f"{_A}.artifact.schema.location": None,
        f"{_A}.schema-resolver": "io.apicurio.registry.resolver.DefaultSchemaResolver",
    }
    not_yet_patterns: ClassVar[tuple[str, ...]] = (
        r"apicurio\.registry\.request\.ssl\.(key|trust)store",
        r"apicurio\.(registry|rest)\.request\.headers\..*",
        r"apicurio\.rest\.request\.ssl\..+",
        r"apicurio\.(registry\.)?(rest\.)?client\.(disable-auto-basepath-append|auto-base-path)",
    )

    @model_validator(mode="after")
    def _secrets_are_in_their_places(self) -> Self:
        if "@" in self.url:
            raise ValueError(f"{_A}.url: user and password belong in apicurio.auth.username and apicurio.auth.password")
        if (self.user is None) != (self.password is None):
            raise ValueError("apicurio.auth.username and apicurio.auth.password are given together")
        if (self.token_service is None) != (self.realm is None):
            raise ValueError("apicurio.auth.service.url and apicurio.auth.realm are given together")
        if self._token_url() is not None and (self.client is None or self.client_secret is None):
            raise ValueError("apicurio.auth.client.id and apicurio.auth.client.secret: required, to ask for tokens")
        return self

    def _token_url(self) -> str | None:
        if self.token_service is None:
            return self.token_endpoint
        return f"{self.token_service.rstrip('/')}/realms/{self.realm}/protocol/openid-connect/token"

    def _token(self) -> TokenSource | None:
        url = self._token_url()
        if url is None or self.client is None or self.client_secret is None:
            return None
        option = "apicurio.auth.service." + ("token.endpoint" if self.token_service is None else "url")
        login = "apicurio.auth.client.id and apicurio.auth.client.secret"
        return TokenSource(option, login, url, self.client, self.client_secret, self.client_scope)

    @property
    def access(self) -> Access:
        """Where the registry is, and how one gets in."""
        login = None
        if self.user is not None and self.password is not None:
            login = basic(f"{self.user}:{self.password.get_secret_value()}")
        return Access(
            option=f"{_A}.url",
            urls=self.url,
            authorization=login,
            login="what begins with apicurio.auth",
            tls=f"{_A}.request.ssl",
            truststore=self.truststore,
            truststore_password=self.truststore_password,
            keystore=self.keystore,
            keystore_password=self.keystore_password,
            seconds=self.request_timeout_ms / 1000,
            key_password=self.key_password,
            token=self._token(),
        )


class ApicurioAvroConfig(ApicurioConfig):
    """How keys and values become Avro, and where their schemas are registered."""

    headers_enabled: bool = Field(default=True, alias="apicurio.registry.headers.enabled")
    """Put the schema's id into a header such as `apicurio.value.globalId`; otherwise it stands before the value."""
    as_confluent: bool = Field(default=False, alias="apicurio.registry.as-confluent")
    """Before a value: an id of four bytes, as Confluent's format has it; otherwise of eight."""
    use_id: Literal["globalId", "contentId"] = Field(default="globalId", alias="apicurio.registry.use-id")
    """Which of the registry's two ids it is."""
    strategy: Annotated[Strategy, BeforeValidator(lambda name: _CLASSES.get(name, name))] = Field(
        default="topic", alias="apicurio.registry.artifact-resolver-strategy"
    )
    """The artifact's id: `TOPIC-key` and `TOPIC-value` (`topic`), the topic (`simple.topic`), the record's name, in a
    group called as its namespace (`record`), `TOPIC-` and the name, in that group (`topic.record`), the name with the
    namespace (`qualified.record`); the group is `default` otherwise. Also by Apicurio's class names.
    """
    connect_meta_data: bool = True
    """Put what Avro has no word for (names, versions and parameters of logical types) beside it as `connect.*`."""

    passed_over: ClassVar[tuple[str, ...]] = (*ApicurioConfig.passed_over, r"enhanced\.avro\.schema\.support")
    not_yet: ClassVar[Mapping[str, str | None]] = {
        **ApicurioConfig.not_yet,
        f"{_A}.id-handler": f"{_SERDE}.DefaultIdHandler",
        f"{_A}.headers.handler": f"{_SERDE}.headers.DefaultHeadersHandler",
        f"{_A}.avro.encoding": "BINARY",
    }
    not_yet_patterns: ClassVar[tuple[str, ...]] = (
        *ApicurioConfig.not_yet_patterns,
        r"apicurio\.registry\.headers\.(key|value)\..+\.name",
    )
