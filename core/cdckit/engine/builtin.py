"""What the engine itself registers, by the same hooks as any plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdckit.api.hookspecs import Registration, hookimpl

_NUMBERS = {
    "boolean": "booleans, as a byte",
    "double": "numbers of type float64, as eight bytes",
    "float": "numbers of type float32, as four bytes",
    "integer": "integers of type int32, as four bytes",
    "long": "integers of type int64, as eight bytes",
    "short": "integers of type int16, as two bytes",
}


@hookimpl
def cdckit_serializers() -> Sequence[Registration]:
    """The serializers that need no package of their own."""
    return [
        *_numbers(),
        Registration(
            name="avro",
            factory="cdckit.engine.serializers.avro.serializer:AvroSerializer",
            config="cdckit.engine.serializers.avro.config:AvroConfig",
            summary="Avro with a schema registry, as Confluent's converter writes it",
            aliases=("io.confluent.connect.avro.AvroConverter",),
        ),
        Registration(
            name="avro-apicurio",
            factory="cdckit.engine.serializers.avro.apicurio:ApicurioAvroSerializer",
            config="cdckit.engine.serializers.avro.apicurio_config:ApicurioAvroConfig",
            summary="Avro with Apicurio's registry, as its own converter writes it",
            aliases=("io.apicurio.registry.utils.converter.AvroConverter",),
        ),
        Registration(
            name="binary",
            factory="cdckit.engine.serializers.raw:BinarySerializer",
            config="cdckit.engine.serializers.raw:BinaryConfig",
            summary="bytes as they are, and anything else as another serializer writes it",
            aliases=("io.debezium.converters.BinaryDataConverter", "io.debezium.converters.ByteBufferConverter"),
        ),
        Registration(
            name="bytes",
            factory="cdckit.engine.serializers.raw:BytesSerializer",
            config="cdckit.engine.serializers.raw:BytesConfig",
            summary="bytes as they are, and nothing else",
            aliases=("org.apache.kafka.connect.converters.ByteArrayConverter",),
        ),
        Registration(
            name="cloudevents",
            factory="cdckit.engine.serializers.cloudevents:CloudEventsSerializer",
            config="cdckit.engine.serializers.cloudevents_config:CloudEventsConfig",
            summary="CloudEvents in JSON or Avro, with Debezium's attributes; keys and headers as JSON",
            aliases=("io.debezium.converters.CloudEventsConverter",),
        ),
        Registration(
            name="json",
            factory="cdckit.engine.serializers.json:JsonSerializer",
            config="cdckit.engine.serializers.json_config:JsonConfig",
            summary="Kafka Connect's JSON, with or without schemas",
            aliases=("org.apache.kafka.connect.json.JsonConverter",),
        ),
        Registration(
            name="json-schema",
            factory="cdckit.engine.serializers.json_schema.serializer:JsonSchemaSerializer",
            config="cdckit.engine.serializers.json_schema.config:JsonSchemaConfig",
            summary="JSON with JSON Schema and a schema registry, as Confluent's converter writes it",
            aliases=("io.confluent.connect.json.JsonSchemaConverter",),
        ),
        Registration(
            name="json-apicurio",
            factory="cdckit.engine.serializers.json_schema.apicurio:ApicurioJsonSerializer",
            config="cdckit.engine.serializers.json_schema.apicurio:ApicurioJsonConfig",
            summary="JSON with Connect's schemas in Apicurio's registry, as its own converter writes it",
            aliases=("io.apicurio.registry.utils.converter.ExtJsonConverter",),
        ),
        Registration(
            name="protobuf",
            factory="cdckit.engine.serializers.protobuf.serializer:ProtobufSerializer",
            config="cdckit.engine.serializers.protobuf.config:ProtobufConfig",
            summary="Protobuf with a schema registry, as Confluent's converter writes it",
            aliases=("io.confluent.connect.protobuf.ProtobufConverter",),
        ),
        Registration(
            name="simple",
            factory="cdckit.engine.serializers.one_by_one:SimpleSerializer",
            config="cdckit.engine.serializers.one_by_one:NoOptions",
            summary="plain texts, much like JSON, as Kafka Connect writes headers unless told otherwise",
            aliases=("org.apache.kafka.connect.storage.SimpleHeaderConverter",),
        ),
        Registration(
            name="string",
            factory="cdckit.engine.serializers.string:StringSerializer",
            config="cdckit.engine.serializers.string:StringConfig",
            summary="texts as they are, and anything else as Java's `toString` shows it",
            aliases=("org.apache.kafka.connect.storage.StringConverter",),
        ),
    ]


def _numbers() -> Iterator[Registration]:
    """Those of one type each."""
    for name, summary in _NUMBERS.items():
        kind = name.capitalize()
        yield Registration(
            name=name,
            factory=f"cdckit.engine.serializers.numbers:{kind}Serializer",
            config="cdckit.engine.serializers.numbers:NumberConfig",
            summary=summary,
            aliases=(f"org.apache.kafka.connect.converters.{kind}Converter",),
        )


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """The state store that needs no package of its own."""
    return [
        Registration(
            name="file",
            factory="cdckit.engine.state.file:FileBackend",
            config="cdckit.engine.state.file_config:FileStateConfig",
            summary="a file of SQLite's on this machine",
        )
    ]
