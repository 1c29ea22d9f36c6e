"""Options of Confluent's registry client and serializers that have no meaning here, and what to do instead.

Source: Confluent's reference of the configuration of Schema Registry clients and Connect converters, 7.0 to 8.0.
"""

from __future__ import annotations

from cdckit.api.ignored_options import IgnoredOptions

_SERIALIZERS = "io.confluent.kafka.serializers"
_TLS = r"schema\.registry\.ssl\."

IGNORED_OPTIONS = (
    IgnoredOptions(
        r"(schema\.registry\.)?basic\.auth\.credentials\.source",
        "a login stands in basic.auth.user.info, and nowhere else",
        taken=("user_info", "url"),
    ),
    IgnoredOptions(
        _TLS + r"(cipher\.suites|enabled\.protocols|protocol|provider|secure\.random\.implementation)",
        "OpenSSL chooses what is negotiated, by its own configuration",
    ),
    IgnoredOptions(
        _TLS + r"((key|trust)manager\.algorithm|engine\.factory\.class)",
        "Java's classes for TLS have no part here",
    ),
    IgnoredOptions(
        _TLS + r"keystore\.(key|certificate\.chain)",
        "put key and certificates into a PEM file, and name it in schema.registry.ssl.keystore.location",
        taken=(),
    ),
    IgnoredOptions(
        _TLS + r"truststore\.certificates",
        "put the certificates into a PEM file, and name it in schema.registry.ssl.truststore.location",
        taken=(),
    ),
    IgnoredOptions(
        r"http\.connect\.timeout\.ms",
        "request.timeout.ms, or http.read.timeout.ms, is the limit of connecting, too",
    ),
    IgnoredOptions(
        r"(max\.retries|retries\.(max\.)?wait\.ms)",
        "a registry that does not answer is asked again as the pipeline's own retries say",
    ),
    IgnoredOptions(
        r"latest\.cache\.(size|ttl\.sec)",
        "the latest schema of a subject is asked for once, when its first record is written",
    ),
    IgnoredOptions(
        r"use\.latest\.with\.metadata(\..+)?",
        "a version is not looked up by its metadata here: name its id in use.schema.id",
        taken=(),
    ),
    IgnoredOptions(
        r"use\.schema\.guid",
        "name the schema's id in use.schema.id",
        taken=(),
    ),
    IgnoredOptions(
        r"context\.name\.strategy",
        "a context of the registry stands in schema.registry.url, behind /contexts/",
        taken=(f"{_SERIALIZERS}.context.nullcontextnamestrategy",),
    ),
    IgnoredOptions(
        r"(key|value)\.schema\.id\.serializer",
        "the schema's id stands before the message, as PrefixSchemaIdSerializer writes it",
        taken=(f"{_SERIALIZERS}.schema.id.prefixschemaidserializer",),
    ),
    IgnoredOptions(
        r"schema\.reflection",
        "schemas are the records' own, so that none is made of Java's classes",
        taken=("false",),
    ),
    IgnoredOptions(
        r"rule\.(executors|actions)(\..+)?",
        "rules of data contracts are not run: mask columns at the source, or use transforms",
        taken=(),
    ),
    IgnoredOptions(
        r"rule\.(service\.loader\.enable|enable)",
        "rules of data contracts are not run: mask columns at the source, or use transforms",
    ),
)
